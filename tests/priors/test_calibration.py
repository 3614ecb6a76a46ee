"""Bias-corrected temperature scaling: it finds what was done to probabilities, and is careful with few samples."""

import numpy as np

from aftermax._priors.calibration import fit_calibration
from aftermax._utils.softmax import log_losses, softmax
from helpers.label_shift import world

BIASES = np.array([0.8, 0.0, -0.8])


def fitted(n_samples, seed=0, biases=BIASES, temperature=0.5):
    logits, labels = world(np.ones(3), n_samples, seed)
    return fit_calibration(softmax((logits - biases) / temperature), labels, np.ones(n_samples))


def test_a_temperature_and_biases_are_undone():
    slope, biases = fitted(20_000).calibration
    assert abs(slope - 0.5) < 0.02
    np.testing.assert_allclose(biases - biases.mean(), BIASES, atol=0.08)


def test_the_mean_probabilities_are_about_the_class_shares():
    logits, labels = world([0.6, 0.3, 0.1], 5_000, assumed=np.array([0.1, 0.3, 0.6]))
    probabilities = softmax(logits)
    calibrated = fit_calibration(probabilities, labels, np.ones(5_000)).calibration(probabilities)
    shares = np.bincount(labels) / 5_000
    assert np.abs(probabilities.mean(axis=0) - shares).max() > 0.1
    np.testing.assert_allclose(calibrated.mean(axis=0), shares, atol=0.01)


def test_where_nothing_is_to_be_corrected_the_biases_are_shrunk():
    found = [fitted(300, seed, biases=np.zeros(3), temperature=1.0).calibration.biases for seed in range(20)]
    assert np.median(np.abs(found)) < 0.05


def test_the_log_loss_of_new_samples_is_lower():
    calibration = fitted(500).calibration
    logits, labels = world(np.ones(3), 5_000, seed=1)
    probabilities = softmax((logits - BIASES) / 0.5)
    before = log_losses(np.log(np.maximum(probabilities, 1e-12)), labels).mean()
    assert log_losses(calibration.scores(probabilities), labels).mean() < before - 0.02


def test_a_reweighted_calibration_is_about_the_one_that_is_fitted_with_the_weights():
    logits, labels = world(np.ones(3), 2_000)
    probabilities = softmax(logits - BIASES)
    times = np.random.default_rng(0).exponential(size=2_000)
    step = fit_calibration(probabilities, labels, np.ones(2_000)).reweighted(times, np.zeros(4))
    again = fit_calibration(probabilities, labels, times / times.mean()).calibration
    np.testing.assert_allclose(step.biases, again.biases, atol=0.05)
    assert abs(step.slope - again.slope) < 0.03
