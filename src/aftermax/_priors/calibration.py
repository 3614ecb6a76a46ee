"""Bias-corrected temperature scaling: one slope and a bias for each class, fitted to out-of-fold probabilities.

Without the biases the mean probability of a class is not its share, and what is told of a new world is wrong by that.

References
----------
A. Alexandari, A. Kundaje, A. Shrikumar, "Maximum likelihood with bias-corrected calibration is hard-to-beat at label
shift adaptation", ICML 2020.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import MIN_PROBABILITY, log_losses, softmax

Numbers = NDArray[np.float64]

SLOPE_DEVIATION = 0.5  # standard deviations of the normal priors: of the slope around 1,
BIAS_DEVIATION = 0.3  # and of the biases around 0
MIN_SLOPE = 0.05
MOST_STEPS, TOLERANCE = 50, 1e-9  # of Newton's method


class Calibration(NamedTuple):
    """Calibrated probabilities are the softmax of slope * log-probabilities + biases."""

    slope: float
    biases: Numbers

    def scores(self, probabilities: Numbers) -> Numbers:
        """The scores whose softmax is the calibrated probabilities."""
        return np.asarray(self.slope * log_probabilities(probabilities) + self.biases)

    def __call__(self, probabilities: Numbers) -> Numbers:
        """Calibrated probabilities."""
        return softmax(self.scores(probabilities))


def log_probabilities(probabilities: Numbers) -> Numbers:
    """Logarithms that are finite."""
    return np.asarray(np.log(np.maximum(probabilities, MIN_PROBABILITY)))


class FittedCalibration(NamedTuple):
    """A calibration, and what a small change of the samples' weights does to it."""

    calibration: Calibration
    influences: Numbers  # of each sample, with its weight, on the slope (first column) and the biases

    def reweighted(self, times: Numbers) -> Calibration:
        """The calibration if each sample counted so many times: one step of Newton's method."""
        changed = np.array([self.calibration.slope, *self.calibration.biases]) + (times - 1) @ self.influences
        return Calibration(max(float(changed[0]), MIN_SLOPE), changed[1:])


def fit_calibration(probabilities: Numbers, codes: NDArray[np.int64], weights: Numbers) -> FittedCalibration:
    """Fit by penalised maximum likelihood, with Newton's method.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Out-of-fold.
    codes : ndarray of shape (n_samples,)
        The true classes.
    weights : ndarray of shape (n_samples,)
        Weights; their mean should be 1, as they are counted like samples against the prior.
    """
    logs = log_probabilities(probabilities)
    found, loss = np.concatenate([[1.0], np.zeros(logs.shape[1])]), np.inf
    for _ in range(MOST_STEPS):
        gradients, hessian = _derivatives(logs, codes, weights, found)
        step = np.linalg.solve(hessian, gradients.sum(axis=0) + _penalty_slope(found))
        before, loss = loss, _loss(logs, codes, weights, found)
        if before - loss < TOLERANCE * len(codes):
            break
        found = _shortened(logs, codes, weights, found, step, loss)
    gradients, hessian = _derivatives(logs, codes, weights, found)
    return FittedCalibration(Calibration(float(found[0]), found[1:]), -np.linalg.solve(hessian, gradients.T).T)


def _derivatives(
    logs: Numbers, codes: NDArray[np.int64], weights: Numbers, found: Numbers
) -> tuple[Numbers, Numbers]:
    """The gradient of each sample's weighted log loss, and the Hessian of the penalised sum."""
    probabilities = softmax(found[0] * logs + found[1:])
    weighted = probabilities * weights[:, None]
    residuals = weighted.copy()
    residuals[np.arange(len(codes)), codes] -= weights
    gradients = np.column_stack([(residuals * logs).sum(axis=1), residuals])
    centered = logs - (probabilities * logs).sum(axis=1, keepdims=True)
    hessian = np.diag(_precisions(logs.shape[1]))
    hessian[0, 0] += (weighted * centered * logs).sum()
    hessian[0, 1:] += (weighted * centered).sum(axis=0)
    hessian[1:, 0] = hessian[0, 1:]
    hessian[1:, 1:] += np.diag(weighted.sum(axis=0)) - weighted.T @ probabilities
    return gradients, hessian


def _precisions(n_classes: int) -> Numbers:
    return np.array([SLOPE_DEVIATION**-2.0] + [BIAS_DEVIATION**-2.0] * n_classes)


def _penalty_slope(found: Numbers) -> Numbers:
    """The gradient of the penalty."""
    return np.asarray(_precisions(len(found) - 1) * (found - np.eye(len(found))[0]))


def _loss(logs: Numbers, codes: NDArray[np.int64], weights: Numbers, found: Numbers) -> float:
    penalty = _precisions(logs.shape[1]) @ np.square(found - np.eye(len(found))[0]) / 2
    return float(weights @ log_losses(found[0] * logs + found[1:], codes) + penalty)


def _shortened(
    logs: Numbers, codes: NDArray[np.int64], weights: Numbers, found: Numbers, step: Numbers, loss: float
) -> Numbers:
    """A step of Newton's method, halved until the loss is no larger."""
    for halvings in range(20):
        shorter = found - step / 2**halvings
        if shorter[0] >= MIN_SLOPE and _loss(logs, codes, weights, shorter) <= loss:
            return np.asarray(shorter)
    return found
