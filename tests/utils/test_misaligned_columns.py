"""Columns in the wrong order are noticed with any number of classes, without an array of all pairs of classes."""

import tracemalloc

import numpy as np
import pytest

from aftermax._utils import misaligned_columns
from aftermax._utils.misaligned_columns import best_order, warn_if_misaligned


def world(n_classes, n_samples, accuracy, seed=0):
    """Labels, and predictions of which some are right and the others anything."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n_samples) % n_classes)
    right = rng.random(n_samples) < accuracy
    return np.where(right, codes, rng.integers(n_classes, size=n_samples)), codes


def test_many_classes_in_another_order_are_warned_of_in_little_memory():
    predicted, codes = world(n_classes=5000, n_samples=100_000, accuracy=0.7)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="only 0% of the samples; it would be right on 7[0-9]% if the columns"):
        assert warn_if_misaligned((predicted + 1) % 5000, codes, np.arange(5000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20  # the confusion matrix alone would be 200 MB


def test_two_of_many_classes_that_have_each_others_columns_are_named():
    predicted, codes = world(n_classes=2000, n_samples=40_000, accuracy=0.8)
    swapped = np.where(predicted == 7, 1234, np.where(predicted == 1234, 7, predicted))
    with pytest.warns(UserWarning, match=r"of the samples of 7, 1234; it would be right on .* columns were swapped"):
        assert warn_if_misaligned(swapped, codes, np.arange(2000))


@pytest.mark.parametrize("accuracy", [0.1, 0.5, 0.9])
def test_many_classes_in_their_order_are_not_warned_of(accuracy):
    assert not warn_if_misaligned(*world(n_classes=2000, n_samples=30_000, accuracy=accuracy), np.arange(2000))


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_the_pairs_that_occur_are_enough_to_find_the_best_order(monkeypatch, accuracy, seed):
    predicted, codes = world(50, 400, accuracy, seed)
    of_all_pairs = best_order(predicted, codes, 50)[1]
    monkeypatch.setattr(misaligned_columns, "MANY_CLASSES", 10)
    order, if_reordered = best_order(predicted, codes, 50)
    assert if_reordered.sum() == of_all_pairs.sum()
    given = np.flatnonzero(if_reordered)  # the classes that got a column
    assert len(np.unique(order[given])) == len(given)
    assert [np.sum((codes == i) & (predicted == order[i])) for i in given] == if_reordered[given].tolist()
