"""Sums over groups, some groups at a time, are those of all groups at once."""

import numpy as np
import pytest

from aftermax._check.group_sums import squared_group_excesses, squared_group_sums
from aftermax._utils import large

GROUPS = np.random.default_rng(0).integers(40, size=500)
GROUPS = np.unique(GROUPS, return_inverse=True)[1]


@pytest.fixture(params=[3, 10**6])
def values_per_chunk(request, monkeypatch):
    monkeypatch.setattr(large, "VALUES_PER_CHUNK", request.param)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_sums_of_groups_are_squared_and_summed(values_per_chunk, dtype):
    values = np.random.default_rng(1).normal(size=(500, 6)).astype(dtype)
    whole = values.astype(np.float64)
    sums = np.stack([np.bincount(GROUPS, column) for column in whole.T], axis=1)
    found = squared_group_sums(values, lambda some: some.astype(np.float64), GROUPS)
    np.testing.assert_array_equal(found, np.square(sums).sum(axis=0))


def test_excesses_of_groups_are_squared_and_summed(values_per_chunk):
    codes = np.random.default_rng(2).integers(7, size=500)
    shares, sizes = np.bincount(codes, minlength=7) / 500, np.bincount(GROUPS)
    counts = np.array([np.bincount(codes[group == GROUPS], minlength=7) for group in range(len(sizes))])
    expected = np.square(counts - sizes[:, None] * shares).sum(axis=0)
    np.testing.assert_array_equal(squared_group_excesses(codes, shares, GROUPS), expected)
