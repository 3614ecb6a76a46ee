"""ReliabilityDisplay: accuracy by confidence, before and after."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.svm import LinearSVC

from aftermax.plots import CertaintyDisplay, ReliabilityDisplay
from helpers.figures import legend_of
from helpers.samples import make_samples


def test_markers_are_accuracy_by_confidence_and_bars_are_numbers_of_samples(network):
    head, logits, labels = network
    display = ReliabilityDisplay.from_estimator(head, logits, labels)
    above, below = display.axes_
    probabilities = {"softmax": softmax(logits.astype(float), axis=1), "head": head.predict_proba(logits)}
    for place, (name, some) in enumerate(probabilities.items()):
        confidence, right = some.max(axis=1), some.argmax(axis=1) == labels
        bins = np.minimum((10 * confidence).astype(int), 9)
        rows = np.bincount(bins, minlength=10)
        assert [bar.get_height() for bar in below.containers[place]] == rows.tolist()
        filled = np.flatnonzero(rows >= 10)
        wanted = [[confidence[bins == one].mean(), right[bins == one].mean()] for one in filled]
        np.testing.assert_allclose(above.lines[1 + 2 * place].get_xydata(), wanted)
        gaps = [abs(right[bins == one].mean() - confidence[bins == one].mean()) for one in np.flatnonzero(rows)]
        error = np.average(gaps, weights=rows[rows > 0])
        assert f"{name}: ECE {100 * error:.1f} %" in legend_of(above)
    assert display.after.calibration_error < display.before.calibration_error


def test_bins_of_few_samples_have_markers_that_no_line_joins():
    confidence, right = np.r_[np.full(30, 0.95), np.full(30, 0.75), 0.25], np.arange(61) % 5 > 0
    display = ReliabilityDisplay(confidence, right, confidence, right).plot()
    joined, alone = display.axes_[0].lines[1:3]
    np.testing.assert_allclose(joined.get_xydata(), [[0.75, 0.8], [0.95, 0.8]])
    np.testing.assert_allclose(alone.get_xydata(), [[0.25, 0.0]])
    assert alone.get_linestyle() == "None"
    assert display.before.calibration_error == pytest.approx((30 * 0.15 + 30 * 0.05 + 0.25) / 61)


def test_perfect_probabilities_have_no_calibration_error():
    sure = np.eye(3)[[0, 1, 2, 1]]
    display = ReliabilityDisplay.from_predictions(["a", "b", "c", "b"], sure, sure)
    assert display.before.calibration_error == display.after.calibration_error == 0
    assert display.before.rows.tolist() == [0] * 9 + [4]


def test_classes_name_the_columns():
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8]])
    display = ReliabilityDisplay.from_predictions(["x", "a"], probabilities, probabilities, classes=["x", "a"])
    assert display.before.calibration_error == pytest.approx(0.15)
    sorted_columns = ReliabilityDisplay.from_predictions(["x", "a"], probabilities, probabilities)
    assert sorted_columns.before.calibration_error == pytest.approx(0.85)


def test_invalid_probabilities_are_refused():
    good = np.array([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match=r"before are not probabilities in row 1: .*scipy\.special\.softmax\(logits"):
        ReliabilityDisplay.from_predictions([0, 1], [[0.9, 0.1], [2.0, 0.8]], good)
    with pytest.raises(ValueError, match="after are not probabilities in row 0"):
        ReliabilityDisplay.from_predictions([0, 1], good, [[np.nan, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="probabilities are not probabilities in row 0"):
        CertaintyDisplay.from_predictions([0, 1], [[1.5, -0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"before has shape \(2,\): pass probabilities, one row for each sample"):
        ReliabilityDisplay.from_predictions([0, 1], [0, 1], good)
    with pytest.raises(ValueError, match="y_true has 2 samples and after has 1: pass the same samples in both"):
        ReliabilityDisplay.from_predictions([0, 1], good, good[:1])
    with pytest.raises(ValueError, match="before has 2 columns and there are 3 classes: pass the class of each column"):
        ReliabilityDisplay.from_predictions([0, 1], good, good, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"n_bins=2\.5 is not possible"):
        ReliabilityDisplay.from_predictions([0, 1], good, good, n_bins=2.5)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba, and this plot needs it"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(*make_samples(n_classes=3)), *make_samples(n_classes=3))
