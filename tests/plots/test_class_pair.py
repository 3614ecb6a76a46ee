"""ClassPairDisplay: two classes of a response array."""

import numpy as np
import pytest

from aftermax import ResponseArray
from aftermax.plots import ClassPairDisplay
from helpers.samples import make_samples


def test_two_classes_are_drawn_side_by_side_with_their_separation():
    array = ResponseArray.fit(*make_samples(n_classes=4, home=3.0))
    display = ClassPairDisplay(array, 1, 3).plot()
    left, right = display.axes_
    home = np.abs(np.diagonal(array.center))
    (row,) = left.containers
    np.testing.assert_allclose(row.lines[0].get_xdata(), array.center[1] / home[1])
    first, second = right.containers
    np.testing.assert_allclose(first.lines[0].get_xdata(), array.center[1] / home)
    np.testing.assert_allclose(second.lines[0].get_xdata(), array.center[3] / home)
    above = array.center[1] > array.center[3]
    facing = np.where(above, array.left[1] + array.right[3], array.right[1] + array.left[3]) / 2
    np.testing.assert_allclose(display.separation, np.abs(array.center[1] - array.center[3]) / facing)
    assert [text.get_text() for text in right.texts][:4] == [f"{value:.1f}" for value in display.separation]


def test_of_many_units_the_pair_and_the_best_separating_ones_are_shown():
    array = ResponseArray.fit(*make_samples(n_classes=20, n_samples=2000, home=3.0))
    display = ClassPairDisplay(array, 4, 17).plot()
    shown = [int(label.get_text()) for label in display.axes_[0].get_yticklabels()]
    assert len(shown) == 12
    assert {4, 17} < set(shown)
    others = set(range(20)) - set(shown)
    assert min(display.separation[list(set(shown) - {4, 17})]) >= max(display.separation[list(others)])


def test_a_pair_must_be_two_known_classes():
    array = ResponseArray.fit(*make_samples(n_classes=3))
    with pytest.raises(ValueError, match="both 1: name two classes"):
        ClassPairDisplay(array, 1, 1)
    with pytest.raises(ValueError, match=r"choose from \[0, 1, 2\]"):
        ClassPairDisplay(array, 1, 7)
    with pytest.raises(TypeError, match=r"ClassPairDisplay takes a ResponseArray, not str"):
        ClassPairDisplay("array", 0, 1)
