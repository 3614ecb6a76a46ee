"""Rules: plug-in costs of metrics, tuned weights, and the choice among them."""

import numpy as np
import pytest

from aftermax._utils.folds import splits_of
from aftermax._utils.softmax import softmax
from aftermax._wrapped.decision import lowest_expected_cost
from aftermax.decide.choice import PLAIN, PLUG_IN, RECALIBRATED, candidate_rules, choose_rule, simplest_of_the_best
from aftermax.decide.comparison import Judged
from aftermax.decide.objectives import METRICS, cost_objective, metric_objective
from aftermax.decide.rules import MOST_TUNED, class_biases, plug_in_rule, standard_costs, tuned_weights, weighted_rule

MISS = cost_objective(np.array([[0.0, 1.0], [10.0, 0.0]]))


def world(n_samples, seed=0, priors=(0.8, 0.2), bias=0.0, slope=1.0):
    """Probabilities of two overlapping classes: right ones, unless there is a bias or another slope."""
    rng = np.random.default_rng(seed)
    codes = (rng.random(n_samples) < priors[1]).astype(np.int64)
    x = rng.normal(size=n_samples) + 1.5 * codes
    odds = 1.5 * x - 1.5**2 / 2 + np.log(priors[1] / priors[0])
    odds = slope * odds + bias
    judged = Judged(codes, np.ones(n_samples), None, 2)
    return softmax(np.stack([-odds / 2, odds / 2], axis=1)), judged


def folds(n_samples, seed=0):
    return splits_of(np.random.default_rng(seed).integers(5, size=n_samples))


def test_the_plug_in_rule_of_two_classes_is_a_threshold():
    probabilities = np.stack([1 - np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 101)], axis=1)
    decisions = lowest_expected_cost(probabilities, MISS.costs)
    np.testing.assert_array_equal(decisions, probabilities[:, 1] > 1 / 11 + 1e-12)


def test_balanced_accuracy_is_decided_by_weights_of_one_over_the_prior():
    probabilities, _ = world(4_000)
    rule = plug_in_rule(METRICS["balanced_accuracy"], probabilities, np.ones(2, dtype=bool))
    priors = probabilities.mean(axis=0)
    expected = (probabilities / priors).argmax(axis=1)
    np.testing.assert_array_equal(lowest_expected_cost(probabilities, rule), expected)


def test_macro_f1_is_decided_as_well_as_any_threshold_could():
    probabilities, judged = world(4_000)
    objective = METRICS["macro_f1"]
    rule = plug_in_rule(objective, probabilities, np.ones(2, dtype=bool))
    thresholds = np.linspace(0.01, 0.99, 99)
    best = max(judged.value(objective, (probabilities[:, 1] > one).astype(int)) for one in thresholds)
    plain = judged.value(objective, probabilities.argmax(axis=1))
    found = judged.value(objective, lowest_expected_cost(probabilities, rule))
    assert found > plain
    assert found > best - 0.01


def test_for_accuracy_plain_predictions_cannot_be_beaten():
    probabilities, _ = world(500)
    accuracy = metric_objective(lambda confusion: float(np.trace(confusion) / confusion.sum()))
    rule = plug_in_rule(accuracy, probabilities, np.ones(2, dtype=bool))
    np.testing.assert_array_equal(lowest_expected_cost(probabilities, rule), probabilities.argmax(axis=1))


