"""SweepDisplay: gains on validation samples against gains on test samples."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from aftermax import SPHClassifierCV, sweep
from aftermax.plots import SweepDisplay


def offsets(collection):
    return np.asarray(collection.get_offsets())


def test_every_set_is_a_point_and_the_chosen_and_the_oracle_are_marked():
    display = SweepDisplay([0.0, 0.1, 0.2, 0.2], [0.0, 0.15, 0.05, 0.05], chosen=2).plot()
    points, _, oracle, chosen = display.axes_.collections
    np.testing.assert_allclose(offsets(points), [[0, 0], [10, 15], [20, 5]])
    np.testing.assert_allclose(offsets(oracle), [[10, 15]])
    np.testing.assert_allclose(offsets(chosen), [[20, 5]])
    labels = [text.get_text() for text in display.axes_.get_legend().get_texts()]
    assert labels == ["a set of hyperparameters", "best on test: needs its labels", "chosen"]


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


def test_from_estimator_shows_the_gains_that_the_choice_was_based_on(validation, unseen):
    grid = {"certainty": [0.5, 0.7, 0.9]}
    head = SPHClassifierCV(grid, cv=3, n_repeats=1).fit(*validation)
    display = SweepDisplay.from_estimator(head, *validation, *unseen)
    np.testing.assert_array_equal(display.validation_gain, head.cv_results_["gain"][:3])
    assert (display.chosen, display.softmax_kept) == (head.best_index_, False)
    assert "by cross-validation" in display.axes_.get_xlabel()
    with pytest.raises(TypeError, match="SPHClassifier is not an SPHClassifierCV"):
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
    with pytest.raises(ValueError, match="over different sets of hyperparameters"):
        SweepDisplay.from_sweeps(ours, theirs)
    head = SPHClassifierCV({"certainty": [0.5]}, cv=3, n_repeats=1).fit(*validation)
    with pytest.raises(ValueError, match="no longer the one that was fitted: fit again"):
        SweepDisplay.from_estimator(head.set_params(grid={"certainty": [0.9]}), *validation, *unseen)


def test_sets_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        SweepDisplay([0.1, np.nan], [0.1, 0.2])
    with pytest.raises(ValueError, match="chosen=2 is out of range: there are 2 sets"):
        SweepDisplay([0.1, 0.2], [0.1, 0.2], chosen=2)
    with pytest.raises(ValueError, match=r"have shapes \(2,\) and \(3,\): pass one number for each set"):
        SweepDisplay([0.1, 0.2], [0.1, 0.2, 0.3])
