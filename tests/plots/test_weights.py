"""WeightsDisplay: the pooling weights of SPH."""

import numpy as np
import pytest
from matplotlib import pyplot

from aftermax.plots import WeightsDisplay
from helpers.figures import check_texts, texts_of


def test_weights_are_written_into_the_heatmap_in_per_cent():
    display = WeightsDisplay([[0.75, 0.25], [0.4, 0.6]], ["cat", "dog"]).plot()
    (image,) = display.axes_.images
    np.testing.assert_array_equal(image.get_array(), [[0.75, 0.25], [0.4, 0.6]])
    assert texts_of(display.axes_) == ["75", "25", "40", "60"]
    assert [label.get_text() for label in display.axes_.get_xticklabels()] == ["cat", "dog"]
    assert "hatched" not in display.axes_.get_xlabel()


def test_classes_that_pooling_never_predicts_are_hatched():
    display = WeightsDisplay([[1.0, 0.0], [0.0, 0.0]]).plot()
    (band,) = display.axes_.patches
    assert (band.get_y(), band.get_height()) == (0.5, 1.0)
    assert band.get_hatch()
    assert "hatched: pooling never predicts it" in display.axes_.get_xlabel()
    assert texts_of(display.axes_) == ["100"]
    WeightsDisplay(np.zeros((3, 3))).plot().figure_.canvas.draw()


def test_of_a_hundred_classes_some_are_named_and_no_numbers_written():
    display = WeightsDisplay(np.full((100, 100), 0.01)).plot(ax=pyplot.figure().subplots())
    assert [label.get_text() for label in display.axes_.get_xticklabels()] == [str(n) for n in range(0, 100, 5)]
    assert not texts_of(display.axes_)


def test_invalid_weights_are_refused():
    with pytest.raises(ValueError, match=r"weights have shape \(2, 3\) and classes \(2,\): pass a row and a column"):
        WeightsDisplay(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"weights have shape \(2, 2\) and classes \(3,\)"):
        WeightsDisplay(np.zeros((2, 2)), ["a", "b", "c"])
    with pytest.raises(ValueError, match="hold NaN, infinity or numbers below 0"):
        WeightsDisplay([[0.5, np.nan], [0.5, 0.5]])


@pytest.mark.parametrize("size", [2, 12, 100])
def test_no_text_of_weights_overlaps_another_or_leaves_the_figure(size):
    weights = np.random.default_rng(0).dirichlet(np.ones(size), size)
    display = WeightsDisplay(weights, [f"class number {n}" for n in range(size)]).plot()
    check_texts(display.figure_)
