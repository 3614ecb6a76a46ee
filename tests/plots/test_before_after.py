"""Pictures of what a head changes: gain by class, confusion, certainty and reliability."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.svm import LinearSVC

from aftermax import SPHClassifier
from aftermax.data import load_vmnist
from aftermax.plots import CertaintyDisplay, ConfusionChangeDisplay, GainByClassDisplay, ReliabilityDisplay
from helpers.figures import check_texts, texts_of
from helpers.samples import make_samples

TRUTH = np.array(["ant", "ant", "ant", "bee", "bee", "cow"])
BEFORE = np.array(["ant", "bee", "bee", "ant", "bee", "cow"])
AFTER = np.array(["ant", "ant", "ant", "bee", "ant", "cow"])  # three wins, one loss
DISPLAYS = [GainByClassDisplay, ConfusionChangeDisplay, CertaintyDisplay, ReliabilityDisplay]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def network():
    """A head on a real network's rows, and others to draw."""
    scores = load_vmnist(trained_on=100)
    head = SPHClassifier(certainty=0.8).fit(scores.val_logits[:1000], scores.val_labels[:1000])
    return head, scores.test_logits[:800], scores.test_labels[:800]


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


# ---- gain by class ---------------------------------------------------------------------------------------------------


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


def test_a_heads_gain_by_class_is_that_of_its_answers(network):
    head, logits, labels = network
    by_head = GainByClassDisplay.from_estimator(head, logits, labels)
    by_answers = GainByClassDisplay.from_predictions(labels, logits.argmax(axis=1), head.predict(logits))
    assert by_head.by_class == by_answers.by_class
    errors = sum(one.errors - one.net for one in by_head.by_class)
    assert errors == np.count_nonzero(head.predict(logits) != labels) > 0


def test_gains_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="kind='both' is no way to draw gains: choose 'absolute' or 'relative'"):
        GainByClassDisplay.from_predictions(TRUTH, BEFORE, AFTER, kind="both")
    with pytest.raises(ValueError, match=r"have shapes \(2,\), \(2,\), \(2,\), \(2,\), \(1,\): pass one number"):
        GainByClassDisplay([0, 1], rows=[9, 9], errors=[1, 1], wins=[1, 1], losses=[1])
    with pytest.raises(ValueError, match="hold a number below 0: pass counts"):
        GainByClassDisplay([0, 1], rows=[9, 9], errors=[1, 1], wins=[1, -1], losses=[0, 0])


# ---- confusion -------------------------------------------------------------------------------------------------------


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
    assert "hatched: for the worse" in back.axes_[2].get_xlabel()


def test_of_a_hundred_classes_changes_are_marks_filled_for_the_better_and_open_for_the_worse():
    logits, labels = make_samples(rows=3000, size=100, home=3.0)
    after = make_samples(seed=0, rows=3000, size=100, home=4.0)[0].argmax(axis=1)
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


def test_confusions_of_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"shapes \(2, 2\), \(3, 3\) and \(2,\): pass two tables"):
        ConfusionChangeDisplay(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="different numbers of rows of a class: pass counts of the same rows"):
        ConfusionChangeDisplay([[5, 1], [0, 3]], [[5, 2], [0, 3]])
    with pytest.raises(ValueError, match="ax holds 2 Axes, and there are three panels"):
        ConfusionChangeDisplay(np.eye(2), np.eye(2)).plot(ax=pyplot.figure().subplots(1, 2))


# ---- certainty -------------------------------------------------------------------------------------------------------


def test_bars_are_right_and_wrong_rows_by_certainty_and_the_gate_is_drawn(network):
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
    assert legend_of(display.axes_) == ["gate: 0.8", f"wrong: {(~right).sum()} rows", f"right: {right.sum()} rows"]
    share = f"{display.below} of 800 rows ({100 * display.below / 800:.0f} %)"
    assert f"Below the gate: {share}, " in display.axes_.get_title(loc="left")


def test_a_head_without_a_gate_has_none_drawn():
    logits, labels = make_samples(size=3)
    for head in (SPHClassifier(certainty=0), LinearSVC()):
        display = CertaintyDisplay.from_estimator(head.fit(logits, labels), logits, labels)
        assert (display.gate, display.below) == (None, None)
        assert not display.axes_.lines
        assert display.axes_.get_title(loc="left") == "Certainty of softmax on 400 rows"


def test_a_bar_that_dwarfs_the_others_is_cut_and_written_in():
    certainty = [0.52] * 10 + [0.62] * 8 + [0.99] * 300
    display = CertaintyDisplay(certainty, [False] * 5 + [True] * 306 + [False] * 7).plot()
    assert display.axes_.get_ylim() == (0, 13)
    assert texts_of(display.axes_) == ["300 rows, 7 wrong →"]
    assert not texts_of(CertaintyDisplay([0.4, 0.9, 0.9], [True, True, False]).plot().axes_)


def test_certainty_from_probabilities_is_that_from_logits(network):
    head, logits, labels = network
    probabilities = softmax(logits.astype(float), axis=1)
    display = CertaintyDisplay.from_predictions(labels, probabilities, gate=0.8)
    by_head = CertaintyDisplay.from_estimator(head, logits, labels)
    assert (display.below, display.wrong_below) == (by_head.below, by_head.wrong_below)
    assert "none of 800 rows" in CertaintyDisplay.from_predictions(labels, probabilities, gate=0.0).axes_.get_title(
        "left"
    )


