"""A random sample of labelled samples that adds."""

from functools import reduce
from operator import add

import numpy as np
import pytest

from aftermax._heads.kept_samples import LEAST, KeptSamples
from helpers.samples import make_samples


def added(most, logits, codes, ends):
    parts = zip(np.split(logits, ends), np.split(codes, ends), strict=True)
    return reduce(add, (KeptSamples.of(most, *part) for part in parts))


@pytest.mark.parametrize("ends", [[1], [200, 900], [500, 500]])
def test_neither_parts_nor_order_have_an_effect(ends):
    logits, codes = make_samples(n_samples=1000)
    whole = KeptSamples.of(150, logits, codes)
    order = np.random.default_rng(0).permutation(1000)
    for found in (added(150, logits, codes, ends), added(150, logits[order], codes[order], ends)):
        np.testing.assert_array_equal(found.logits, whole.logits)
        np.testing.assert_array_equal(found.codes, whole.codes)
    assert len(whole.codes) == 150
    assert whole.counts.tolist() == np.bincount(codes).tolist()


def test_a_rare_class_keeps_some_of_its_samples():
    logits, codes = make_samples(n_samples=5000)
    codes = np.where(np.arange(5000) < 40, 4, codes % 4)
    kept = added(100, logits, codes, [30, 2500])
    assert np.bincount(kept.codes)[4] == LEAST
    assert 100 <= len(kept.codes) <= 100 + LEAST


def test_with_many_classes_no_more_are_kept_than_half_as_many_again():
    rng = np.random.default_rng(0)
    logits, codes = rng.normal(size=(5_000, 400)), np.arange(5_000) % 400
    assert 1_000 <= len(added(1_000, logits, codes, [300, 2_500]).codes) <= 1_500


def test_samples_that_are_equal_are_drawn_one_by_one():
    """As of a tree with four leaves: the sample has them in about the same shares."""
    leaves = np.array([[3.0, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 2.0]])
    numbers = np.repeat(np.arange(4), [8000, 6000, 4000, 2000])
    order = np.random.default_rng(0).permutation(20_000)
    logits, codes = leaves[numbers[order]], (numbers[order] > 1).astype(np.int64)
    kept = added(1000, logits, codes, np.arange(1000, 20_000, 1000))
    shares = (kept.logits[:, None] == leaves).all(axis=2).mean(axis=0)
    np.testing.assert_allclose(shares, [0.4, 0.3, 0.2, 0.1], atol=0.06)
