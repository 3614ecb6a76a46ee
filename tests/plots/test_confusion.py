"""ConfusionChangeDisplay: confusion matrices before and after, and their difference."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from sklearn.metrics import confusion_matrix

from aftermax.plots import ConfusionChangeDisplay
from helpers.figures import AFTER, BEFORE, TRUTH, texts_of
from helpers.samples import make_samples


def test_both_confusions_and_their_difference_are_written_in(network):
    head, logits, labels = network
    display = ConfusionChangeDisplay.from_estimator(head, logits, labels)
    before, after = confusion_matrix(labels, logits.argmax(axis=1)), confusion_matrix(labels, head.predict(logits))
    np.testing.assert_array_equal(display.before, before)
    np.testing.assert_array_equal(display.after, after)
    change = after - before
    for axes, numbers, form in zip(display.axes_, (before, after, change), ("{:,}", "{:,}", "{:+,}"), strict=True):
        assert texts_of(axes) == [form.format(number) for number in numbers.ravel() if number]
    errors = [int(table.sum() - np.trace(table)) for table in (before, after)]
    titles = [axes.get_title(loc="left") for axes in display.axes_]
    assert titles == [
        f"softmax: {errors[0]} errors",
        f"head: {errors[1]} errors",
        f"difference: {-np.trace(change):+d} errors",
    ]
    np.testing.assert_array_equal(display.axes_[0].images[0].get_array(), before - np.diag(np.diagonal(before)))


def test_what_gets_better_is_shaded_and_what_gets_worse_is_hatched():
    display = ConfusionChangeDisplay.from_predictions(TRUTH, BEFORE, AFTER)
    np.testing.assert_array_equal(display.before, [[1, 2, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(display.after, [[3, 0, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(display.axes_[2].images[0].get_array(), [[2, 2, 0], [0, 0, 0], [0, 0, 0]])
    assert not display.axes_[2].patches
    back = ConfusionChangeDisplay.from_predictions(TRUTH, AFTER, BEFORE)
    cells = [(patch.get_y() + 0.5, patch.get_x() + 0.5) for patch in back.axes_[2].patches]
    assert cells == [(0, 0), (0, 1)]
    assert all(patch.get_hatch() for patch in back.axes_[2].patches)
    assert "hatched: worse than before" in back.axes_[2].get_xlabel()


def test_with_a_hundred_classes_changes_are_markers_filled_if_better_and_open_if_worse():
    logits, labels = make_samples(n_samples=3000, n_classes=100, home=3.0)
    after = make_samples(seed=0, n_samples=3000, n_classes=100, home=4.0)[0].argmax(axis=1)
    display = ConfusionChangeDisplay.from_predictions(labels, logits.argmax(axis=1), after)
    change = display.after - display.before
    better, worse = display.axes_[2].collections[:2]
    fewer = np.where(np.eye(100, dtype=bool), change > 0, change < 0)
    np.testing.assert_array_equal(better.get_offsets()[:, ::-1], np.argwhere(fewer))
    np.testing.assert_array_equal(worse.get_offsets()[:, ::-1], np.argwhere((change != 0) & ~fewer))
    np.testing.assert_allclose(better.get_sizes(), 60 * np.abs(change[fewer]) / np.abs(change).max())
    assert len(worse.get_facecolor()) == 0
    assert better.get_facecolor()[0].tolist() == list(to_rgba("#0b4f9e"))
    assert not texts_of(display.axes_[2])
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == [str(n) for n in range(0, 100, 5)]


def test_confusion_matrices_of_different_samples_are_refused():
    with pytest.raises(ValueError, match=r"shapes \(2, 2\), \(3, 3\) and \(2,\): pass two matrices"):
        ConfusionChangeDisplay(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="different numbers of samples of a class: pass the same samples"):
        ConfusionChangeDisplay([[5, 1], [0, 3]], [[5, 2], [0, 3]])
    with pytest.raises(ValueError, match="ax holds 2 Axes, and there are three panels"):
        ConfusionChangeDisplay(np.eye(2), np.eye(2)).plot(ax=pyplot.figure().subplots(1, 2))
