"""Paired comparisons: intervals cover the truth, groups count once, and p-values are honest."""

import numpy as np
import pytest

from aftermax.decide.comparison import Judged, better_p_value, interval, standard_error
from aftermax.decide.objectives import METRICS, cost_objective

COSTS = cost_objective(np.array([[0.0, 1.0], [5.0, 0.0]]))
OBJECTIVES = [COSTS, METRICS["balanced_accuracy"], METRICS["macro_f1"]]


def noisy(codes, error, rng):
    return np.where(rng.random(len(codes)) < error, 1 - codes, codes)


def judged_samples(n_samples, rng, groups=None):
    codes = (rng.random(n_samples) < 0.3).astype(np.int64)
    return Judged(codes, np.ones(n_samples), groups, 2)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_intervals_cover_the_true_difference(objective):
    rng = np.random.default_rng(0)
    large = judged_samples(400_000, rng)
    truth = large.value(objective, noisy(large.codes, 0.2, rng)) - large.value(objective, noisy(large.codes, 0.25, rng))
    covered = 0
    for _ in range(30):
        judged = judged_samples(300, rng)
        low, high = interval(objective, judged, noisy(judged.codes, 0.25, rng), noisy(judged.codes, 0.2, rng))
        covered += low <= truth <= high
    assert covered >= 25


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_p_values_of_equally_good_decisions_are_rarely_small(objective):
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(30):
        judged = judged_samples(120, rng)
        small += better_p_value(objective, judged, noisy(judged.codes, 0.2, rng), noisy(judged.codes, 0.2, rng)) < 0.1
    assert small <= 7


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_better_decisions_are_found(objective):
    rng = np.random.default_rng(2)
    judged = judged_samples(600, rng)
    before, after = noisy(judged.codes, 0.3, rng), noisy(judged.codes, 0.1, rng)
    assert better_p_value(objective, judged, before, after) < 0.01
    assert better_p_value(objective, judged, after, before) > 0.9
    assert interval(objective, judged, before, after)[0] > 0


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_groups_of_copies_prove_no_more_than_one_of_each(objective):
    rng = np.random.default_rng(3)
    judged = judged_samples(80, rng)
    before, after = noisy(judged.codes, 0.3, rng), noisy(judged.codes, 0.2, rng)
    copies = Judged(np.repeat(judged.codes, 5), np.ones(400), np.repeat(np.arange(80), 5), 2)
    once = standard_error(objective, judged, before, after)
    assert standard_error(objective, copies, np.repeat(before, 5), np.repeat(after, 5)) == pytest.approx(once)
    many = better_p_value(objective, copies, np.repeat(before, 5), np.repeat(after, 5))
    assert many == pytest.approx(better_p_value(objective, judged, before, after), abs=0.03)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_the_same_decisions_differ_by_nothing(objective):
    judged = judged_samples(50, np.random.default_rng(4))
    assert interval(objective, judged, judged.codes, judged.codes) == (0.0, 0.0)
    assert better_p_value(objective, judged, judged.codes, judged.codes) == 1.0
