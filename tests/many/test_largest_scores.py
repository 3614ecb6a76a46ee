"""The largest scores of each sample, against numpy's sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from aftermax._many.largest_scores import largest_scores, most_compared


def dense(found, n_classes):
    """The sparse vectors as an array; columns that are named with nothing in excess add nothing."""
    out = np.zeros((len(found.columns), n_classes))
    for row, columns, excess in zip(out, *found, strict=True):
        np.add.at(row, columns, excess)
    return out


def expected(logits, count):
    ordered = -np.sort(-logits.astype(np.float64), axis=1)
    excess = np.maximum(logits - ordered[:, count : count + 1], 0.0)
    span = ordered[:, :1] - ordered[:, count : count + 1]
    return np.divide(excess, span, out=np.zeros_like(excess), where=span > 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [3, 64, 65, 300, 1_001])
def test_they_exceed_the_next_one_by_what_numpy_finds(n_classes, dtype):
    logits = np.random.default_rng(0).normal(size=(50, n_classes)).astype(dtype)
    count = min(64, n_classes - 1)
    found = largest_scores(logits, np.arange(50), count)
    assert found.columns.shape == (50, count)
    np.testing.assert_allclose(dense(found, n_classes), expected(logits, count), atol=1e-6)


@pytest.mark.parametrize("count", [10, 64])
def test_those_of_thousands_of_classes_are_found_wherever_they_are(count):
    """Also where the values that are looked at first are the largest, or the smallest, of all."""
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(40, 6_000)).astype(np.float32)
    logits[10:20, ::11] += 10.0
    logits[20:30, ::11] -= 10.0
    logits[30:] = np.sort(logits[30:], axis=1)
    found = largest_scores(logits, np.arange(40), count)
    np.testing.assert_allclose(dense(found, 6_000), expected(logits, count), atol=1e-6)


def test_the_largest_of_the_largest_are_those_that_would_be_found_at_once():
    logits = np.random.default_rng(3).normal(size=(50, 400))
    logits[7] = 0.0
    logits[8, :9] = 5.0
    logits[8, 9:] = 0.0
    some = largest_scores(logits, np.arange(50), 100).first(8)
    np.testing.assert_allclose(dense(some, 400), expected(logits, 8), atol=1e-6)
    assert (np.diff(some.excess, axis=1) <= 0).all()


@given(arrays(np.int8, (4, 130), elements=st.integers(-3, 3)))
def test_ties_are_no_trouble(values):
    logits = values.astype(np.float64)
    found = largest_scores(logits, np.arange(4), count=20)
    np.testing.assert_allclose(dense(found, 130), expected(logits, 20), atol=1e-6)


def test_rows_are_read_in_the_order_that_is_asked_for():
    logits = np.random.default_rng(1).normal(size=(20, 300))
    whole = largest_scores(logits, np.arange(20))
    some = largest_scores(logits, np.array([7, 3]))
    np.testing.assert_array_equal(some.columns, whole.columns[[7, 3]])


def test_with_a_hundred_thousand_samples_fewer_scores_are_kept():
    assert [most_compared(count) for count in (100, 66_240, 100_000, 1_000_000)] == [256, 256, 128, 64]


def test_huge_scores_do_not_overflow():
    logits = np.zeros((2, 100))
    logits[:, 5], logits[:, 6] = 1.7e308, -1.7e308
    found = largest_scores(logits, np.arange(2), count=3)
    assert np.isfinite(found.excess).all()
    assert dense(found, 100)[0, 5] == 1