def test_standard_costs_decide_the_same():
    rng = np.random.default_rng(0)
    costs, probabilities = rng.normal(size=(4, 4)), rng.dirichlet(np.ones(4), size=200)
    standard = standard_costs(costs)
    assert (standard.min(), standard.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(
        lowest_expected_cost(probabilities, standard), lowest_expected_cost(probabilities, costs)
    )


def test_tuned_weights_undo_a_bias_of_the_probabilities():
    probabilities, judged = world(8_000, bias=-1.5)
    logs = tuned_weights(MISS, probabilities, judged.codes, judged.weights, MISS.costs)
    assert logs[1] - logs[0] == pytest.approx(1.5, abs=0.6)
    new, truth = world(20_000, seed=1, bias=-1.5)
    tuned = truth.value(MISS, lowest_expected_cost(new, weighted_rule(MISS.costs, logs, 1.0)))
    assert tuned > truth.value(MISS, lowest_expected_cost(new, MISS.costs))


def test_biases_of_the_classes_are_those_of_the_log_loss():
    probabilities, judged = world(8_000, bias=-1.5)
    biases = class_biases(probabilities, judged.codes, judged.weights)
    assert biases[1] - biases[0] == pytest.approx(1.5, abs=0.15)
    few = np.arange(3)
    assert np.abs(class_biases(probabilities[few], judged.codes[few], judged.weights[few])).max() < 1.0


def test_a_class_with_three_samples_is_not_given_up_by_luck():
    """A rule that saves a little on every common sample, and has lost none of three rare ones, proves nothing."""
    codes = np.repeat([0, 1], [300, 3])
    judged = Judged(codes, np.ones(303), None, 2)
    costs = cost_objective(np.array([[0.0, 1.0], [60.0, 0.0]]))
    plug_in = codes.copy()
    plug_in[:20] = 1
    assert simplest_of_the_best(costs, judged, {PLUG_IN: plug_in, "tuned": codes}) == PLUG_IN


def test_without_costs_weights_are_of_zero_one_costs():
    rule = weighted_rule(None, np.log([1.0, 3.0]), 1.0)
    np.testing.assert_allclose(rule, [[0.0, 1 / 3], [1.0, 0.0]])


def test_with_right_probabilities_the_plug_in_rule_is_chosen_in_most_draws():
    chosen = [choose_rule(MISS, *world(300, seed), folds(300, seed)).name for seed in range(12)]
    assert chosen.count(PLUG_IN) >= 7


def test_with_biased_probabilities_another_rule_is_chosen_and_costs_less():
    probabilities, judged = world(4_000, bias=-2.0)
    choice = choose_rule(MISS, probabilities, judged, folds(4_000))
    assert choice.name not in (PLUG_IN, PLAIN)
    assert choice.values[choice.name] > choice.values[PLUG_IN]


def test_where_a_metric_cannot_be_raised_plain_predictions_are_kept():
    probabilities, judged = world(1_000, priors=(0.5, 0.5))
    choice = choose_rule(METRICS["balanced_accuracy"], probabilities, judged, folds(1_000))
    assert choice.name == PLAIN
    assert choice.rule is None


def test_out_of_fold_decisions_promise_what_new_samples_give():
    promised, kept = [], []
    for seed in range(12):
        choice = choose_rule(MISS, *world(300, seed, bias=-1.0), folds(300, seed))
        new, truth = world(5_000, 1_000 + seed, bias=-1.0)
        promised.append(world(300, seed)[1].value(MISS, choice.decisions))
        kept.append(truth.value(MISS, lowest_expected_cost(new, choice.rule)))
    assert np.mean(promised) == pytest.approx(np.mean(kept), abs=0.05)


def test_a_rule_is_passed_over_only_by_more_than_a_standard_error():
    judged = world(200)[1]
    right = judged.codes
    one_wrong = right.copy()
    one_wrong[0] = 1 - one_wrong[0]
    assert simplest_of_the_best(MISS, judged, {PLUG_IN: one_wrong, "tuned": right}) == PLUG_IN
    assert simplest_of_the_best(MISS, judged, {PLUG_IN: 1 - right, "tuned": right}) == "tuned"


def test_many_classes_are_not_tuned():
    n_classes = MOST_TUNED + 1
    rng = np.random.default_rng(0)
    judged = Judged(rng.integers(n_classes, size=60), np.ones(60), None, n_classes)
    rules = candidate_rules(cost_objective(1 - np.eye(n_classes)), rng.dirichlet(np.ones(n_classes), size=60), judged)
    assert set(rules) == {PLAIN, PLUG_IN, RECALIBRATED}
