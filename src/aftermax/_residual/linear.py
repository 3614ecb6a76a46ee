"""The linear correction: multinomial logistic regression that starts from the logits and is shrunk towards them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import Samples
from aftermax._utils.multinomial import Scores
from aftermax._utils.softmax import log_losses, softmax

PENALTIES = tuple(10.0**power for power in range(-1, -6, -1))  # the strongest first
BIAS_PENALTY = 1.0  # of the squared biases, divided by the number of samples
ITERATIONS = 12
LARGEST_IN_SINGLE = 1e25
LEAST_CURVATURE = 1e-6
MAX_SAMPLES = 10_000


class LinearCorrection(NamedTuple):
    """z @ coefficients: log-odds by logistic regression. The biases are those of the stacking."""

    coefficients: NDArray[np.float64]  # (d, K)


def out_of_fold_linear(
    projected: NDArray[np.float64], samples: Samples, logits: Scores
) -> tuple[LinearCorrection, Scores]:
    """The correction fitted on the samples, and out-of-fold scores of each, by five folds.

    The penalty is the last one, from the strongest on, that lowers the out-of-fold log loss. Of more than 10,000
    samples it is fitted on a part, and the others are out-of-fold without further ado.
    """
    step = -(-len(logits) // MAX_SAMPLES)
    some = slice(None, None, step)
    coefficients, out_of_fold = np.zeros((projected.shape[1], logits.shape[1])), np.zeros(logits[some].shape)
    folds = np.unique(samples.inner_folds()[some], return_inverse=True)[1]
    if folds.any():  # else there is no other fold to be scored by
        regressions = _Regressions(projected[some], samples.codes[some], samples.weights[some], logits[some], folds)
        least = np.inf
        for penalty in PENALTIES:
            regressions.solve(penalty)
            scores, loss = regressions.held_out()
            if loss >= least:
                break
            coefficients, out_of_fold, least = regressions.coefficients, scores, loss
    everywhere = projected @ coefficients
    everywhere[some] = out_of_fold
    return LinearCorrection(coefficients), everywhere


class _Regressions:
    """Regressions on all samples but those of each fold, and on all samples, solved side by side.

    Each has scores = slope * logits + biases + z @ coefficients, and minimises the mean log loss
    + penalty / 2 * |coefficients|^2 + BIAS_PENALTY / n * |biases|^2. Their sum is minimised by L-BFGS. Parameters are
    measured in units of 1 / sqrt(curvature) at the start: z are principal components, so the curvature is nearly
    diagonal and a few iterations suffice. Scores and their softmax are in single precision, sums of losses in double.
    """

    def __init__(
        self,
        projected: NDArray[np.float64],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        logits: Scores,
        folds: NDArray[np.int64],
    ) -> None:
        self.codes, self.weights, self.folds = codes, weights, folds
        self.projected, self.logits = _in_single(projected.T), _in_single(logits.T)
        (n_samples, n_classes), self.count = logits.shape, folds.max() + 2
        self.shares = np.repeat(weights[None], self.count, axis=0)  # the last regression is on all samples
        self.shares[folds, np.arange(n_samples)] = 0.0
        self.shares /= self.shares.sum(axis=1, keepdims=True)
        probabilities = softmax(logits)
        curvature = weights @ (probabilities * (1 - probabilities)) / n_samples + LEAST_CURVATURE
        self.curvatures = (
            np.square(logits).mean() * curvature.mean() * n_classes + LEAST_CURVATURE,
            curvature[:, None],
            curvature[:, None] * np.square(projected).mean(axis=0),
        )
        self.slopes = np.ones(self.count)
        self.biases = np.zeros((n_classes, self.count))
        self.maps = np.zeros((n_classes, self.count, projected.shape[1]))

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The linear map (d, K) of the regression on all samples."""
        return self.maps[:, -1].T.copy()

    def solve(self, penalty: float) -> None:
        """Continue from where the last fit ended."""
        from scipy.optimize import minimize

        bias_penalty = BIAS_PENALTY / len(self.codes)
        of_slope, of_bias, of_map = self.curvatures
        units = [
            np.full(self.count, of_slope**-0.5),
            np.broadcast_to((of_bias + 2 * bias_penalty) ** -0.5, self.biases.shape).ravel(),
            np.broadcast_to((of_map + penalty)[:, None] ** -0.5, self.maps.shape).ravel(),
        ]
        unit = np.concatenate(units)
        start = np.concatenate([self.slopes, self.biases.ravel(), self.maps.ravel()])

        def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            total, gradient = self._loss(values * unit, penalty, bias_penalty)
            return total, gradient * unit

        options = {"maxiter": ITERATIONS, "ftol": 1e-5, "gtol": 1e-5}
        found = minimize(loss, start / unit, jac=True, method="L-BFGS-B", options=options)
        self.slopes, self.biases, self.maps = self._unpacked(found.x * unit)

    def held_out(self) -> tuple[Scores, float]:
        """z @ coefficients of the regression without the sample's fold, and the summed log loss with these."""
        own = np.empty(self.logits.T.shape)
        for fold in range(self.count - 1):
            some = self.folds == fold
            own[some] = (self.maps[:, fold] @ self.projected[:, some]).T
        scores = self.slopes[self.folds, None] * self.logits.T + self.biases.T[self.folds] + own
        return own, float(self.weights @ log_losses(scores, self.codes))

    def _unpacked(
        self, values: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Slopes, biases and linear maps of all regressions."""
        slopes, biases, maps = np.split(values, [self.count, self.count + self.biases.size])
        return slopes, biases.reshape(self.biases.shape), maps.reshape(self.maps.shape)

    def _loss(
        self, values: NDArray[np.float64], penalty: float, bias_penalty: float
    ) -> tuple[float, NDArray[np.float64]]:
        """The sum of all regressions' losses, and its gradient. Scores are of shape (K, regressions, n_samples)."""
        slopes, biases, maps = self._unpacked(values)
        flat = maps.reshape(self.biases.size, -1)
        scores = (flat.astype(np.float32) @ self.projected).reshape(*biases.shape, -1)
        scores += slopes.astype(np.float32)[:, None] * self.logits[:, None]
        scores += biases.astype(np.float32)[:, :, None]
        scores -= scores.max(axis=0)
        samples = np.arange(len(self.codes))
        agreement = scores[self.codes, :, samples].T.astype(np.float64)
        np.exp(scores, out=scores)
        totals = scores.sum(axis=0)
        loss = float(np.vdot(self.shares, np.log(totals) - agreement))
        loss += penalty / 2 * float(np.vdot(maps, maps)) + bias_penalty * float(np.vdot(biases, biases))
        scores *= (self.shares / totals).astype(np.float32)
        scores[self.codes, :, samples] -= self.shares.T.astype(np.float32)
        by_score = scores.reshape(self.biases.size, -1)
        gradient = np.concatenate(
            [
                np.einsum("kbn,kn->b", scores, self.logits),
                (by_score.sum(axis=1) + 2 * bias_penalty * biases.ravel()),
                (by_score @ self.projected.T + penalty * flat).ravel(),
            ]
        )
        return loss, gradient


def _in_single(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """In single precision, as large as that may be without an overflow in what is computed of it."""
    return np.clip(values, -LARGEST_IN_SINGLE, LARGEST_IN_SINGLE).astype(np.float32)
