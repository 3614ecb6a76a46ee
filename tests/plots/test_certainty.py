"""CertaintyDisplay: correct and wrong predictions by certainty, and the gate."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.svm import LinearSVC

from aftermax import SPHClassifier
from aftermax.plots import CertaintyDisplay
from helpers.figures import legend_of, texts_of
from helpers.samples import make_samples


def test_bars_are_correct_and_wrong_samples_by_certainty_and_the_gate_is_drawn(network):
    head, logits, labels = network
    display = CertaintyDisplay.from_estimator(head, logits, labels)
    certainty, right = softmax(logits.astype(float), axis=1).max(axis=1), logits.argmax(axis=1) == labels
    wrong_bars, right_bars = display.axes_.containers
    for bars, rows in ((wrong_bars, ~right), (right_bars, right)):
        edges = [*(bar.get_x() for bar in bars), 1.0]
        assert [bar.get_height() for bar in bars] == np.histogram(certainty[rows], edges)[0].tolist()
    assert [bar.get_y() for bar in right_bars] == [bar.get_height() for bar in wrong_bars]
    assert display.below == np.count_nonzero(certainty < 0.8) == np.count_nonzero(head.route(logits) != "softmax")
    assert display.wrong_below == np.count_nonzero((certainty < 0.8) & ~right)
    (gate,) = display.axes_.lines
    assert list(gate.get_xdata()) == [0.8, 0.8]
    assert legend_of(display.axes_) == [
        "gate: 0.8",
        f"wrong: {(~right).sum()} samples",
        f"correct: {right.sum()} samples",
    ]
    share = f"{display.below} of 800 samples ({100 * display.below / 800:.0f} %)"
    assert f"Below the gate: {share}, " in display.axes_.get_title(loc="left")


def test_a_head_without_a_gate_has_none_drawn():
    logits, labels = make_samples(n_classes=3)
    for head in (SPHClassifier(certainty=0), LinearSVC()):
        display = CertaintyDisplay.from_estimator(head.fit(logits, labels), logits, labels)
        assert (display.gate, display.below) == (None, None)
        assert not display.axes_.lines
        assert display.axes_.get_title(loc="left") == "Certainty of softmax on 400 samples"


def test_a_bar_that_dwarfs_the_others_is_cut_and_written_in():
    certainty = [0.52] * 10 + [0.62] * 8 + [0.99] * 300
    display = CertaintyDisplay(certainty, [False] * 5 + [True] * 306 + [False] * 7).plot()
    assert display.axes_.get_ylim() == (0, 13)
    assert texts_of(display.axes_) == ["300 samples, 7 wrong →"]
    assert not texts_of(CertaintyDisplay([0.4, 0.9, 0.9], [True, True, False]).plot().axes_)


def test_certainty_from_probabilities_is_that_from_logits(network):
    head, logits, labels = network
    probabilities = softmax(logits.astype(float), axis=1)
    display = CertaintyDisplay.from_predictions(labels, probabilities, gate=0.8)
    by_head = CertaintyDisplay.from_estimator(head, logits, labels)
    assert (display.below, display.wrong_below) == (by_head.below, by_head.wrong_below)
    assert "none of 800 samples" in CertaintyDisplay.from_predictions(labels, probabilities, gate=0.0).axes_.get_title(
        "left"
    )


def test_invalid_certainties_are_refused():
    with pytest.raises(ValueError, match=r"have shapes \(2,\) and \(3,\): pass one number and one True or False"):
        CertaintyDisplay([0.1, 0.2], [True, False, True])
    with pytest.raises(ValueError, match=r"certainty is nan at sample 1: pass numbers in \[0, 1\]"):
        CertaintyDisplay([0.1, np.nan], [True, False])
    with pytest.raises(ValueError, match="has dtype int64: pass True or False for each sample"):
        CertaintyDisplay([0.1, 0.2], [1, 0])
    with pytest.raises(ValueError, match=r"gate=1.5 is out of range: choose a number in \[0, 1\]"):
        CertaintyDisplay([0.1, 0.2], [True, False], gate=1.5)
    with pytest.raises(ValueError, match="n_bins=0 is not possible: choose a whole number"):
        CertaintyDisplay([0.1, 0.2], [True, False]).plot(n_bins=0)
