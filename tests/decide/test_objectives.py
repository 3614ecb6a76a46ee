"""Objectives: their values are those of scikit-learn, their slopes those of small steps, and bad ones are refused."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score

from aftermax.decide.objectives import METRICS, confusion_matrix, cost_objective, metric_objective

CONFUSION = np.array([[30.0, 5.0, 1.0], [4.0, 10.0, 0.0], [2.0, 3.0, 6.0]])


def samples():
    rng = np.random.default_rng(0)
    codes, decisions = rng.integers(3, size=(2, 200))
    return codes, decisions, rng.exponential(size=200)


def test_metrics_of_weighted_samples_are_those_of_scikit_learn():
    codes, decisions, weights = samples()
    confusion = confusion_matrix(codes, decisions, weights, 3)
    balanced = balanced_accuracy_score(codes, decisions, sample_weight=weights)
    assert METRICS["balanced_accuracy"].value(confusion) == pytest.approx(balanced)
    macro = f1_score(codes, decisions, average="macro", sample_weight=weights)
    assert METRICS["macro_f1"].value(confusion) == pytest.approx(macro)


def test_classes_without_samples_are_left_out():
    confusion = np.array([[8.0, 2.0, 0.0], [1.0, 8.0, 1.0], [0.0, 0.0, 0.0]])
    assert METRICS["balanced_accuracy"].value(confusion) == pytest.approx(0.8)
    assert METRICS["macro_f1"].value(confusion) == pytest.approx((16 / 19 + 16 / 20) / 2)


def test_the_expected_cost_is_the_mean_cost_of_a_sample():
    codes, decisions, weights = samples()
    costs = np.random.default_rng(1).normal(size=(3, 3))
    value = cost_objective(costs).value(confusion_matrix(codes, decisions, weights, 3))
    assert value == pytest.approx(-np.average(costs[codes, decisions], weights=weights))


@pytest.mark.parametrize(
    "objective",
    [*METRICS.values(), cost_objective(np.array([[0.0, 1.0, 2.0], [5.0, -1.0, 1.0], [1.0, 3.0, 0.0]]))],
    ids=lambda one: one.name,
)
def test_slopes_are_those_of_small_steps(objective):
    slope = objective.slope(CONFUSION)
    for cell in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[cell] = 1e-5
        rise = objective.value(CONFUSION + step) - objective.value(CONFUSION - step)
        assert slope[cell] == pytest.approx(rise / 2e-5, rel=1e-4, abs=1e-9)


def test_the_slope_of_any_callable_is_that_of_small_steps():
    found = metric_objective(lambda confusion: METRICS["macro_f1"].value(confusion)).slope(CONFUSION)
    np.testing.assert_allclose(found, METRICS["macro_f1"].slope(CONFUSION), rtol=1e-3, atol=1e-6)


def test_an_unknown_metric_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'auc' is not known: choose 'balanced_accuracy', 'macro_f1'"):
        metric_objective("auc")
    with pytest.raises(TypeError, match="metric is of type int"):
        metric_objective(3)


@pytest.mark.parametrize(
    ("returned", "message"),
    [(np.nan, "returned nan"), (np.inf, "returned inf"), ([1, 2], "returned list"), ("good", "returned str")],
)
def test_a_metric_that_returns_no_number_is_refused(returned, message):
    with pytest.raises(ValueError, match=message):
        metric_objective(lambda confusion: returned).value(CONFUSION)


def test_a_metric_that_fails_is_named_with_its_error():
    def broken(confusion):
        return confusion["recall"]

    with pytest.raises(ValueError, match=r"metric broken failed on a confusion matrix of shape .* with IndexError"):
        metric_objective(broken).value(CONFUSION)


def test_a_metric_cannot_change_the_confusion_matrix():
    def greedy(confusion):
        confusion[:] = 0
        return 1.0

    kept = CONFUSION.copy()
    metric_objective(greedy).value(kept)
    np.testing.assert_array_equal(kept, CONFUSION)
