"""ResponseArrayDisplay: the response array by column and by row."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from aftermax import ResponseArray, SPHClassifier
from aftermax.plots import ClassPairDisplay, ResponseArrayDisplay
from helpers.samples import make_samples


def points(axes):
    """Where the markers are: one (response, row) for each class."""
    return np.array([container.lines[0].get_xydata()[0] for container in axes.containers])


def near_zero():
    """Unit 1 hardly responds to its own class, but strongly to the others."""
    center = np.array([[4.0, -3.0, 0.5], [0.5, 0.01, -0.5], [-1.0, -2.0, 5.0]])
    spreads = np.full((3, 3), 0.5)
    return ResponseArray(center, spreads, 2 * spreads, np.array([9, 9, 9]), np.array(["ant", "bee", "cat"]))


@pytest.mark.parametrize(("by", "size"), [("column", 4.0), ("row", 1.5)])
def test_where_a_response_to_the_own_class_is_near_zero_the_largest_is_the_unit(by, size):
    array = near_zero()
    display = ResponseArrayDisplay(array).plot(by=by)
    drawn = display.axes_[1]
    of_panel = array.center[:, 1] if by == "column" else array.center[1]
    np.testing.assert_allclose(points(drawn)[:, 0], of_panel / size)
    assert max(map(abs, drawn.get_xlim())) < 2
    assert "max" in [label.get_text() for label in drawn.get_xticklabels()]
    for axes in display.axes_[[0, 2]]:
        assert "max" not in [label.get_text() for label in axes.get_xticklabels()]


def test_a_pair_with_a_response_near_zero_says_what_its_unit_is():
    left, right = ClassPairDisplay(near_zero(), "bee", "cat").plot().axes_
    assert left.get_xlabel() == "response (the largest = 1)"
    assert right.get_xlabel() == "response (own class = 1; near 0: the largest)"
    assert max(map(abs, [*left.get_xlim(), *right.get_xlim()])) < 3
    others = ClassPairDisplay(near_zero(), "ant", "cat").plot().axes_
    assert others[0].get_xlabel() == "response (unit ant's to its own class = 1)"


def test_column_j_shows_unit_j_scaled_by_its_own_class():
    head = SPHClassifier().fit(*make_samples(n_classes=4, home=3.0))
    display = ResponseArrayDisplay.from_estimator(head)
    center = head.response_array_.center
    assert len(display.axes_) == 4
    for j, axes in enumerate(display.axes_):
        np.testing.assert_allclose(points(axes)[:, 0], center[:, j] / abs(center[j, j]))
        np.testing.assert_array_equal(points(axes)[:, 1], np.arange(4))
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == ["0", "1", "2", "3"]


def test_the_bars_are_the_left_and_right_spreads():
    array = ResponseArray.fit(*make_samples(n_classes=3, home=3.0))
    axes = ResponseArrayDisplay(array).plot().axes_[1]
    (ends,) = axes.containers[2].lines[2][0].get_segments()
    scale = abs(array.center[1, 1])
    low, high = array.center[2, 1] - array.left[2, 1], array.center[2, 1] + array.right[2, 1]
    np.testing.assert_allclose(ends[:, 0], [low / scale, high / scale])


def test_twelve_classes_at_most_unless_chosen():
    array = ResponseArray.fit(*make_samples(n_samples=900, n_classes=30))
    assert len(ResponseArrayDisplay(array).plot().axes_) == 12
    chosen = ResponseArrayDisplay(array).plot(classes=[29, 3])
    assert [axes.get_title() for axes in chosen.axes_] == ["unit 29", "unit 3"]
    with pytest.raises(ValueError, match="cannot be shown: choose from"):
        ResponseArrayDisplay(array).plot(classes=[30])


def test_it_draws_into_a_given_figure_and_copes_with_unknown_and_negative_responses():
    logits, labels = make_samples(n_samples=300, n_classes=4)
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


def test_other_objects_than_a_response_array_are_refused_with_what_to_pass():
    head = SPHClassifier().fit(*make_samples())
    with pytest.raises(TypeError, match=r"takes a ResponseArray, not SPHClassifier: .*from_estimator\(head\)"):
        ResponseArrayDisplay(head)
    search = GridSearchCV(SPHClassifier(), {"certainty": [0.5]}, cv=2).fit(*make_samples())
    with pytest.raises(TypeError, match=r"GridSearchCV has no response array.*search.best_estimator_"):
        ResponseArrayDisplay.from_estimator(search)


def test_long_names_are_cut():
    logits, labels = make_samples(n_classes=5)
    names = np.array(["a-name-of-thirty-letters-or-more", "b", "c", "d", "e"])
    display = ResponseArrayDisplay(ResponseArray.fit(logits, names[labels])).plot()
    assert display.axes_[0].get_title() == "unit a-name…"
    assert display.axes_[0].get_yticklabels()[0].get_text() == "a-name-of-thirty-le…"


def test_it_draws_into_given_axes_one_for_each_class():
    array = ResponseArray.fit(*make_samples(n_classes=3))
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


@pytest.mark.parametrize("name", ["cat", "\u732b"])
def test_without_matplotlib_the_error_names_the_install_command(name):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from aftermax.plots import GainByClassDisplay\n"
        f"GainByClassDisplay([{name!r}], rows=[1], errors=[1], wins=[1], losses=[0]).plot()"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert "pip install 'aftermax[plots]'" in done.stderr


def test_row_i_shows_every_unit_scaled_by_the_classs_own_unit():
    head = SPHClassifier().fit(*make_samples(n_classes=4, home=3.0))
    display = ResponseArrayDisplay.from_estimator(head, by="row")
    center = head.response_array_.center
    for i, axes in enumerate(display.axes_):
        np.testing.assert_allclose(points(axes)[:, 0], center[i] / abs(center[i, i]))
        assert axes.get_title() == f"class {i}"
    assert display.axes_[0].get_ylabel() == "unit"


def test_neither_column_nor_row_is_refused():
    array = ResponseArray.fit(*make_samples(n_classes=3))
    with pytest.raises(ValueError, match="by='diagonal' is not known: choose 'column' or 'row'"):
        ResponseArrayDisplay(array).plot(by="diagonal")
