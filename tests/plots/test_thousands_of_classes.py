"""Plots of 6,623 classes: a few of them are drawn, those that change most, and no plot takes all of their pairs."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import coo_array

from aftermax import ResponseArray
from aftermax.plots import (
    AuditDisplay,
    ConfusionChangeDisplay,
    GainByClassDisplay,
    ResponseArrayDisplay,
    WeightsDisplay,
)
from helpers.figures import check_texts, texts_of
from helpers.thousands import CHARACTERS, audited_characters, character_samples

NAMES = np.array([f"class {n}" for n in range(CHARACTERS)])


@pytest.fixture(scope="module")
def predicted():
    """True classes, and the predictions before and after."""
    logits, codes, after = character_samples()
    return NAMES[codes], NAMES[logits.argmax(axis=1)], NAMES[after]


def ticks(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_the_confusion_matrix_is_that_of_the_pairs_that_change_most(predicted):
    display = ConfusionChangeDisplay.from_predictions(*predicted, classes=NAMES)
    truth, before, after = predicted
    drawn = ticks(display.axes_[0])
    assert len(drawn) == 12
    pairs = [(true, other) for true in drawn for other in drawn]
    for axes, some in zip(display.axes_, (before, after), strict=False):
        counts = [np.count_nonzero((truth == true) & (some == other)) for true, other in pairs]
        assert texts_of(axes) == [f"{count}" for count in counts if count]
    wrong = truth != before
    largest = max(zip(truth[wrong], before[wrong], strict=True), key=lambda pair: change(predicted, *pair))
    assert set(largest) <= set(drawn)
    check_texts(display.figure_)


def change(predicted, true, other):
    truth, *both = predicted
    before, after = (np.count_nonzero((truth == true) & (some == other)) for some in both)
    return abs(before - after)


def test_the_errors_of_all_classes_are_counted(predicted):
    truth, before, after = predicted
    display = ConfusionChangeDisplay.from_predictions(*predicted, classes=NAMES)
    errors = [np.count_nonzero(some != truth) for some in (before, after)]
    titles = [axes.get_title(loc="left") for axes in display.axes_[:2]]
    assert titles == [f"softmax: {errors[0]} errors", f"head: {errors[1]} errors"]
    assert display.axes_[0].get_ylabel() == f"true class (12 of {CHARACTERS:,}; 2,000 samples)"
    in_plot = np.isin(truth, ticks(display.axes_[0])) & np.isin(before, ticks(display.axes_[0])) & (truth != before)
    assert display.axes_[0].get_xlabel() == f"predicted class\n{np.count_nonzero(in_plot)} of the errors are shown"


def test_confusion_matrices_are_sparse_and_may_be_passed_so(predicted):
    tracemalloc.start()
    display = ConfusionChangeDisplay.from_predictions(*predicted, classes=NAMES)
    assert tracemalloc.get_traced_memory()[1] < CHARACTERS**2
    tracemalloc.stop()
    assert display.before.shape == (CHARACTERS, CHARACTERS)
    assert display.before.sum() == 2_000
    again = ConfusionChangeDisplay(coo_array(display.before), coo_array(display.after), NAMES).plot()
    assert ticks(again.axes_[0]) == ticks(display.axes_[0])


def test_other_numbers_of_classes_can_be_asked_for(predicted):
    for number in (1, 5, 30):
        display = ConfusionChangeDisplay.from_predictions(*predicted, classes=NAMES, max_classes=number)
        assert display.axes_[0].images[0].get_array().shape == (number, number)
    display = GainByClassDisplay.from_predictions(*predicted, classes=NAMES, max_classes=4)
    assert len(ticks(display.axes_)) == 4
    assert f"{CHARACTERS - 4:,} others" in display.axes_.get_xlabel()
    few = ConfusionChangeDisplay([[5, 1, 0], [0, 3, 0], [2, 0, 9]], [[5, 0, 1], [0, 3, 0], [0, 2, 9]])
    assert ticks(few.plot(max_classes=2).axes_[0]) in (["0", "1"], ["0", "2"], ["1", "2"])
    assert ticks(few.plot(max_classes=20).axes_[0]) == ["0", "1", "2"]


@pytest.mark.parametrize("number", [0, 2.5, "all", CHARACTERS])
def test_numbers_that_cannot_be_drawn_are_refused(number, predicted):
    for display in (ConfusionChangeDisplay, GainByClassDisplay):
        with pytest.raises(ValueError, match=r"max_classes=.* (choose a whole number|choose at most 300)"):
            display.from_predictions(*predicted, classes=NAMES, max_classes=number)


def test_an_audit_is_drawn_with_the_classes_that_change_most():
    found = audited_characters(n_classes=2_000, n_samples=1_000)[0]
    display = found.plot()
    display.figure_.canvas.draw()
    assert len(ticks(display.axes_[0])) == 15
    assert len(ticks(AuditDisplay.from_audit(found, max_classes=5).axes_[0])) == 5


def test_without_any_change_the_pairs_with_most_errors_are_drawn():
    truth = np.repeat(np.arange(200), 3)
    before = truth.copy()
    before[truth == 150] = 170
    before[3] = 2
    display = ConfusionChangeDisplay.from_predictions(truth, before, before, classes=range(200), max_classes=2)
    assert ticks(display.axes_[0]) == ["150", "170"]
    perfect = ConfusionChangeDisplay.from_predictions(truth, truth, truth, classes=range(200), max_classes=2)
    assert ticks(perfect.axes_[0]) == ["0", "1"]


def test_of_many_weights_the_heaviest_are_drawn():
    weights = np.full((500, 500), 1e-4)
    weights[[400, 3], [17, 250]] = 0.5, 0.4
    np.fill_diagonal(weights, 0.9)
    weights[17] = 0
    display = WeightsDisplay(weights).plot(max_classes=4)
    assert ticks(display.axes_) == ["3", "17", "250", "400"]
    assert display.axes_.get_ylabel() == "class (4 of 500)"
    assert "hatched" in display.axes_.get_xlabel()
    assert len(ticks(WeightsDisplay(weights).plot().axes_)) == 12


def test_a_response_array_has_a_panel_for_few_classes_only():
    array = ResponseArray(*np.ones((3, 600, 600)), np.full(600, 5), np.arange(600))
    assert len(ResponseArrayDisplay(array).plot().axes_) == 12
    with pytest.raises(ValueError, match="classes names 600 classes, each with a panel: choose at most 50"):
        ResponseArrayDisplay(array).plot(classes=range(600))
    with pytest.raises(ValueError, match=r"classes=\[700\] .* choose from \[0, 1, 2, 3, 4, \.\.\. 600 in all\]"):
        ResponseArrayDisplay(array).plot(classes=[3, 700])
