"""Warnings about an accuracy that is no better than chance."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest

from aftermax._utils import chance
from aftermax._utils.chance import warn_if_by_chance


def by_chance(softmax, predicted, codes, n_classes=4):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_by_chance(softmax, predicted, codes, n_classes)
    return len(caught)


def test_a_warning_comes_only_where_neither_is_better_than_chance():
    rng = np.random.default_rng(0)
    draws = [rng.choice(4, p=[0.7, 0.1, 0.1, 0.1], size=(3, 200)) for _ in range(300)]
    assert 0.96 < np.mean([by_chance(*draw) for draw in draws]) <= 1
    softmax, predicted, codes = draws[0]
    some_right = np.where(np.arange(200) % 3 == 0, codes, softmax)
    assert by_chance(some_right, predicted, codes) == 0
    assert by_chance(softmax, some_right, codes) == 1  # the head shows that labels and samples are in the same order
    assert by_chance(np.zeros(200, dtype=int), np.zeros(200, dtype=int), codes) == 1
    assert by_chance(softmax[:49], predicted[:49], codes[:49]) == 0  # too few samples


def test_if_the_head_is_better_only_the_columns_are_in_doubt():
    rng = np.random.default_rng(0)
    codes = rng.integers(4, size=400)
    with pytest.warns(UserWarning, match=r"than chance \(\d+\): the head is better, but check"):
        warn_if_by_chance(rng.integers(4, size=400), codes, codes, 4)


def test_chance_is_that_of_labels_in_a_random_order(monkeypatch):
    """Its mean and standard deviation, by Hoeffding's sum over all pairs of samples."""
    rng = np.random.default_rng(0)
    predicted, codes = rng.choice(5, p=[0.5, 0.2, 0.1, 0.1, 0.1], size=(2, 60))
    same = (predicted[:, None] == codes).astype(float)
    centered = same - same.mean(axis=0) - same.mean(axis=1, keepdims=True) + same.mean()
    deviation = math.sqrt(np.square(centered).sum() / 59)
    expected = same.sum() / 60
    compared = {}
    for z in (-0.999, 0.999):  # of the standard deviations between chance and what was found
        found = np.count_nonzero(predicted == codes)
        monkeypatch.setattr(chance, "Z_ONE_PERCENT", (found - expected) / deviation + z * 1e-6)
        compared[z] = by_chance(predicted, predicted, codes, 5)
    assert list(compared.values()) == [0, 1]


def test_tens_of_thousands_of_classes_take_no_table_of_their_pairs():
    rng = np.random.default_rng(0)
    softmax, codes = rng.integers(32_000, size=(2, 5_000))
    tracemalloc.start()
    assert by_chance(softmax, codes, codes, 32_000) == 1
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
