"""Stacking: temperature, biases, weights."""

import numpy as np
import pytest
from scipy.special import log_softmax

from aftermax._residual.stacking import Stacking, fit_stacking
from helpers.correction_samples import samples_of


def losses_of(scores, codes):
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes]


def test_with_logits_alone_stacking_is_temperature_scaling():
    samples = samples_of(n_samples=4000)
    found, _ = fit_stacking([samples.logits], samples.codes, samples.weights, biases=False)
    steps = np.linspace(0.1, 3.0, 2_000)
    best = min(steps, key=lambda step: losses_of(step * samples.logits, samples.codes).mean())
    assert found.weights[0] == pytest.approx(best, abs=0.01)
    assert not found.biases.any()


def test_biases_move_towards_a_shift_of_the_classes_and_are_shrunk_where_samples_are_few():
    shift = np.array([1.0, 0.0, -1.0, 0.0])
    sizes = []
    for n_samples, closeness in ((4000, 0.1), (60, 0.8)):
        rng = np.random.default_rng(1)
        scores = 2 * rng.normal(size=(n_samples, 4))
        codes = (scores + shift + rng.gumbel(size=scores.shape)).argmax(axis=1)  # so that softmax of the sum is right
        found, _ = fit_stacking([scores], codes, np.ones(n_samples))
        np.testing.assert_allclose(found.biases - found.biases.mean(), shift, atol=closeness)
        sizes.append(np.square(found.biases).sum())
    assert sizes[1] < np.square(shift).sum()


def test_noise_gets_hardly_any_weight_and_no_weight_is_negative():
    samples = samples_of()
    noise = np.random.default_rng(0).normal(size=samples.logits.shape)
    found, _ = fit_stacking([samples.logits, noise, -samples.logits], samples.codes, samples.weights)
    assert found.weights[0] > 0
    assert (found.weights >= 0).all()
    assert found.weights[1] < 0.05
    assert found.weights[2] == 0


def test_samples_without_an_error_do_not_give_certainty():
    logits = 3 * np.eye(3)[np.arange(30) % 3]
    found, _ = fit_stacking([logits], np.arange(30) % 3, np.ones(30), biases=False)
    probability = np.exp(log_softmax(found.weights[0] * logits, axis=1)).max()
    assert 0.9 < probability < 0.999


def test_a_weight_of_two_is_as_good_as_two_samples():
    samples = samples_of(n_samples=80)
    twice = np.where(np.arange(80) < 30, 2.0, 1.0)
    indices = np.concatenate([np.arange(80), np.arange(30)])
    weighted, _ = fit_stacking([samples.logits], samples.codes, twice, biases=False)
    repeated, _ = fit_stacking([samples.logits[indices]], samples.codes[indices], np.ones(110), biases=False)
    assert weighted.weights[0] == pytest.approx(repeated.weights[0], rel=0.02)  # smoothing knows the number of samples


def test_base_scores_without_weight_are_not_used():
    found = Stacking(np.array([2.0, 0.0]), np.array([0.0, 1.0])).scores([np.ones((2, 2)), np.full((2, 2), np.nan)])
    np.testing.assert_array_equal(found, [[2.0, 3.0], [2.0, 3.0]])
