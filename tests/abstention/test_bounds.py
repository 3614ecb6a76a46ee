"""Proofs that errors are rare: exact for samples, conservative for groups."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from aftermax._abstention.bounds import (
    binomial_p_values,
    binomial_upper_bound,
    fewest_samples,
    group_p_value,
    group_upper_bound,
)


@pytest.mark.parametrize(("errors", "n_samples"), [(0, 1), (0, 149), (3, 400), (40, 2_000), (5, 5)])
def test_the_bound_is_that_of_clopper_and_pearson(errors, n_samples):
    expected = binomtest(errors, n_samples, alternative="less").proportion_ci(0.95, method="exact").high
    assert binomial_upper_bound(errors, n_samples, 0.95) == pytest.approx(expected)


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_p_values_are_binomial_tails(rate):
    errors, sizes = np.array([0, 2, 7, 10]), np.array([10, 50, 400, 10])
    np.testing.assert_allclose(binomial_p_values(errors, sizes, rate), binom.cdf(errors, sizes, rate))


def test_a_bound_and_its_test_agree():
    bound = binomial_upper_bound(4, 300, 0.9)
    assert binomial_p_values(4, 300, bound) == pytest.approx(0.1)
    weights = np.random.default_rng(0).uniform(1, 8, size=80)
    bound = group_upper_bound(9.0, weights, 0.9)
    assert group_p_value(9.0, weights, bound) == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("errors", [0, 1, 2, 7])
def test_a_group_of_one_sample_proves_no_more_than_a_sample(errors):
    assert group_p_value(float(errors), np.ones(300), 0.05) >= binom.cdf(errors, 300, 0.05) * (1 - 1e-9)


def test_the_size_of_groups_adds_no_evidence():
    assert group_p_value(12.0, np.full(100, 6.0), 0.05) == pytest.approx(group_p_value(2.0, np.ones(100), 0.05))


def test_the_test_of_groups_holds_where_groups_are_wrong_as_a_whole():
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 9, size=(2_000, 120)).astype(float)
    errors = (sizes * (rng.random(sizes.shape) < 0.05)).sum(axis=1)
    p_values = [group_p_value(one, weights, 0.05) for one, weights in zip(errors, sizes, strict=True)]
    assert 0.001 < np.mean(np.array(p_values) <= 0.05) <= 0.05


def test_errors_beyond_the_rate_prove_nothing():
    assert group_p_value(50.0, np.ones(100), 0.05) == 1.0
    assert binomial_upper_bound(100, 100, 0.95) == 1.0


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("errors", [0, 1, 5])
def test_the_fewest_samples_are_a_proof_and_one_less_is_not(errors, grouped):
    size = fewest_samples(0.03, 0.95, errors, grouped=grouped)

    def p_value(n_samples):
        return group_p_value(errors, np.ones(n_samples), 0.03) if grouped else binom.cdf(errors, n_samples, 0.03)

    assert p_value(size) <= 0.05 < p_value(size - 1)


def test_two_percent_needs_149_samples_without_an_error():
    assert fewest_samples(0.02, 0.95) == 149