def test_what_are_no_certainties_are_refused():
    with pytest.raises(ValueError, match=r"have shapes \(2,\) and \(3,\): pass one number and one True or False"):
        CertaintyDisplay([0.1, 0.2], [True, False, True])
    with pytest.raises(ValueError, match="certainty is nan at row 1: pass numbers in 0 to 1"):
        CertaintyDisplay([0.1, np.nan], [True, False])
    with pytest.raises(ValueError, match="of type int64: pass True or False for each row"):
        CertaintyDisplay([0.1, 0.2], [1, 0])
    with pytest.raises(ValueError, match=r"gate=1.5 is out of range: choose a number in \[0, 1\]"):
        CertaintyDisplay([0.1, 0.2], [True, False], gate=1.5)
    with pytest.raises(ValueError, match="n_bins=0 is not possible: choose a whole number"):
        CertaintyDisplay([0.1, 0.2], [True, False]).plot(n_bins=0)


# ---- reliability -----------------------------------------------------------------------------------------------------


def test_marks_are_accuracy_by_confidence_and_bars_are_rows(network):
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


def test_bins_of_few_rows_have_marks_that_no_line_joins():
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


def test_what_are_no_probabilities_is_refused():
    good = np.array([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match=r"before holds no probabilities at row 1: .*scipy\.special\.softmax\(logits"):
        ReliabilityDisplay.from_predictions([0, 1], [[0.9, 0.1], [2.0, 0.8]], good)
    with pytest.raises(ValueError, match="after holds no probabilities at row 0"):
        ReliabilityDisplay.from_predictions([0, 1], good, [[np.nan, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match="probabilities holds no probabilities at row 0"):
        CertaintyDisplay.from_predictions([0, 1], [[1.5, -0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match=r"before has shape \(2,\): pass probabilities, a row for each row"):
        ReliabilityDisplay.from_predictions([0, 1], [0, 1], good)
    with pytest.raises(ValueError, match="y_true has 2 rows and after has 1: pass the same rows in both"):
        ReliabilityDisplay.from_predictions([0, 1], good, good[:1])
    with pytest.raises(ValueError, match="before has 2 columns and there are 3 classes: pass the class of each"):
        ReliabilityDisplay.from_predictions([0, 1], good, good, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"n_bins=2\.5 is not possible"):
        ReliabilityDisplay.from_predictions([0, 1], good, good, n_bins=2.5)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba, and this picture needs it"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(*make_samples(size=3)), *make_samples(size=3))


# ---- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("display", DISPLAYS)
def test_bad_rows_are_refused_with_what_to_do(display, network):
    head, logits, labels = network
    with pytest.raises(NotFittedError):
        display.from_estimator(SPHClassifier(), logits, labels)
    with pytest.raises(ValueError, match="800 samples but there are 10 labels: pass one label per sample"):
        display.from_estimator(head, logits, labels[:10])
    with pytest.raises(ValueError, match="expecting 10 features as input: pass the logits of the model"):
        display.from_estimator(head, logits[:, :9], labels)
    with pytest.raises(ValueError, match=r"NaN at row 0, column 0\. Drop such samples"):
        display.from_estimator(head, logits * np.nan, labels)
    with pytest.raises(ValueError, match="logits have no samples"):
        display.from_estimator(head, logits[:0], labels[:0])
    with pytest.raises(ValueError, match="labels hold 10, 11, not among the classes"):
        display.from_estimator(head, logits, labels + 2)
    with pytest.raises(ValueError, match="'0', '1', '2'"):
        display.from_estimator(head, logits, labels.astype(str))


@pytest.mark.parametrize("display", [GainByClassDisplay, ConfusionChangeDisplay])
def test_bad_answers_are_refused_with_what_to_do(display):
    with pytest.raises(ValueError, match="y_true has 6 rows and after has 5: pass the same rows in both"):
        display.from_predictions(TRUTH, BEFORE, AFTER[:5])
    with pytest.raises(ValueError, match=r"before has shape \(6, 2\): pass one class for each row; of probabilities"):
        display.from_predictions(TRUTH, np.zeros((6, 2)), AFTER)
    with pytest.raises(ValueError, match=r"mix kinds of labels .*make them all strings or all whole numbers"):
        display.from_predictions(TRUTH, np.zeros(6, dtype=int), AFTER)
    with pytest.raises(ValueError, match=r"y_true has shape \(0,\)"):
        display.from_predictions([], [], [])
    with pytest.raises(ValueError, match="labels hold 'cow', not among the classes"):
        display.from_predictions(TRUTH, BEFORE, AFTER, classes=["ant", "bee"])
    with pytest.raises(ValueError, match="name 3: pass each once, in a list"):
        display.from_predictions(TRUTH, BEFORE, AFTER, classes=["ant", "bee", "cow", "cow"])
    with pytest.raises(ValueError, match="contains NaN or None at row 1"):
        display.from_predictions([0.0, np.nan], [0.0, 1.0], [0.0, 1.0])


@pytest.mark.parametrize("display", DISPLAYS)
def test_rows_of_one_class_only_can_be_drawn(display, network):
    head, logits, labels = network
    display.from_estimator(head, logits[labels == 3], labels[labels == 3]).figure_.canvas.draw()


@pytest.mark.parametrize("size", [2, 3, 10, 100])
@pytest.mark.parametrize("display", DISPLAYS)
def test_no_text_runs_into_another_or_out_of_the_picture(display, size):
    names = np.array([f"class number {n}" for n in range(size)])
    logits, codes = make_samples(rows=20 * size, size=size, home=2.0)
    head = SPHClassifier(certainty=0.7, classes=names).fit(logits, names[codes])
    check_texts(display.from_estimator(head, logits, names[codes]).figure_)
