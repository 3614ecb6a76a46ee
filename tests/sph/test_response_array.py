"""ResponseArray, the paper's D."""

import tracemalloc

import numpy as np
import pytest

from aftermax import ResponseArray
from aftermax.sph import _kernels
from helpers.samples import make_samples


def test_center_and_spreads_of_a_case_worked_by_hand():
    logits = [[1.0, 0.0], [2.0, 0.0], [6.0, 3.0], [0.0, 5.0], [0.0, 7.0]]
    array = ResponseArray.fit(logits, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(array.center, [[3.0, 1.0], [0.0, 6.0]])
    np.testing.assert_allclose(array.left[0], [np.sqrt((4 + 1) / 2), 1.0])
    np.testing.assert_allclose(array.right[0], [3.0, 2.0])
    floor = 1e-6 * np.std([1.0, 2.0, 6.0, 0.0, 0.0])
    np.testing.assert_allclose(array.left[1], [floor, 1.0])
    np.testing.assert_allclose(array.right[1], [floor, 1.0])
    np.testing.assert_array_equal(array.counts, [3, 2])


def test_median_as_center():
    array = ResponseArray.fit([[0.0, 1], [1, 1], [9, 1], [0, 5], [0, 6]], [0, 0, 0, 1, 1], center="median")
    np.testing.assert_allclose(array.center, [[1.0, 1.0], [0.0, 5.5]])
    np.testing.assert_allclose(array.right[0, 0], 8.0)


def test_the_mean_of_equal_values_is_that_value():
    logits = np.full((21, 3), 0.1)
    logits[:, 0] = np.arange(21) % 7
    array = ResponseArray.fit(logits, np.arange(21) % 3)
    np.testing.assert_array_equal(array.center[:, 1:], 0.1)
    np.testing.assert_array_equal(array.left[:, 1:], 1e-6)


def test_distances_use_the_spread_of_the_side():
    array = ResponseArray.fit([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0], [0.0, 5.0], [0.0, 7.0]], [0, 0, 0, 1, 1])
    distances = array.distances([[6.0, 1.0], [0.0, 6.0]])
    assert distances.shape == (2, 2, 2)
    np.testing.assert_allclose(distances[0, 0], [1.0, 0.0])
    np.testing.assert_allclose(distances[1, 0], [3.0 / np.sqrt(2.5), 2.5])
    np.testing.assert_allclose(distances[1, 1], [0.0, 0.0])


def test_the_window_selects_samples_and_spares_classes_with_too_few():
    certain, unsure = [9.0, 0.0], [1.0, 0.8]
    logits = [certain, unsure, unsure, [0.0, 9.0], [0.0, 8.0], [0.2, 0.4]]
    array = ResponseArray.fit(logits, [0, 0, 0, 1, 1, 1], window_high=0.9)
    np.testing.assert_array_equal(array.counts, [2, 3])
    np.testing.assert_allclose(array.center[0], unsure)
    np.testing.assert_allclose(array.center[1], np.mean(logits[3:], axis=0))


def test_both_ends_of_the_window_belong_to_it():
    even, other = [1.0, 1.0], [3.0, 0.0]
    logits = [even, [2.0, 2.0], other, [5.0, 5.0], [7.0, 7.0], other]
    array = ResponseArray.fit(logits, [0, 0, 0, 1, 1, 1], window_low=0.5, window_high=0.5)
    np.testing.assert_array_equal(array.counts, [2, 2])
    np.testing.assert_array_equal(array.center, [[1.5, 1.5], [6.0, 6.0]])


def test_a_class_without_samples_is_unknown_and_no_one_is_measured_against_it():
    logits, labels = make_samples(n_samples=300, n_classes=4)
    with_all = ResponseArray.fit(logits, labels, classes=range(4))
    without = ResponseArray.fit(logits[labels != 1], labels[labels != 1], classes=range(4))
    assert np.isnan(without.center[1]).all()
    assert np.isnan(without.separation()[1]).all()
    kept = [0, 2, 3]
    np.testing.assert_array_equal(without.center[kept], with_all.center[kept])
    assert np.isfinite(without.separation()[kept]).all()
    assert np.isnan(without.distances(logits)[:, 1]).all()


def test_separation_is_the_median_over_the_others():
    logits, labels = make_samples(n_samples=500, n_classes=6)
    array = ResponseArray.fit(logits, labels)
    i, j = 2, 4
    ratios = []
    for k in (0, 1, 3, 4, 5):
        higher = array.center[i, j] > array.center[k, j]
        spreads = (array.left[i, j], array.right[k, j]) if higher else (array.right[i, j], array.left[k, j])
        ratios.append(abs(array.center[i, j] - array.center[k, j]) / (0.5 * sum(spreads)))
    np.testing.assert_allclose(array.separation()[i, j], np.median(ratios))


@pytest.mark.parametrize("size", [3, 30])
def test_a_person_can_read_it(size):
    logits, labels = make_samples(n_samples=400, n_classes=size)
    names = np.array([f"class-{i}" for i in range(size)])
    text = repr(ResponseArray.fit(logits[labels != 1], names[labels[labels != 1]], classes=names))
    n_samples = 400 - np.count_nonzero(labels == 1)
    assert text.startswith(f"ResponseArray: {size} classes x {size} units, fitted on {n_samples} samples")
    assert "class-0" in text
    assert "unknown" in text
    assert "nan" not in text
    assert ("and 20 more" in text) == (size == 30)
    assert max(map(len, text.splitlines())) <= 80


def test_the_message_on_other_columns_counts_those_that_were_passed():
    array = ResponseArray.fit([[6.0, 1.0], [1.0, 6.0], [5.0, 1.0], [0.0, 6.0]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="logits have 3 columns but the response array has 2 units"):
        array.distances(np.ones((4, 3)))
    three = ResponseArray.fit(np.eye(3).repeat(2, axis=0) * 5 + np.arange(6)[:, None], [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="logits have 1 columns but the response array has 3 units"):
        three.distances(np.ones((4, 1)))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9, 10, 64, 77])
def test_the_median_of_distances_is_the_median_to_the_last_bit(size):
    rng = np.random.default_rng(size)
    kinds = [
        rng.gamma(0.3, size=(50, size)),
        rng.integers(3, size=(50, size)),
        10.0 ** rng.integers(-300, 300, (50, size)),
    ]
    kinds += [np.where(rng.random((50, size)) < 0.4, np.inf, kinds[0]), np.full((1, size), 5e-324)]
    for values in np.concatenate(kinds).astype(float):
        values[rng.integers(size)] = 0.0  # the distance of a class from itself, which does not count
        np.testing.assert_array_equal(_kernels.median_but_least(values), np.median(np.sort(values)[1:]))


def test_what_is_printed_of_the_separation_is_that_of_the_own_unit():
    array = ResponseArray.fit(*make_samples(n_samples=200, n_classes=12))
    printed = [line.split()[-2] for line in repr(array).splitlines()[2:12]]
    assert printed == [f"{value:.3g}" for value in np.diagonal(array.separation())[:10]]


def test_thousands_of_classes_are_printed_without_a_table_of_all_separations():
    array = ResponseArray(*np.ones((3, 2_000, 2_000)), np.full(2_000, 5), np.arange(2_000))
    tracemalloc.start()
    assert "and 1990 more" in repr(array)
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_it_cannot_be_changed_by_accident():
    array = ResponseArray.fit(*make_samples())
    with pytest.raises(AttributeError):
        array.center = None
