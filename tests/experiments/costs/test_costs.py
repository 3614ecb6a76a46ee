"""The experiment on costs: its score sets, its methods, its report, and the committed results."""

import numpy as np
import pytest

from experiments.costs import measure, report
from experiments.costs.cases import PUBLISHED, SETS, Task, costs_of, tasks
from experiments.costs.measure import CostsExperiment, Outcome
from experiments.costs.score_sets import Scores, made_up, one_against_others, skewed
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "costs"


def outcome(asked, method, value, *, scores="digits", draw=0, worse=np.nan):
    return Outcome(scores, draw, asked, method, 10, value, "", np.nan, worse)


def test_a_binary_set_has_the_odds_of_some_classes_against_the_others():
    logits = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    labels = np.array([0, 2])
    two = one_against_others(Scores(logits, labels, logits, labels), (1, 2))
    np.testing.assert_allclose(
        two.pool_logits[:, 1] - two.pool_logits[:, 0], np.log([0.5 / 0.5, 0.9 / 0.1]), atol=1e-12
    )
    np.testing.assert_array_equal(two.test_labels, [0, 1])


def test_a_skewed_set_has_fewer_of_each_class():
    labels = np.repeat(np.arange(4), 2_000)
    kept = skewed(Scores(np.zeros((8_000, 4)), labels, np.zeros((8_000, 4)), labels))
    counts = np.bincount(kept.test_labels)
    np.testing.assert_allclose(counts / counts[0], 0.7 ** np.arange(4), rtol=0.1)


def test_made_up_sets_have_the_shares_that_they_are_asked_for():
    scores = made_up("naive Bayes", (0.6, 0.3), 1.0)
    assert scores.classes == 3
    np.testing.assert_allclose(np.bincount(scores.test_labels) / len(scores.test_labels), [0.6, 0.3, 0.1], atol=0.03)


def test_costs_are_of_errors_only_and_there_are_at_least_twenty_cases():
    for name, classes in (("two", 2), ("ten", 10)):
        for costs in costs_of(name, classes).values():
            assert not np.diag(costs).any()
            assert costs[~np.eye(classes, dtype=bool)].min() > 0
    assert 2 * len(tasks(1, published=False)) >= 20
    assert len(tasks(2, published=True)) == 2 * len(SETS)


def test_a_task_measures_every_rule(monkeypatch):
    monkeypatch.setattr(measure, "AUTO_DRAWS", 0)
    monkeypatch.setattr(measure, "LABELLED", 200)
    found = CostsExperiment().measure(Task("naive Bayes, 5 % positive", 0), ())
    methods = {one.method for one in found if one.asked == "a miss costs 10"}
    assert methods == {"argmax", *report.PLUG_INS, "tuned threshold", report.ON_SOFTMAX}
    assert {one.asked for one in found if one.is_metric} == {"balanced_accuracy", "macro_f1"}


def test_a_cost_is_compared_with_the_best_rule_of_the_same_draws():
    found = [
        outcome("dear", "plug-in, softmax", 0.5),
        outcome("dear", "tuned class weights", 0.4),
        outcome("dear", "tuned class weights", 0.2, draw=1),
        outcome("dear", "plug-in, softmax", 0.5, draw=1),
        outcome("dear", report.ON_SOFTMAX, 0.39),
        outcome("dear", report.ON_SOFTMAX, 0.3, draw=1),
        outcome("dear", report.ON_AUTO, 0.44),
        outcome("macro_f1", report.ON_SOFTMAX, 0.8, worse=0.001),
    ]
    (case,) = report.cases(found, metrics=False)
    assert case.against_best(report.ON_SOFTMAX) == pytest.approx(0.345 / 0.3)
    assert case.against_best(report.ON_AUTO) == pytest.approx(1.1)
    lines = report.verdict(found).splitlines()
    assert "Not kept: 0 of 1 cases are; not digits: dear (1.100)" in lines[0]
    counts = "the plug-in rule in 0 of 1 cases, with a temperature in 0 of 0 cases, tuned rules in 1 of 1 cases."
    assert lines[2].endswith(counts)
    assert "Not kept: 1 of 1 fits are: digits (macro_f1, draw 0)" in lines[3]


def test_the_committed_results_are_whole_and_their_tables_those_of_the_outcomes():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    draws = len({one.draw for one in outcomes})
    assert {one.key for one in outcomes} == {task.key for task in tasks(draws, published=True)}
    assert {one.scores for one in outcomes} >= set(PUBLISHED)
    for name, made in (
        ("costs", report.cost_table),
        ("metrics", report.metric_table),
        ("verdict", report.verdict),
    ):
        assert (RESULTS / f"{name}.md").read_text() == made(outcomes), name


def test_metrics_are_never_significantly_worse_beyond_chance():
    judged = [one for one in read_records(Outcome, RESULTS / "outcomes.csv") if not np.isnan(one.worse_p_value)]
    assert len(judged) > 50
    assert sum(one.worse_p_value < 0.025 for one in judged) <= 0.025 * len(judged)
