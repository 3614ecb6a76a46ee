"""ReliabilityDisplay: accuracy by confidence, before and after."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn.svm import LinearSVC

from aftermax import SoftmaxClassifier
from aftermax.plots import CertaintyDisplay, ReliabilityDisplay
from helpers.figures import legend_of
from helpers.samples import make_samples


def test_markers_are_accuracy_by_confidence_and_bars_are_numbers_of_samples(network):
    head, logits, labels = network
    display = ReliabilityDisplay.from_estimator(head, logits, labels)
    above, below = display.axes_
    probabilities = {
        "softmax": softmax(logits.astype(float), axis=1),
        "with a temperature": SoftmaxClassifier().fit(logits, labels).held_out_proba_,
        "head": head.predict_proba(logits),
    }
    for place, (name, some) in enumerate(probabilities.items()):
        confidence, right = some.max(axis=1), some.argmax(axis=1) == labels
        bins = np.minimum((10 * confidence).astype(int), 9)
        rows = np.bincount(bins, minlength=10)
        assert [bar.get_height() for bar in below.containers[place]] == rows.tolist()
        filled = np.flatnonzero(rows >= 10)
        wanted = [[confidence[bins == one].mean(), right[bins == one].mean()] for one in filled]
        np.testing.assert_allclose(above.lines[1 + 2 * place].get_xydata(), wanted)
        intervals = above.collections[place].get_segments()
        for one, ends in zip(np.flatnonzero(rows), intervals, strict=True):
            inside = right[bins == one]
            wilson = binomtest(int(inside.sum()), len(inside)).proportion_ci(method="wilson")
            np.testing.assert_allclose(ends[:, 1], [wilson.low, wilson.high], atol=1e-12)
        gaps = [abs(right[bins == one].mean() - confidence[bins == one].mean()) for one in np.flatnonzero(rows)]
        error = np.average(gaps, weights=rows[rows > 0])
        assert f"{name}: ECE {100 * error:.1f} %" in legend_of(above)
    assert display.after.calibration_error < display.before.calibration_error


def test_a_temperature_takes_the_overconfidence_away_and_is_the_same_from_probabilities():
    logits, labels = make_samples(seed=1, n_samples=600)
    sure = 4 * logits
    probabilities = softmax(sure, axis=1)
    display = ReliabilityDisplay.from_predictions(labels, probabilities, probabilities)
    assert display.scaled.calibration_error < display.before.calibration_error / 2
    assert display.scaled.rows.sum() == 600
    head = SoftmaxClassifier(temperature=1.0).fit(sure, labels)
    by_head = ReliabilityDisplay.from_estimator(head, sure, labels)
    assert by_head.scaled.calibration_error == pytest.approx(display.scaled.calibration_error, abs=5e-3)


def test_without_enough_samples_or_from_confidences_alone_there_is_no_temperature():
    sure, confidence = np.eye(3)[[0, 1, 2, 1]], np.full(40, 0.9)
    few = ReliabilityDisplay.from_predictions(["a", "b", "c", "b"], sure, sure)
    alone = ReliabilityDisplay(confidence, confidence > 0, confidence, confidence > 0).plot()
    assert few.scaled is alone.scaled is None
    assert len(alone.axes_[1].containers) == 2
    given = ReliabilityDisplay(confidence, confidence > 0, confidence, confidence > 0, confidence_scaled=confidence / 2)
    assert given.scaled.rows.tolist() == [0] * 4 + [40] + [0] * 5
    with pytest.raises(ValueError, match="confidence_scaled and whether it is right have shapes"):
        ReliabilityDisplay(confidence, confidence > 0, confidence, confidence > 0, confidence_scaled=[0.5])


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
