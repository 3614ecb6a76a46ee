"""fit: an AutoHead in one call, with all that it is given."""

import numpy as np

from aftermax import AutoHead, fit
from helpers.samples import weak_samples

NAMES = np.array(["eel", "dog", "cow", "bee", "ant"])


def test_fit_is_an_auto_head_that_was_given_the_same():
    logits, labels = weak_samples(n_samples=200)
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(200, 2)), rng.uniform(0.5, 2.0, 200)
    head = fit(logits, NAMES[labels], features=features, sample_weight=weights, classes=NAMES, random_state=3)
    same = AutoHead(classes=NAMES, random_state=3).fit(logits, NAMES[labels], features, weights)
    assert isinstance(head, AutoHead)
    assert head.candidates_.weighted
    np.testing.assert_array_equal(head.classes_, NAMES)
    np.testing.assert_array_equal(head.predict_proba(logits, features), same.predict_proba(logits, features))
    assert head.get_params().keys() == same.get_params().keys()
    assert head.random_state == 3
