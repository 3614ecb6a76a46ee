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

SLOPE_DEVIATION = 0.5  # of the normal prior of the slope, around 1
BIAS_DEVIATION, LEAST_DEVIATION, ROUNDS = 0.3, 0.03, 10  # of that of the biases, around 0: fitted in so many rounds
MIN_SLOPE = 0.05
MOST_STEPS, TOLERANCE = 50, 1e-9  # of Newton's method
ENOUGH = 0.01  # relative change of the deviation


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
    """A calibration, and what it would be with other samples."""

    calibration: Calibration
    influences: Numbers  # of each sample, with its weight, on the slope (first column) and the biases
    prior_influences: Numbers  # those of the prior, by parameter, for each of its standard deviations

    def reweighted(self, times: Numbers, prior_draw: Numbers) -> Calibration:
        """The calibration if each sample counted so many times, and the prior were centered elsewhere.

        With exponential and normal random numbers it is a draw from the posterior (a Bayesian bootstrap), by one step
        of Newton's method.
        """
        found = np.array([self.calibration.slope, *self.calibration.biases])
        found += (times - 1) @ self.influences + prior_draw @ self.prior_influences
        return Calibration(max(float(found[0]), MIN_SLOPE), found[1:])


class _Problem(NamedTuple):
    """Penalised maximum likelihood: the parameters are the slope and the biases."""

    logs: Numbers
    codes: NDArray[np.int64]
    weights: Numbers

    def loss(self, found: Numbers, precisions: Numbers) -> float:
        """The weighted sum of log losses, and the penalty."""
        losses = log_losses(found[0] * self.logs + found[1:], self.codes)
        return float(self.weights @ losses + precisions @ np.square(_from_center(found)) / 2)

    def derivatives(self, found: Numbers, precisions: Numbers) -> tuple[Numbers, Numbers]:
        """The gradient of each sample's weighted log loss, and the Hessian of the penalised sum."""
        probabilities = softmax(found[0] * self.logs + found[1:])
        weighted = probabilities * self.weights[:, None]
        residuals = weighted.copy()
        residuals[np.arange(len(self.codes)), self.codes] -= self.weights
        gradients = np.column_stack([(residuals * self.logs).sum(axis=1), residuals])
        centered = self.logs - (probabilities * self.logs).sum(axis=1, keepdims=True)
        hessian = np.diag(precisions)
        hessian[0, 0] += (weighted * centered * self.logs).sum()
        hessian[0, 1:] += (weighted * centered).sum(axis=0)
        hessian[1:, 0] = hessian[0, 1:]
        hessian[1:, 1:] += np.diag(weighted.sum(axis=0)) - weighted.T @ probabilities
        return gradients, hessian

    def newton(self, found: Numbers, precisions: Numbers) -> Numbers:
        """The minimum, by Newton's method with steps that are halved until they go down."""
        loss = self.loss(found, precisions)
        for _ in range(MOST_STEPS):
            gradients, hessian = self.derivatives(found, precisions)
            step = np.linalg.solve(hessian, gradients.sum(axis=0) + precisions * _from_center(found))
            before = loss
            for halvings in range(20):
                shorter = found - step / 2**halvings
                if shorter[0] >= MIN_SLOPE and self.loss(shorter, precisions) < loss:
                    found, loss = shorter, self.loss(shorter, precisions)
                    break
            if before - loss < TOLERANCE * len(self.codes):
                break
        return found


def fit_calibration(probabilities: Numbers, codes: NDArray[np.int64], weights: Numbers) -> FittedCalibration:
    """Fit by penalised maximum likelihood. How far the biases are shrunk is fitted, too (empirical Bayes).

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
        Out-of-fold.
    codes : ndarray of shape (n_samples,)
        The true classes.
    weights : ndarray of shape (n_samples,)
        Weights; their mean should be 1, as they are counted like samples against the prior.
    """
    problem = _Problem(log_probabilities(probabilities), codes, weights)
    n_classes = probabilities.shape[1]
    found, deviation = np.concatenate([[1.0], np.zeros(n_classes)]), BIAS_DEVIATION
    for _ in range(ROUNDS):
        precisions = np.array([SLOPE_DEVIATION**-2.0] + [deviation**-2.0] * n_classes)
        found = problem.newton(found, precisions)
        gradients, hessian = problem.derivatives(found, precisions)
        posterior = np.linalg.inv(hessian)
        spread = np.sqrt((np.square(found[1:]) + np.diag(posterior)[1:]).mean())
        before, deviation = deviation, max(float(spread), LEAST_DEVIATION)
        if abs(deviation / before - 1) < ENOUGH:
            break
    calibration = Calibration(float(found[0]), found[1:])
    return FittedCalibration(calibration, -gradients @ posterior, np.sqrt(precisions)[:, None] * posterior)


def _from_center(found: Numbers) -> Numbers:
    """How far the parameters are from the center of their prior: slope 1 and biases 0."""
    return np.asarray(found - np.eye(len(found))[0])
