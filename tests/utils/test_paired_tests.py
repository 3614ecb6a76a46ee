"""Two classifiers on the same samples: wins and losses, their test, interval and power."""

import numpy as np
import pytest
from scipy.stats import binom

from aftermax._utils.paired_tests import (
    exact_mcnemar,
    gain_interval,
    one_sided_mcnemar,
    paired_p_value,
    relative_gain,
    samples_to_prove,
    weighted_gain,
)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (1, 9), (40, 22), (300, 200)])
def test_mcnemar_is_twice_the_binomial_tail(wins, losses):
    tail = binom.cdf(min(wins, losses), wins + losses, 0.5)
    assert exact_mcnemar(wins, losses) == pytest.approx(min(1.0, 2 * tail))


def test_the_gain_is_the_share_of_errors_gone():
    assert relative_gain(30, 10, 100) == 0.2
    assert relative_gain(0, 10, 100) == -0.1
    assert relative_gain(0, 0, 0) == 0.0


def test_the_interval_is_that_of_resampling_twice():
    rng = np.random.default_rng(0)
    wins, losses, errors, n_samples = 30, 12, 90, 400
    kind = np.repeat([0, 1, 2, 3], [wins, losses, errors - wins, n_samples - errors - losses])
    gains = []
    for _ in range(4000):
        drawn = rng.choice(rng.choice(kind, size=n_samples), size=n_samples)
        gains.append(((drawn == 0).sum() - (drawn == 1).sum()) / ((drawn == 0) | (drawn == 2)).sum())
    expected = np.quantile(gains, [0.025, 0.975])
    np.testing.assert_allclose(gain_interval(wins, losses, errors, n_samples, rng), expected, atol=0.02)


def test_the_interval_covers_the_gain_on_new_samples_as_often_as_it_says():
    rng = np.random.default_rng(1)
    chances = np.array([0.06, 0.03, 0.14, 0.77])
    covered = 0
    for old, new in rng.multinomial(1000, chances, size=(400, 2)):
        low, high = gain_interval(old[0], old[1], old[0] + old[2], 1000, rng)
        covered += low <= relative_gain(new[0], new[1], new[0] + new[2]) <= high
    assert 0.92 < covered / 400 < 0.98


def test_without_errors_or_changes_the_interval_is_a_point():
    rng = np.random.default_rng(0)
    assert gain_interval(0, 0, 0, 50, rng) == (0.0, 0.0)
    assert gain_interval(0, 0, 20, 50, rng) == (0.0, 0.0)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (5, 5), (9, 1), (1, 9), (40, 22)])
def test_the_one_sided_test_is_the_binomial_tail(wins, losses):
    tail = binom.sf(wins - 1, wins + losses, 0.5) if wins + losses else 1.0
    assert one_sided_mcnemar(wins, losses) == pytest.approx(tail)


def test_with_equal_weights_the_weighted_gain_is_the_gain():
    rng = np.random.default_rng(0)
    before, after = rng.random(2000) < 0.7, rng.random(2000) < 0.8
    gain, (low, high) = weighted_gain(before, after, np.full(2000, 3.0))
    wins, losses, errors = (int(which.sum()) for which in (after & ~before, before & ~after, ~before))
    assert gain == pytest.approx(relative_gain(wins, losses, errors))
    drawn = gain_interval(wins, losses, errors, 2000, rng)
    np.testing.assert_allclose((low, high), drawn, atol=0.02)


def test_a_weighted_gain_over_no_errors_is_counted_in_samples():
    before, after = np.ones(4, dtype=bool), np.array([True, True, True, False])
    gain, _ = weighted_gain(before, after, np.array([1.0, 2.0, 1.0, 4.0]))
    assert gain == -2.0


def test_differences_of_no_more_than_rounding_prove_nothing():
    assert paired_p_value(np.zeros(50), np.full(50, 1e-17) * np.arange(50), np.ones(50)) == 1.0


# ---- power -----------------------------------------------------------------------------------------------------------


def exact_p_values(wins, losses):
    return np.minimum(2 * binom.cdf(np.minimum(wins, losses), wins + losses, 0.5), 1.0)


@pytest.mark.parametrize(
    ("wins", "losses", "n_samples"),
    [(30, 20, 1000), (50, 10, 1000), (8, 4, 100), (12, 3, 400), (3, 2, 500), (6, 0, 300)],
)
def test_the_sample_size_has_a_power_of_80_percent(wins, losses, n_samples):
    needed = samples_to_prove(wins, losses, n_samples)
    draws = np.random.default_rng(0).multinomial(
        needed, [wins / n_samples, losses / n_samples, 1 - (wins + losses) / n_samples], 20_000
    )
    proven = (exact_p_values(draws[:, 0], draws[:, 1]) < 0.05) & (draws[:, 0] > draws[:, 1])
    assert 0.76 < proven.mean() < 0.84


def test_a_gain_that_is_not_significant_needs_more_samples():
    counts = [(wins, losses) for wins in range(1, 40) for losses in range(wins)]
    needed = [samples_to_prove(*pair, 100) for pair in counts if exact_mcnemar(*pair) >= 0.05]
    assert len(needed) > 100
    assert min(needed) > 100


def test_no_gain_has_no_sample_size():
    assert samples_to_prove(5, 5, 100) is None
    assert samples_to_prove(0, 5, 100) is None
    assert samples_to_prove(5, 0, 5) == 6


def test_improvement_in_errors_and_in_log_loss_count_together():
    rng = np.random.default_rng(0)
    errors = np.where(np.arange(200) < 5, 1.0, 0.0)
    losses = rng.normal(0.1, 1.0, size=200)
    together = paired_p_value(errors, losses, np.ones(200))
    assert together < paired_p_value(errors, np.zeros(200), np.ones(200))
    assert together < paired_p_value(np.zeros(200), losses, np.ones(200))
    assert paired_p_value(-errors, -losses, np.ones(200)) > 0.95
