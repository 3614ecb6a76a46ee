"""The experiment on abstention: its worlds are what their names say, and its report counts what it says."""

import numpy as np
import pytest

from experiments.abstention import report
from experiments.abstention.measure import SOFTMAX, WORLDS, AbstentionExperiment, Outcome, tasks
from experiments.abstention.worlds import KINDS, World, draw
from experiments.runs.csv_records import read_records
from helpers.samples import ROOT

RESULTS = ROOT / "results" / "abstention"


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_labels_are_drawn_from_the_true_probabilities(world):
    drawn = draw(world, 6_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.truth.sum(axis=1), 1.0)
    shares = np.bincount(drawn.labels, minlength=world.classes) / len(drawn.labels)
    np.testing.assert_allclose(shares, drawn.truth.mean(axis=0), atol=0.05)


def test_a_model_that_knows_the_truth_has_the_error_of_its_world():
    drawn = draw(World("calibrated", 3, 20), 20_000, np.random.default_rng(0))
    assert np.mean(drawn.logits.argmax(axis=1) != drawn.labels) == pytest.approx(0.2, abs=0.01)


def test_rounded_probabilities_are_often_equal_and_patients_have_several_samples():
    rounded = draw(World("rounded", 3, 10), 1_000, np.random.default_rng(0))
    assert len(np.unique(rounded.logits.max(axis=1))) < 20
    patients = draw(World("patients", 3, 10), 600, np.random.default_rng(0))
    assert set(np.bincount(patients.groups)) <= {4, 5, 6, 7, 8}


def test_every_kind_of_world_is_measured_with_every_number_of_samples():
    assert {world.kind for world in WORLDS} == {*KINDS, "patients"}
    assert {world.classes for world in WORLDS} == {2, 3, 10}
    assert {task.samples for task in tasks()} == {100, 400, 2_000}
    assert sum(task.draws for task in tasks() if (task.head, task.samples) == (SOFTMAX, 100)) >= 1_000


def test_an_outcome_is_what_is_promised_and_what_is_true():
    task = tasks(quick=True)[1]
    found = AbstentionExperiment().measure(task, ())
    assert len(found) == 3 * task.draws
    for one in found:
        assert one.key == task.key
        assert one.share <= one.hindsight
        assert one.true_share == pytest.approx(one.share, abs=0.2)
        assert one.broken == (one.true_share > one.best_share)


def outcome(true_error, *, share=0.5, draw=0):
    return Outcome(SOFTMAX, "calibrated", 3, 20, 2_000, 0.05, draw, share, share + 0.1, share, true_error, 0.8)


def test_broken_promises_are_counted_and_shares_are_means():
    found = [outcome(0.04), outcome(0.06, share=0.7, draw=1)]
    line = report.summary_table(found).splitlines()[2]
    assert line == "| SoftmaxClassifier | 2,000 | 5 % | 2 | 50.0 % | 50.0 % | 60.0 % | 70.0 % | 80.0 % |"
    assert "10.0 points below the best that hindsight allows" in report.verdict(found)


def test_the_committed_tables_are_those_of_the_outcomes():
    outcomes = read_records(Outcome, RESULTS / "outcomes.csv")
    assert (RESULTS / "summary.md").read_text() == report.summary_table(outcomes)
    assert (RESULTS / "worlds.md").read_text() == report.world_table(outcomes)
    assert (RESULTS / "verdict.md").read_text() == report.verdict(outcomes)


def test_the_promise_is_kept_in_at_least_95_of_100_runs():
    outcomes = [one for one in read_records(Outcome, RESULTS / "outcomes.csv") if one.head == SOFTMAX]
    for size in (100, 400, 2_000):
        for max_error in (0.02, 0.05, 0.1):
            some = [one for one in outcomes if (one.samples, one.max_error) == (size, max_error)]
            assert len(some) >= 1_000
            assert report.kept(some) >= 0.95
