"""Stacking: non-negative weights for the logits and the corrections, and a bias for each class.

The first base score is always the model's own logits. Its weight is an inverse temperature; with no correction and no
biases this is temperature scaling, and the predictions are softmax's.

References
----------
D. Wolpert, "Stacked generalization", Neural Networks 5, 1992. L. Breiman, "Stacked regressions", Machine Learning 24,
1996 (why the weights should not be negative).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY
from aftermax._utils.multinomial import Scores, platt_smoothing

# How strongly the weights are shrunk towards the logits alone: a correction is expected to add about a third of a unit
# of log-odds. The prior of the biases is estimated from the biases themselves (empirical Bayes), within limits:
# 1 / (2 * prior) is their variance.
CORRECTION_PRIOR = 3.0
BIAS_PRIOR = 1.0
BIAS_PRIORS = (0.5, 200.0)
ROUNDS = 3  # of fitting the biases and estimating their prior
TOLERANCE = 1e-8  # of the loss, relative to it
MAX_STEPS, MAX_HALVINGS, RIDGE = 50, 30, 1e-10  # of Newton's method
MOST_CLASSES = 1_000  # with more, the Hessian of the biases is taken for diagonal


class Stacking(NamedTuple):
    """A weight for each base score and a bias for each class: scores = sum_m weights_m * base_m + biases."""

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]

    def scores(self, base_scores: Sequence[Scores]) -> Scores:
        """The stacked scores, before softmax."""
        total: Scores = base_scores[0] * self.weights[0]
        for base, weight in zip(base_scores[1:], self.weights[1:], strict=True):
            if weight:
                total += weight * base
        total += self.biases
        return total


def fit_stacking(
    base_scores: Sequence[Scores],
    codes: NDArray[np.int64],
    sample_weight: NDArray[np.float64],
    *,
    biases: bool = True,
    start: Stacking | None = None,
    tolerance: float = TOLERANCE,
) -> tuple[Stacking, float]:
    """The stacking with the least penalised log loss, and that loss. The base scores should be out-of-fold.

    It minimises mean log loss + CORRECTION_PRIOR / n * sum_m spread_m weights_m + prior / n * |biases|^2, where
    spread_m is the standard deviation of a correction within a sample. Targets are smoothed as in Platt scaling.
    """
    problem = _Problem(base_scores, codes, sample_weight, biases, tolerance)
    found = start or Stacking(np.full(len(base_scores), 1.0 / len(base_scores)), np.zeros(base_scores[0].shape[1]))
    prior = BIAS_PRIOR
    found, loss = problem.solve(found, prior)
    for _ in range(ROUNDS - 1 if biases else 0):
        prior = float(np.clip(len(found.biases) / (2 * problem.expected_square(found, prior)), *BIAS_PRIORS))
        found, loss = problem.solve(found, prior)
    return found, loss


class _Problem:
    """The penalised log loss of a stacking, minimised by Newton's method over weights that are not negative."""

    def __init__(
        self,
        base_scores: Sequence[Scores],
        codes: NDArray[np.int64],
        sample_weight: NDArray[np.float64],
        biases: bool,
        tolerance: float,
    ) -> None:
        n_samples, self.n_classes = base_scores[0].shape
        self.bases = np.stack(base_scores)
        self.biases, self.tolerance = biases, tolerance
        self.samples = codes, platt_smoothing(n_samples), sample_weight / sample_weight.sum()
        spreads = [_spread(scores) for scores in base_scores[1:]]
        self.penalties = np.array([0.0] + [CORRECTION_PRIOR / n_samples * spread for spread in spreads])

    def solve(self, start: Stacking, prior: float) -> tuple[Stacking, float]:
        """The best stacking for a prior of the biases.

        A weight that is 0 and would become negative stays out of a step (D. Bertsekas, "Projected Newton methods for
        optimization problems with simple constraints", SIAM Journal on Control and Optimization 20, 1982).
        """
        shrinkage, count = prior / self.bases.shape[1], len(self.bases)
        values = np.concatenate([start.weights, start.biases if self.biases else []])
        loss = self._loss(values, shrinkage)
        for _ in range(MAX_STEPS):
            gradient, hessian = self._derivatives(values, shrinkage)
            free = np.ones(len(values), dtype=bool)
            free[:count] = (values[:count] > 0) | (gradient[:count] < 0)
            step = np.zeros(len(values))
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            if -(gradient @ step) / 2 <= self.tolerance * abs(loss):  # by which a full step would lower the loss
                break
            before = loss
            values, loss = self._moved(values, step, loss, shrinkage)
            if loss == before:
                break
        return self._unpacked(values), loss

    def _moved(
        self, values: NDArray[np.float64], step: NDArray[np.float64], loss: float, shrinkage: float
    ) -> tuple[NDArray[np.float64], float]:
        """The step, halved until the loss is lower; no step at all if it never is."""
        for halvings in range(MAX_HALVINGS):
            moved = values + step / 2**halvings
            moved[: len(self.bases)] = np.maximum(moved[: len(self.bases)], 0.0)
            lower = self._loss(moved, shrinkage)
            if lower < loss:
                return moved, lower
        return values, loss

    def expected_square(self, found: Stacking, prior: float) -> float:
        """The posterior mean of the biases' sum of squares, by Laplace's approximation with a diagonal Hessian."""
        probabilities, _ = self._probabilities(found)
        shares = self.samples[2]
        curvature = len(shares) * (shares @ (probabilities * (1 - probabilities)))
        return float(np.sum(np.square(found.biases) + 1 / (curvature + 2 * prior)))

    def _unpacked(self, values: NDArray[np.float64]) -> Stacking:
        count = len(self.bases)
        return Stacking(values[:count], values[count:] if self.biases else np.zeros(self.n_classes))

    def _loss(self, values: NDArray[np.float64], shrinkage: float) -> float:
        from aftermax._residual.stacking_kernels import stacked_loss

        stacking = self._unpacked(values)
        penalty = self.penalties @ stacking.weights + shrinkage * (stacking.biases @ stacking.biases)
        return float(stacked_loss(self.bases, *stacking, *self.samples) + penalty)

    def _probabilities(self, stacking: Stacking) -> tuple[Scores, tuple[NDArray[np.float64], ...]]:
        """Probabilities, and derivatives of the mean log loss by the weights."""
        from aftermax._residual.stacking_kernels import stacked_derivatives

        probabilities = np.empty(self.bases.shape[1:])
        return probabilities, stacked_derivatives(self.bases, *stacking, *self.samples, probabilities)

    def _derivatives(
        self, values: NDArray[np.float64], shrinkage: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient and Hessian."""
        stacking, count = self._unpacked(values), len(self.bases)
        probabilities, (by_weight, hessian, between) = self._probabilities(stacking)
        by_weight = by_weight + self.penalties
        if not self.biases:
            return by_weight, hessian + np.diag(TINY + RIDGE * np.diag(hessian))
        codes, smoothing, shares = self.samples
        expected = shares @ probabilities
        targets = (1 - smoothing) * np.bincount(codes, shares, minlength=self.n_classes) + smoothing / self.n_classes
        by_bias = expected - targets + 2 * shrinkage * stacking.biases
        of_biases = np.diag(expected + 2 * shrinkage)
        if self.n_classes <= MOST_CLASSES:
            of_biases -= (probabilities * shares[:, None]).T @ probabilities
        whole = np.block([[hessian, between], [between.T, of_biases]])
        whole[np.diag_indices(count)] += TINY + RIDGE * np.diag(hessian)
        return np.concatenate([by_weight, by_bias]), whole


def _spread(scores: Scores) -> float:
    """The root mean square deviation of the classes' scores within a sample."""
    return float(np.sqrt(np.mean(scores.var(axis=1))))
