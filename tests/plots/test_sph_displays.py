"""Pictures."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from aftermax import ResponseArray, SPHClassifier, SPHClassifierCV, sweep
from aftermax.plots import ClassPairDisplay, ResponseArrayDisplay, RoutesDisplay, SweepDisplay
from helpers.samples import make_samples


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def points(axes):
    """Where the markers are: one (response, row) for each class."""
    return np.array([container.lines[0].get_xydata()[0] for container in axes.containers])


def test_column_j_shows_unit_j_scaled_by_its_home_class():
    head = SPHClassifier().fit(*make_samples(size=4, home=3.0))
    display = ResponseArrayDisplay.from_estimator(head)
    center = head.response_array_.center
    assert len(display.axes_) == 4
    for j, axes in enumerate(display.axes_):
        np.testing.assert_allclose(points(axes)[:, 0], center[:, j] / abs(center[j, j]))
        np.testing.assert_array_equal(points(axes)[:, 1], np.arange(4))
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == ["0", "1", "2", "3"]


def test_the_bars_are_the_left_and_right_spreads():
    array = ResponseArray.fit(*make_samples(size=3, home=3.0))
    axes = ResponseArrayDisplay(array).plot().axes_[1]
    (ends,) = axes.containers[2].lines[2][0].get_segments()
    scale = abs(array.center[1, 1])
    low, high = array.center[2, 1] - array.left[2, 1], array.center[2, 1] + array.right[2, 1]
    np.testing.assert_allclose(ends[:, 0], [low / scale, high / scale])


def test_twelve_classes_at_most_unless_chosen():
    array = ResponseArray.fit(*make_samples(rows=900, size=30))
    assert len(ResponseArrayDisplay(array).plot().axes_) == 12
    chosen = ResponseArrayDisplay(array).plot(classes=[29, 3])
    assert [axes.get_title() for axes in chosen.axes_] == ["unit 29", "unit 3"]
    with pytest.raises(ValueError, match="cannot be shown: choose from"):
        ResponseArrayDisplay(array).plot(classes=[30])


def test_it_draws_into_a_given_figure_and_copes_with_unknown_and_negative_responses():
    logits, labels = make_samples(rows=300, size=4)
    array = ResponseArray.fit(logits[labels != 2] - 20.0, labels[labels != 2], classes=range(4))
    figure = pyplot.figure()
    display = ResponseArrayDisplay(array).plot(figure=figure)
    assert display.figure_ is figure
    figure.canvas.draw()
    assert np.isnan(points(display.axes_[0])[2, 0])
    assert points(display.axes_[0])[0, 0] == -1.0
    by_row = ResponseArrayDisplay(array).plot(by="row")
    assert np.isnan(points(by_row.axes_[2])).any()
    by_row.figure_.canvas.draw()
    ClassPairDisplay(array, 2, 3).plot().figure_.canvas.draw()


def test_an_unfitted_head_says_so():
    with pytest.raises(NotFittedError):
        ResponseArrayDisplay.from_estimator(SPHClassifier())


def test_what_is_no_response_array_is_refused_with_what_to_pass():
    head = SPHClassifier().fit(*make_samples())
    with pytest.raises(TypeError, match=r"takes a ResponseArray, not SPHClassifier: .*from_estimator\(head\)"):
        ResponseArrayDisplay(head)
    search = GridSearchCV(SPHClassifier(), {"certainty": [0.5]}, cv=2).fit(*make_samples())
    with pytest.raises(TypeError, match=r"GridSearchCV has no response array.*search.best_estimator_"):
        ResponseArrayDisplay.from_estimator(search)


def test_long_names_are_cut():
    logits, labels = make_samples(size=5)
    names = np.array(["a-name-of-thirty-letters-or-more", "b", "c", "d", "e"])
    display = ResponseArrayDisplay(ResponseArray.fit(logits, names[labels])).plot()
    assert display.axes_[0].get_title() == "unit a-name…"
    assert display.axes_[0].get_yticklabels()[0].get_text() == "a-name-of-thirty-le…"


def test_it_draws_into_given_axes_one_for_each_class():
    array = ResponseArray.fit(*make_samples(size=3))
    figure, given = pyplot.subplots(1, 3)
    display = ResponseArrayDisplay(array).plot(ax=given)
    assert display.figure_ is figure
    assert display.axes_.tolist() == given.tolist()
    assert given[1].get_xlabel().startswith("response, in units of the unit's response to its own class")
    assert [text.get_text() for text in given[0].get_yticklabels()] == ["0", "1", "2"]
    with pytest.raises(ValueError, match="ax holds 2 Axes, and there are three panels: pass three"):
        ResponseArrayDisplay(array).plot(ax=given[:2])
    pair = ClassPairDisplay(array, 0, 2).plot(ax=given[:2])
    assert pair.axes_.tolist() == given[:2].tolist()
    assert [text.get_text() for text in given[0].get_legend().get_texts()] == ["class 0", "class 2"]


def test_without_matplotlib_the_error_names_the_install_command():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from aftermax import ResponseArray\n"
        "from aftermax.plots import ResponseArrayDisplay\n"
        "ResponseArrayDisplay(ResponseArray.fit([[1, 0], [0, 1]], [0, 1])).plot()"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert "pip install 'aftermax[plots]'" in done.stderr


# ---- the sweep -------------------------------------------------------------------------------------------------------


def offsets(collection):
    return np.asarray(collection.get_offsets())


def test_every_set_is_a_point_and_the_chosen_and_the_oracle_are_marked():
    display = SweepDisplay([0.0, 0.1, 0.2, 0.2], [0.0, 0.15, 0.05, 0.05], chosen=2).plot()
    points, _, oracle, chosen = display.axes_.collections
    np.testing.assert_allclose(offsets(points), [[0, 0], [10, 15], [20, 5]])
    np.testing.assert_allclose(offsets(oracle), [[10, 15]])
    np.testing.assert_allclose(offsets(chosen), [[20, 5]])
    labels = [text.get_text() for text in display.axes_.get_legend().get_texts()]
    assert labels == ["a set of settings", "best on test: needs its labels", "chosen"]


def test_from_sweeps_draws_into_given_axes(validation, unseen):
    grid = {"certainty": [0.5, 0.7, 0.9]}
    on_validation = sweep(*validation, grid)
    on_test = sweep(*validation, grid, eval_logits=unseen[0], eval_labels=unseen[1])
    axes = pyplot.figure().subplots()
    display = SweepDisplay.from_sweeps(on_validation, on_test, ax=axes)
    assert display.axes_ is axes
    assert display.figure_ is axes.figure
    np.testing.assert_array_equal(display.test_gain, on_test["gain"])
    assert display.oracle == np.argmax(on_test["accuracy"])
    assert display.chosen is None


def test_from_estimator_shows_what_the_choice_saw(validation, unseen):
    grid = {"certainty": [0.5, 0.7, 0.9]}
    head = SPHClassifierCV(grid, cv=3, n_repeats=1).fit(*validation)
    display = SweepDisplay.from_estimator(head, *validation, *unseen)
    np.testing.assert_array_equal(display.validation_gain, head.cv_results_["gain"][:3])
    assert (display.chosen, display.softmax_kept) == (head.best_index_, False)
    assert "by cross-validation" in display.axes_.get_xlabel()
    with pytest.raises(TypeError, match="SPHClassifier is no SPHClassifierCV"):
        SweepDisplay.from_estimator(head.best_estimator_, *validation, *unseen)
    with pytest.raises(NotFittedError):
        SweepDisplay.from_estimator(SPHClassifierCV(), *validation, *unseen)


def test_softmax_kept_is_marked_at_the_origin(validation, unseen):
    head = SPHClassifierCV({"certainty": [0.5, 0.7, 0.9]}, alpha=0.0).fit(*validation)
    display = SweepDisplay.from_estimator(head, *validation, *unseen)
    np.testing.assert_array_equal(offsets(display.axes_.collections[-1]), [[0, 0]])
    assert display.axes_.get_legend().get_texts()[-1].get_text() == "chosen: softmax"


def test_sweeps_over_other_sets_are_refused(validation, unseen):
    ours, theirs = (sweep(*validation, {"certainty": [certainty]}) for certainty in (0.5, 0.9))
    with pytest.raises(ValueError, match="over different sets of settings"):
        SweepDisplay.from_sweeps(ours, theirs)
    head = SPHClassifierCV({"certainty": [0.5]}, cv=3, n_repeats=1).fit(*validation)
    with pytest.raises(ValueError, match="no longer the one that was fitted: fit again"):
        SweepDisplay.from_estimator(head.set_params(grid={"certainty": [0.9]}), *validation, *unseen)


def test_sets_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        SweepDisplay([0.1, np.nan], [0.1, 0.2])
    with pytest.raises(ValueError, match="chosen=2 is no set: there are 2"):
        SweepDisplay([0.1, 0.2], [0.1, 0.2], chosen=2)
    with pytest.raises(ValueError, match=r"have shapes \(2,\) and \(3,\): pass one number for each set"):
        SweepDisplay([0.1, 0.2], [0.1, 0.2, 0.3])


# ---- the response array by row, and two rows of it -------------------------------------------------------------------


def test_row_i_shows_every_unit_scaled_by_the_classs_own_unit():
    head = SPHClassifier().fit(*make_samples(size=4, home=3.0))
    display = ResponseArrayDisplay.from_estimator(head, by="row")
    center = head.response_array_.center
    for i, axes in enumerate(display.axes_):
        np.testing.assert_allclose(points(axes)[:, 0], center[i] / abs(center[i, i]))
        assert axes.get_title() == f"class {i}"
    assert display.axes_[0].get_ylabel() == "unit"


def test_neither_column_nor_row_is_refused():
    array = ResponseArray.fit(*make_samples(size=3))
    with pytest.raises(ValueError, match=r"by='diagonal' is no way .* choose 'column' or 'row'"):
        ResponseArrayDisplay(array).plot(by="diagonal")


def test_two_rows_are_drawn_side_by_side_with_their_separation():
    array = ResponseArray.fit(*make_samples(size=4, home=3.0))
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


def test_of_many_units_the_pair_and_the_most_telling_ones_are_shown():
    array = ResponseArray.fit(*make_samples(size=20, rows=2000, home=3.0))
    display = ClassPairDisplay(array, 4, 17).plot()
    shown = [int(label.get_text()) for label in display.axes_[0].get_yticklabels()]
    assert len(shown) == 12
    assert {4, 17} < set(shown)
    others = set(range(20)) - set(shown)
    assert min(display.separation[list(set(shown) - {4, 17})]) >= max(display.separation[list(others)])


def test_a_pair_must_be_two_known_classes():
    array = ResponseArray.fit(*make_samples(size=3))
    with pytest.raises(ValueError, match="both 1: name two classes"):
        ClassPairDisplay(array, 1, 1)
    with pytest.raises(ValueError, match=r"choose from \[0, 1, 2\]"):
        ClassPairDisplay(array, 1, 7)
    with pytest.raises(TypeError, match=r"ClassPairDisplay takes a ResponseArray, not str"):
        ClassPairDisplay("array", 0, 1)


# ---- routes ----------------------------------------------------------------------------------------------------------


def routed(**settings):
    logits, labels = make_samples(seed=3, rows=800, size=4, home=1.5)
    head = SPHClassifier(certainty=0.8, **settings).fit(logits, labels)
    return head, *make_samples(seed=4, rows=500, size=4, home=1.5)


@pytest.mark.parametrize("settings", [{}, {"veto_distance": 0.7, "veto_count": 1}, {"min_gain": 1.0}])
def test_the_rows_on_the_arrows_are_the_rows_that_went_there(settings):
    head, logits, labels = routed(**settings)
    display = RoutesDisplay.from_estimator(head, logits, labels)
    routes = head.route(logits)
    ways = (display.softmax, display.pooled, display.untrusted, display.none_left)
    assert sum(way.rows for way in ways) == 500
    assert display.softmax.rows == np.count_nonzero(routes == "softmax")
    assert display.pooled.rows == np.count_nonzero(routes == "pooled")
    assert display.untrusted.rows + display.none_left.rows == np.count_nonzero(routes == "reverted")
    assert sum(way.right for way in ways) == np.count_nonzero(head.predict(logits) == labels)
    assert sum(way.softmax_right for way in ways) == np.count_nonzero(logits.argmax(axis=1) == labels)
    texts = " ".join(text.get_text() for text in display.axes_.texts)
    assert "500 rows" in texts
    assert f"no class left: {display.none_left.rows}" in texts
    assert f"{display.pooled.rows:,} rows, {display.pooled.right:,} right" in texts


def test_rows_with_every_class_vetoed_are_told_from_distrusted_ones():
    head, logits, _ = routed(veto_distance=0.05, veto_count=1)
    display = RoutesDisplay.from_estimator(head, logits)
    assert display.none_left.rows > 0
    head, logits, _ = routed(min_gain=1.0)
    display = RoutesDisplay.from_estimator(head, logits)
    assert (display.none_left.rows, display.pooled.rows) == (0, 0)
    assert display.untrusted.rows > 0


def test_without_labels_nothing_is_said_about_right_and_wrong():
    head, logits, _ = routed()
    before = head.trusted_.copy()
    display = RoutesDisplay.from_estimator(head, logits)
    assert display.pooled.right is None
    assert "right" not in " ".join(text.get_text() for text in display.axes_.texts)
    np.testing.assert_array_equal(head.trusted_, before)


def test_labels_of_other_rows_are_refused():
    head, logits, labels = routed()
    with pytest.raises(ValueError, match="500 samples but there are 10 labels: pass one label per sample"):
        RoutesDisplay.from_estimator(head, logits, labels[:10])


def test_a_head_that_keeps_softmax_says_so():
    logits, labels = make_samples(size=3)
    display = RoutesDisplay.from_estimator(SPHClassifier(certainty=0).fit(logits, labels), logits)
    assert display.softmax.rows == len(logits)
    assert "softmax is kept" in " ".join(text.get_text() for text in display.axes_.texts)


def test_only_a_fitted_sph_head_has_routes():
    with pytest.raises(NotFittedError):
        RoutesDisplay.from_estimator(SPHClassifier(), [[0.0, 1.0]])
    with pytest.raises(TypeError, match=r"LogisticRegression has no routes.*search\.best_estimator_"):
        RoutesDisplay.from_estimator(LogisticRegression().fit(*make_samples(size=3)), [[0.0, 1.0, 2.0]])
