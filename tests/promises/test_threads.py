"""One head for many threads: predictions are the same, whatever else runs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from aftermax import AutoHead, load, save
from helpers.samples import make_samples


def test_a_shared_head_predicts_the_same_in_eight_threads_while_another_is_fitted(tmp_path):
    logits, labels = make_samples(n_samples=300)
    save(AutoHead(cv=2).fit(logits + np.linspace(2, -2, logits.shape[1]), labels), tmp_path / "head.npz")
    expected = load(tmp_path / "head.npz").predict_proba(logits)
    fresh = load(tmp_path / "head.npz")  # nothing that it computes once and keeps is there yet
    before = logits.copy()
    with ThreadPoolExecutor(9) as pool:
        other = pool.submit(AutoHead(cv=2).fit, logits, labels)
        for found in pool.map(lambda _: (fresh.predict_proba(logits), fresh.predict(logits)), range(40)):
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(found[1], expected.argmax(axis=1))
        fitted = other.result()
    np.testing.assert_array_equal(
        fitted.predict_proba(logits), AutoHead(cv=2).fit(logits, labels).predict_proba(logits)
    )
    np.testing.assert_array_equal(logits, before)
