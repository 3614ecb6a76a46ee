"""Two classifiers on the same samples: wins and losses, the tests of a gain, and their power."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, kstest, ttest_1samp

from aftermax._utils.paired_tests import (
    adjusted_p_value,
    exact_mcnemar,
    mean_p_value,
    one_sided_mcnemar,
    relative_gain,
    samples_range,
    samples_to_prove,
    sign_flip_p_value,
)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (1, 9), (40, 22), (300, 200)])
def test_mcnemar_is_twice_the_binomial_tail(wins, losses):
    tail = binom.cdf(min(wins, losses), wins + losses, 0.5)
    assert exact_mcnemar(wins, losses) == pytest.approx(min(1.0, 2 * tail))


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (1, 9), (40, 22)])
def test_the_one_sided_test_is_the_binomial_tail(wins, losses):
    tail = binom.sf(wins - 1, wins + losses, 0.5) if wins + losses else 1.0
    assert one_sided_mcnemar(wins, losses) == pytest.approx(tail)


def test_the_gain_is_the_share_of_errors_gone():
    assert relative_gain(30, 10, 100) == 0.2
    assert relative_gain(0, 10, 100) == -0.1
    assert relative_gain(0, 0, 0) == 0.0


# ---- the sign-flip test ----------------------------------------------------------------------------------------------


def by_brute_force(changes):
    """The share of all signs whose sum is at least the one observed."""
    sums = [np.dot(signs, changes) for signs in product([-1, 1], repeat=len(changes))]
    return np.mean(np.array(sums) >= changes.sum() - 1e-9)


def of_whole_numbers(changes):
    """The exact p-value: the distribution of the sum, one change at a time."""
    chances, middle = np.ones(1), 0
    for size in np.abs(changes[changes != 0]).astype(int):
        chances = np.convolve(chances, np.eye(1, 2 * size + 1)[0] / 2 + np.eye(1, 2 * size + 1, 2 * size)[0] / 2)
        middle += size
    return chances[middle + int(changes.sum()) :].sum()


def test_three_wins_and_no_loss_are_one_in_eight():
    assert sign_flip_p_value(np.array([1.0, 1.0, 1.0])) == 0.125
    assert sign_flip_p_value(np.array([1.0, 0.0, 1.0, 0.0, 1.0])) == 0.125  # samples that do not change tell nothing
    assert sign_flip_p_value(np.array([2.5, 2.5, 2.5])) == 0.125


def test_without_a_change_nothing_is_proven():
    assert sign_flip_p_value(np.zeros(10)) == 1.0
    assert sign_flip_p_value(np.empty(0)) == 1.0


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (5, 5), (9, 1), (1, 9), (40, 22)])
def test_with_changes_of_one_size_it_is_mcnemars_exact_test(wins, losses):
    changes = np.random.default_rng(0).permutation(np.repeat([0.3, -0.3, 0.0], [wins, losses, 17]))
    assert sign_flip_p_value(changes) == one_sided_mcnemar(wins, losses)


@pytest.mark.parametrize("seed", range(20))
def test_of_few_changes_all_signs_are_tried(seed):
    rng = np.random.default_rng(seed)
    changes = rng.normal(0.3, 1.0, size=10) if seed % 2 else rng.integers(-3, 5, size=10).astype(float)
    assert sign_flip_p_value(changes) == pytest.approx(by_brute_force(changes), abs=1e-12)


@pytest.mark.parametrize("n_changes", [15, 25, 60, 300])
@pytest.mark.parametrize("sizes", [[1, 2, 3], [2, 4, 6], [1, 30]])
def test_of_many_groups_the_tail_is_exact(n_changes, sizes):
    """Found here: a saddlepoint approximation takes the sum for continuous, and p-values were too small by a third."""
    rng = np.random.default_rng(n_changes)
    compared = 0
    for _ in range(60):
        upwards = 0.5 + rng.uniform(0, 4 / n_changes**0.5)
        changes = rng.choice(sizes, size=n_changes)
        changes = changes * np.where(rng.random(n_changes) < upwards, 1.0, -1.0)
        exact = of_whole_numbers(changes)
        if 1e-6 < exact < 0.4:
            compared += 1
            assert sign_flip_p_value(changes) == pytest.approx(exact, rel=1e-6)
    assert compared > 10


@pytest.mark.parametrize("weights", [[0.37, 1.9], [0.1, 3.3], [0.2, 0.7, 11.3]])
@pytest.mark.parametrize("upwards", [0.4, 0.5, 0.6, 0.65])
def test_with_weights_of_classes_the_tail_is_that_of_random_signs(weights, upwards):
    rng = np.random.default_rng(0)
    changes = rng.choice(weights, size=60) * np.where(rng.random(60) < upwards, 1.0, -1.0)
    signs = rng.choice([-1.0, 1.0], size=(200_000, 60))
    drawn = np.mean(signs @ np.abs(changes) >= changes.sum() - 1e-9)
    assert sign_flip_p_value(changes) == pytest.approx(drawn, abs=4 * np.sqrt(drawn * (1 - drawn) / 200_000))


@pytest.mark.parametrize("upwards", [0.45, 0.5, 0.55, 0.58])
def test_with_many_different_weights_the_tail_is_that_of_random_signs(upwards):
    rng = np.random.default_rng(0)
    changes = rng.gamma(2.0, size=400) * np.where(rng.random(400) < upwards, 1.0, -1.0)
    signs = rng.choice([-1.0, 1.0], size=(50_000, 400))
    drawn = np.mean(signs @ np.abs(changes) >= changes.sum())
    assert sign_flip_p_value(changes) == pytest.approx(drawn, abs=4 * np.sqrt(drawn * (1 - drawn) / 50_000) + 1e-4)


def test_p_values_do_not_depend_on_the_unit_of_the_weights_or_the_order():
    rng = np.random.default_rng(0)
    for n_changes in (8, 40):
        changes = rng.normal(0.2, 1.0, size=n_changes)
        expected = sign_flip_p_value(changes)
        assert sign_flip_p_value(1e-3 * changes) == pytest.approx(expected, rel=1e-6)
        assert sign_flip_p_value(1e5 * changes) == pytest.approx(expected, rel=1e-6)
        assert sign_flip_p_value(changes[::-1]) == pytest.approx(expected, rel=1e-9)


def test_the_most_extreme_signs_have_the_least_p_value_there_is():
    assert sign_flip_p_value(np.arange(1.0, 31.0)) == 2.0**-30
    assert sign_flip_p_value(-np.arange(1.0, 31.0)) == pytest.approx(1.0)


# ---- the test of several candidates ----------------------------------------------------------------------------------


def test_one_candidate_costs_nothing():
    changes = np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0])[:, None]
    assert adjusted_p_value(changes, 0) == sign_flip_p_value(changes[:, 0])


def test_candidates_that_change_the_same_samples_or_none_cost_nothing():
    one = np.array([1.0] * 6 + [-1.0] * 2)
    same = np.column_stack([one, one, one, np.zeros(8)])
    assert adjusted_p_value(same, 1) == pytest.approx(sign_flip_p_value(one), abs=0.02)
    assert adjusted_p_value(same, 3) == 1.0


def test_it_lies_between_the_candidates_own_p_value_and_bonferronis():
    rng = np.random.default_rng(0)
    for _ in range(30):
        changes = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.7, 0.2], size=(60, 4))
        for chosen in range(4):
            own = sign_flip_p_value(changes[:, chosen])
            assert own <= adjusted_p_value(changes, chosen) <= min(1.0, 4 * own)


def test_it_is_the_share_of_all_signs_whose_best_candidate_is_as_good():
    rng = np.random.default_rng(1)
    changes = rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.4, 0.4], size=(12, 3))
    scale = np.sqrt(np.square(changes).sum(axis=0))
    best = int(np.argmax(changes.sum(axis=0) / scale))
    sums = np.array(list(product([-1.0, 1.0], repeat=12))) @ (changes / scale)
    exact = np.mean(sums.max(axis=1) >= (changes / scale)[:, best].sum() - 1e-9)
    assert adjusted_p_value(changes, best) == pytest.approx(exact, abs=0.02)
    assert exact > sign_flip_p_value(changes[:, best])


def test_the_best_of_many_candidates_raises_no_false_alarms():
    """Ten candidates that gain nothing: the best of them looks proven far more often than its test says it is."""
    rng = np.random.default_rng(2)
    own, adjusted = [], []
    for _ in range(300):
        changes = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=(100, 10))
        scores = changes.sum(axis=0) / np.sqrt(np.square(changes).sum(axis=0))
        best = int(np.argmax(scores))
        own.append(sign_flip_p_value(changes[:, best]))
        adjusted.append(adjusted_p_value(changes, best))
    assert np.mean(np.array(own) < 0.05) > 0.2
    assert np.mean(np.array(adjusted) < 0.05) < 0.08
    assert kstest(adjusted, "uniform").statistic < 0.15


# ---- log loss --------------------------------------------------------------------------------------------------------


def test_the_test_of_the_mean_is_the_paired_t_test():
    changes = np.random.default_rng(0).normal(0.1, 1.0, size=50)
    assert mean_p_value(changes) == pytest.approx(ttest_1samp(changes, 0, alternative="greater").pvalue)
    assert mean_p_value(changes) + mean_p_value(-changes) == pytest.approx(1.0)


def test_differences_of_no_more_than_rounding_prove_nothing():
    assert mean_p_value(1e-17 * np.arange(50)) == 1.0
    assert mean_p_value(np.full(50, 0.1)) == 1.0
    assert mean_p_value(np.ones(1)) == 1.0


# ---- power -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "losses"), [(0.03, 0.02), (0.05, 0.01), (0.08, 0.04), (0.03, 0.0075), (0.006, 0.004), (0.02, 0.0)]
)
def test_the_sample_size_has_a_power_of_80_percent(wins, losses):
    needed = samples_to_prove(wins - losses, wins + losses)
    draws = np.random.default_rng(0).multinomial(needed, [wins, losses, 1 - wins - losses], 20_000)
    proven = binom.sf(draws[:, 0] - 1, draws[:, 0] + draws[:, 1], 0.5) < 0.025
    assert 0.76 < proven.mean() < 0.84


def test_a_gain_that_is_not_significant_needs_more_samples():
    counts = [(wins, losses) for wins in range(1, 40) for losses in range(wins)]
    needed = [samples_to_prove((w - x) / 100, (w + x) / 100) for w, x in counts if one_sided_mcnemar(w, x) >= 0.025]
    assert len(needed) > 100
    assert min(needed) > 100


def test_no_gain_has_no_sample_size():
    assert samples_to_prove(0.0, 0.1) is None
    assert samples_to_prove(-0.05, 0.05) is None
    assert samples_to_prove(1.0, 1.0) == 6


def test_the_range_is_that_of_gains_a_standard_error_away():
    low, high = samples_range(30, 70, 1000)
    error = np.sqrt(70 - 30**2 / 1000)
    assert low == samples_to_prove((30 + error) / 1000, 0.07)
    assert high == samples_to_prove((30 - error) / 1000, 0.07)
    assert low < samples_to_prove(0.03, 0.07) < high


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (5, 5), (2, 9), (30, 25), (55, 46)])
def test_without_a_gain_that_is_more_than_its_error_nothing_is_said(wins, losses):
    assert samples_range(wins - losses, wins + losses, 1000) is None
