"""Stratified folds, and an order that depends on the samples' content."""

import numpy as np
import pytest

from aftermax._utils.folds import content_order, stratified_folds
from helpers.samples import make_samples


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_every_class_and_all_samples_are_spread_evenly_over_the_folds(folds):
    _, codes = make_samples(n_samples=101)
    fold_of = stratified_folds(codes, folds, np.random.default_rng(0))
    for selected in (codes >= 0, *(codes == j for j in range(5))):
        sizes = np.bincount(fold_of[selected], minlength=folds)
        assert np.ptp(sizes) <= 1


def test_classes_with_fewer_samples_than_folds_are_no_obstacle():
    assert sorted(stratified_folds(np.array([0, 0, 0, 1]), 4, np.random.default_rng(0))) == [0, 1, 2, 3]


def test_the_order_depends_on_the_content_only():
    logits, codes = make_samples(n_samples=50)
    logits = np.round(logits * 4) / 4  # many samples with the same margin, and sums without rounding
    shuffled = np.random.default_rng(0).permutation(50)
    order, again = content_order(logits, codes), content_order(logits[shuffled], codes[shuffled])
    np.testing.assert_array_equal(logits[order], logits[shuffled][again])
    np.testing.assert_array_equal(order, content_order(logits + 4.0, codes))
