"""Pictures."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from aftermax import ResponseArray, SPHClassifier
from aftermax.plots import ResponseArrayDisplay
from conftest import make_rows


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def points(axes):
    """Where the markers are: one (response, row) for each class."""
    return np.array([container.lines[0].get_xydata()[0] for container in axes.containers])


def test_column_j_shows_unit_j_scaled_by_its_home_class():
    head = SPHClassifier().fit(*make_rows(size=4, home=3.0))
    display = ResponseArrayDisplay.from_estimator(head)
    center = head.response_array_.center
    assert len(display.axes_) == 4
    for j, axes in enumerate(display.axes_):
        np.testing.assert_allclose(points(axes)[:, 0], center[:, j] / abs(center[j, j]))
        np.testing.assert_array_equal(points(axes)[:, 1], np.arange(4))
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == ["0", "1", "2", "3"]


def test_the_bars_are_the_left_and_right_spreads():
    array = ResponseArray.fit(*make_rows(size=3, home=3.0))
    axes = ResponseArrayDisplay(array).plot().axes_[1]
    (ends,) = axes.containers[2].lines[2][0].get_segments()
    scale = abs(array.center[1, 1])
    low, high = array.center[2, 1] - array.left[2, 1], array.center[2, 1] + array.right[2, 1]
    np.testing.assert_allclose(ends[:, 0], [low / scale, high / scale])


def test_twelve_classes_at_most_unless_chosen():
    array = ResponseArray.fit(*make_rows(rows=900, size=30))
    assert len(ResponseArrayDisplay(array).plot().axes_) == 12
    chosen = ResponseArrayDisplay(array).plot(classes=[29, 3])
    assert [axes.get_title() for axes in chosen.axes_] == ["unit 29", "unit 3"]
    with pytest.raises(ValueError, match="cannot be shown: choose from"):
        ResponseArrayDisplay(array).plot(classes=[30])


def test_it_draws_into_a_given_figure_and_copes_with_unknown_and_negative_responses():
    logits, labels = make_rows(rows=300, size=4)
    array = ResponseArray.fit(logits[labels != 2] - 20.0, labels[labels != 2], classes=range(4))
    figure = pyplot.figure()
    display = ResponseArrayDisplay(array).plot(figure=figure)
    assert display.figure_ is figure
    figure.canvas.draw()
    assert np.isnan(points(display.axes_[0])[2, 0])
    assert points(display.axes_[0])[0, 0] == -1.0


def test_an_unfitted_head_says_so():
    with pytest.raises(NotFittedError):
        ResponseArrayDisplay.from_estimator(SPHClassifier())


def test_what_is_no_response_array_is_refused_with_what_to_pass():
    head = SPHClassifier().fit(*make_rows())
    with pytest.raises(TypeError, match=r"takes a ResponseArray, not SPHClassifier: .*from_estimator\(head\)"):
        ResponseArrayDisplay(head)
    search = GridSearchCV(SPHClassifier(), {"certainty": [0.5]}, cv=2).fit(*make_rows())
    with pytest.raises(TypeError, match=r"GridSearchCV has no response array.*search.best_estimator_"):
        ResponseArrayDisplay.from_estimator(search)


def test_long_names_are_cut():
    logits, labels = make_rows(size=5)
    names = np.array(["a-name-of-thirty-letters-or-more", "b", "c", "d", "e"])
    display = ResponseArrayDisplay(ResponseArray.fit(logits, names[labels])).plot()
    assert display.axes_[0].get_title() == "unit a-name…"
    assert display.axes_[0].get_yticklabels()[0].get_text() == "a-name-of-thirty-le…"


def test_without_matplotlib_the_error_names_the_install_command():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from aftermax import ResponseArray\n"
        "from aftermax.plots import ResponseArrayDisplay\n"
        "ResponseArrayDisplay(ResponseArray.fit([[1, 0], [0, 1]], [0, 1])).plot()"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert "pip install 'aftermax[plots]'" in done.stderr
