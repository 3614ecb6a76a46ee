"""References and fingerprints from sums over chunks."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from aftermax._heads import reference_sums
from aftermax._heads.reference import Reference
from aftermax._heads.reference_sums import HashSketch, ReferenceSums
from helpers.samples import make_samples


@pytest.mark.parametrize("ends", [[], [1, 2, 700], [500]])
def test_chunks_make_no_difference_to_the_reference(ends):
    logits, _ = make_samples(n_samples=1000)
    logits = logits + 1e6
    found = reduce(add, map(ReferenceSums.of, np.split(logits, ends))).reference()
    expected = Reference.of(logits)
    assert found.fingerprint == expected.fingerprint
    assert found.predicted_shares == expected.predicted_shares
    for name in ("certainty_mean", "certainty_deviation", "logit_means", "logit_deviations"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)


def test_samples_that_are_the_same_in_several_chunks_count_once():
    logits, _ = make_samples(n_samples=1000)
    twice = HashSketch.of(logits) + HashSketch.of(logits)
    assert twice.n_distinct == 1000
    assert twice.fingerprint().smallest == ()
    assert twice.fingerprint() == Reference.of(np.concatenate([logits, logits])).fingerprint


def test_more_distinct_samples_than_are_remembered_are_estimated(monkeypatch):
    monkeypatch.setattr(reference_sums, "SKETCHED", 512)
    logits, _ = make_samples(n_samples=20_000)
    found = reduce(add, map(HashSketch.of, np.split(logits, 5)))
    assert found.n_distinct == pytest.approx(20_000, rel=0.15)
    assert found.fingerprint() == Reference.of(logits).fingerprint
