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

from aftermax._utils.multinomial import Scores, loss_and_gradient, one_hot, platt_smoothing, probabilities_and_losses

# How strongly the weights are shrunk towards the logits alone: a correction is expected to add about a third of a unit
# of log-odds. The prior of the biases is estimated from the biases themselves (empirical Bayes), within limits:
# 1 / (2 * prior) is their variance.
CORRECTION_PRIOR = 3.0
BIAS_PRIOR = 1.0
BIAS_PRIORS = (0.5, 200.0)
ROUNDS = 3  # of fitting the biases and estimating their prior


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
) -> tuple[Stacking, float]:
    """The stacking with the least penalised log loss, and that loss. The base scores should be out-of-fold.

    It minimises mean log loss + CORRECTION_PRIOR / n * sum_m spread_m weights_m + prior / n * |biases|^2, where
    spread_m is the standard deviation of a correction within a sample. Targets are smoothed as in Platt scaling.
    """
    problem = _Problem(base_scores, codes, sample_weight, biases)
    found = start or Stacking(np.full(len(base_scores), 1.0 / len(base_scores)), np.zeros(base_scores[0].shape[1]))
    prior = BIAS_PRIOR
    for _ in range(ROUNDS if biases else 1):
        found, loss = problem.solve(found, prior)
        prior = float(np.clip(len(found.biases) / (2 * problem.expected_square(found, prior)), *BIAS_PRIORS))
    return found, loss


class _Problem:
    """The penalised log loss of a stacking."""

    def __init__(
        self,
        base_scores: Sequence[Scores],
        codes: NDArray[np.int64],
        sample_weight: NDArray[np.float64],
        biases: bool,
    ) -> None:
        n_samples, n_classes = base_scores[0].shape
        self.base_scores = base_scores
        self.biases = biases
        self.shares = sample_weight / sample_weight.sum()
        spreads = [_spread(scores) for scores in base_scores[1:]]
        self.penalties = np.array([0.0] + [CORRECTION_PRIOR / n_samples * spread for spread in spreads])
        self.targets = one_hot(codes, n_classes, platt_smoothing(n_samples))

    def solve(self, start: Stacking, prior: float) -> tuple[Stacking, float]:
        """The best stacking for a prior of the biases, by L-BFGS with bounds."""
        from scipy.optimize import minimize

        (n_samples, n_classes), count = self.targets.shape, len(self.base_scores)
        found = minimize(
            self._loss,
            np.concatenate([start.weights, start.biases if self.biases else []]),
            args=(prior / n_samples,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * count + [(None, None)] * (n_classes if self.biases else 0),
            options={"ftol": 1e-9, "gtol": 1e-5, "maxiter": 200},
        )
        return self._unpacked(found.x), float(found.fun)

    def expected_square(self, found: Stacking, prior: float) -> float:
        """The posterior mean of the biases' sum of squares, by Laplace's approximation with a diagonal Hessian."""
        probabilities, _ = probabilities_and_losses(found.scores(self.base_scores), self.targets)
        curvature = len(self.targets) * (self.shares @ (probabilities * (1 - probabilities)))
        return float(np.sum(np.square(found.biases) + 1 / (curvature + 2 * prior)))

    def _unpacked(self, values: NDArray[np.float64]) -> Stacking:
        count, n_classes = len(self.base_scores), self.targets.shape[1]
        return Stacking(values[:count], values[count:] if self.biases else np.zeros(n_classes))

    def _loss(self, values: NDArray[np.float64], shrinkage: float) -> tuple[float, NDArray[np.float64]]:
        """The loss and its gradient."""
        stacking = self._unpacked(values)
        weights, biases = stacking
        loss, by_score = loss_and_gradient(stacking.scores(self.base_scores), self.targets, self.shares)
        loss += float(self.penalties @ weights)
        loss += shrinkage * float(biases @ biases)
        by_weight = self.penalties + [np.vdot(base, by_score) for base in self.base_scores]
        by_bias = by_score.sum(axis=0) + 2 * shrinkage * biases if self.biases else []
        return loss, np.concatenate([by_weight, by_bias])


def _spread(scores: Scores) -> float:
    """The root mean square deviation of the classes' scores within a sample."""
    return float(np.sqrt(np.mean(scores.var(axis=1))))
