"""Expectation-maximisation finds the class shares, for several ways to count the samples at once."""

import numpy as np

from aftermax._priors.em import class_shares
from aftermax._utils.softmax import softmax
from helpers.label_shift import world

TRUE = np.array([0.7, 0.25, 0.05])
ASSUMED = np.full(3, 1 / 3)


def likelihoods(n_samples=5_000, seed=0):
    return softmax(world(TRUE, n_samples, seed)[0]) / ASSUMED


def test_shares_are_found():
    found = class_shares(likelihoods(), ASSUMED, np.ones((5_000, 1)), np.ones(3, dtype=bool))
    np.testing.assert_allclose(found[:, 0], TRUE, atol=0.03)


def test_the_likelihood_is_at_its_maximum():
    density, rng = likelihoods(), np.random.default_rng(0)
    found = class_shares(density, ASSUMED, np.ones((5_000, 1)), np.ones(3, dtype=bool))[:, 0]
    best = np.log(density @ found).sum()
    for _ in range(50):
        other = np.maximum(found + rng.normal(size=3) * 0.01, 1e-6)
        assert np.log(density @ (other / other.sum())).sum() < best + 1e-3


def test_each_way_to_count_has_its_own_shares():
    density = likelihoods()
    counts = np.column_stack([np.ones(5_000), np.arange(5_000) < 2_500])
    both = class_shares(density, ASSUMED, counts.astype(float), np.ones(3, dtype=bool))
    half = class_shares(density[:2_500], ASSUMED, np.ones((2_500, 1)), np.ones(3, dtype=bool))
    np.testing.assert_allclose(both[:, 1:], half, atol=1e-3)
    np.testing.assert_allclose(both.sum(axis=0), 1.0)


def test_classes_that_cannot_move_keep_their_ratio():
    movable = np.array([True, False, False])
    assumed = np.array([0.4, 0.4, 0.2])
    found = class_shares(likelihoods(), assumed, np.ones((5_000, 1)), movable)[:, 0]
    assert abs(found[1] / found[2] - 2.0) < 1e-9
