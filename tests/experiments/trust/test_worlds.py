"""Simulated worlds are what their names say."""

import numpy as np
import pytest

from experiments.trust.measure import QUICK_WORLDS, WORLDS, TrustExperiment, tasks
from experiments.trust.worlds import GAIN_KINDS, NULL_KINDS, World, draw


def error_of(drawn, predicted):
    truth = drawn.test_truth / drawn.test_truth.sum()
    return 1 - truth[np.arange(len(truth)), predicted].sum()


@pytest.mark.parametrize("world", [World("calibrated", 3, 20), World("skewed classes", 10, 5)])
def test_a_calibrated_model_has_the_error_rate_of_its_world(world):
    drawn = draw(world, 1000, 0)
    assert error_of(drawn, drawn.test_logits.argmax(axis=1)) == pytest.approx(world.error / 100, abs=0.01)
    assert np.mean(drawn.logits.argmax(axis=1) != drawn.labels) == pytest.approx(world.error / 100, abs=0.04)


@pytest.mark.parametrize("kind", NULL_KINDS)
def test_without_a_gain_nothing_is_better_than_the_largest_logit(kind):
    drawn = draw(World(kind, 2 if kind == "two percent positive" else 3, 20), 120, 1)
    best = drawn.test_truth.argmax(axis=1)
    assert error_of(drawn, drawn.test_logits.argmax(axis=1)) == pytest.approx(error_of(drawn, best), abs=1e-12)


@pytest.mark.parametrize("kind", GAIN_KINDS)
def test_with_a_gain_something_is(kind):
    drawn = draw(World(kind, 10, 10), 120, 1)
    best = drawn.test_truth.argmax(axis=1)
    assert error_of(drawn, best) < 0.95 * error_of(drawn, drawn.test_logits.argmax(axis=1))


def test_every_kind_of_world_is_measured():
    assert {world.kind for world in WORLDS} == {*NULL_KINDS, *GAIN_KINDS}
    assert {world.classes for world in WORLDS} == {2, 3, 10, 100}
    assert {task.samples for task in tasks()} == {100, 400, 2_000}


def test_a_draw_is_the_same_each_time_and_another_is_not():
    first, again, other = (draw(World("mixed", 3, 10), 50, seed) for seed in (0, 0, 1))
    assert (first.logits == again.logits).all()
    assert not (first.logits == other.logits).any()


def test_an_outcome_says_what_was_promised_and_what_is_true(tmp_path):
    task = next(task for task in tasks(quick=True) if task.world == QUICK_WORLDS[1])
    (outcome,) = TrustExperiment().measure(task, ())
    assert outcome.key == task.key
    assert outcome.gain == 0 if outcome.chosen == "softmax" else outcome.gain != 0
    assert outcome.low <= outcome.promised <= outcome.high
