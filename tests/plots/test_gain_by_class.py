"""GainByClassDisplay: wins, losses and the gain of each class."""

import numpy as np
import pytest

from aftermax.plots import GainByClassDisplay
from helpers.figures import AFTER, BEFORE, TRUTH, texts_of


def test_wins_and_losses_of_each_class_are_counted_and_drawn():
    display = GainByClassDisplay.from_predictions(TRUTH, BEFORE, AFTER)
    assert [tuple(one) for one in display.by_class] == [("ant", 3, 2, 2, 0), ("bee", 2, 1, 1, 1), ("cow", 1, 0, 0, 0)]
    assert [label.get_text() for label in display.axes_.get_yticklabels()] == ["ant", "cow", "bee"]
    wins, losses = display.axes_.containers
    assert [bar.get_width() for bar in wins] == [2, 0, 1]
    assert [bar.get_width() for bar in losses] == [0, 0, -1]
    texts = texts_of(display.axes_)
    assert texts == ["2", "1", "1", "2 → 0", "+100.0 %", "0 → 0", "none", "1 → 1", "+0.0 %", "errors", "gain"]


def test_relative_gains_are_shares_of_the_classs_own_errors():
    counts = {"rows": [50, 50], "errors": [20, 0], "wins": [5, 0], "losses": [2, 3]}
    display = GainByClassDisplay(["ant", "bee"], **counts).plot(kind="relative")
    wins, losses = display.axes_.containers
    assert [bar.get_width() for bar in wins] == [25, 0]
    assert [bar.get_width() for bar in losses] == [-10, 0]
    assert "% of the class's errors" in display.axes_.get_xlabel()
    assert {"20 → 17", "+15.0 %", "0 → 3", "none"} < set(texts_of(display.axes_))


def test_of_a_hundred_classes_those_that_change_most_are_shown_and_the_rest_is_summed():
    errors, wins = np.full(100, 150), np.arange(100)
    display = GainByClassDisplay(np.arange(100), rows=errors + 1, errors=errors, wins=wins, losses=wins * 0).plot()
    assert [int(label.get_text()) for label in display.axes_.get_yticklabels()] == list(range(99, 84, -1))
    assert f"85 others: wins {sum(range(85)):,}, losses 0" in display.axes_.get_xlabel()


def test_a_heads_gain_by_class_is_that_of_its_predictions(network):
    head, logits, labels = network
    by_head = GainByClassDisplay.from_estimator(head, logits, labels)
    by_predictions = GainByClassDisplay.from_predictions(labels, logits.argmax(axis=1), head.predict(logits))
    assert by_head.by_class == by_predictions.by_class
    errors = sum(one.errors - one.net for one in by_head.by_class)
    assert errors == np.count_nonzero(head.predict(logits) != labels) > 0


def test_gains_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="kind='both' is not known: choose 'absolute' or 'relative'"):
        GainByClassDisplay.from_predictions(TRUTH, BEFORE, AFTER, kind="both")
    with pytest.raises(ValueError, match=r"have shapes \(2,\), \(2,\), \(2,\), \(2,\), \(1,\): pass one number"):
        GainByClassDisplay([0, 1], rows=[9, 9], errors=[1, 1], wins=[1, 1], losses=[1])
    with pytest.raises(ValueError, match="hold a number below 0: pass counts"):
        GainByClassDisplay([0, 1], rows=[9, 9], errors=[1, 1], wins=[1, -1], losses=[0, 0])
