"""Scores combined: non-negative weights for what several experts say, and a bias for each class.

The first expert is always the model itself, with its logits. Its weight is an inverse temperature; with no other expert
and no biases this is temperature scaling, and softmax's answers stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# How strongly little evidence is shrunk towards the logits alone. The scores that a correction adds are expected to be
# about a third of a unit of the logarithm of the odds. How large biases are is learned from the biases themselves,
# within limits: 1 / (2 * prior) is their variance.
CORRECTION_PRIOR = 3.0
BIAS_PRIOR = 1.0
BIAS_PRIORS = (0.5, 200.0)
ROUNDS = 3

Scores = NDArray[np.float64]


class Combination(NamedTuple):
    """A weight for each expert and a bias for each class."""

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]

    def scores(self, experts: Sequence[Scores]) -> Scores:
        """What the experts say together, before softmax."""
        total: Scores = experts[0] * self.weights[0]
        for expert, weight in zip(experts[1:], self.weights[1:], strict=True):
            if weight:
                total += weight * expert
        total += self.biases
        return total


def combine(
    experts: Sequence[Scores],
    codes: NDArray[np.int64],
    row_weights: NDArray[np.float64],
    *,
    biases: bool = True,
    start: Combination | None = None,
) -> tuple[Combination, float]:
    """The combination with the least log-loss of ``codes``, the true classes, and that log-loss, penalties included.

    As in Platt scaling the truth is given a weight of (n + 1) / (n + 2), the rest spread evenly over the classes, so
    that a few rows without a mistake do not make for certainty.
    """
    problem = _Problem(experts, codes, row_weights, biases)
    found = start or Combination(np.full(len(experts), 1.0 / len(experts)), np.zeros(experts[0].shape[1]))
    prior = BIAS_PRIOR
    for _ in range(ROUNDS if biases else 1):
        found, loss = problem.solve(found, prior)
        prior = float(np.clip(len(found.biases) / (2 * problem.expected_square(found, prior)), *BIAS_PRIORS))
    return found, loss


class _Problem:
    """The log-loss of a combination, with what does not change from one to the next."""

    def __init__(
        self,
        experts: Sequence[Scores],
        codes: NDArray[np.int64],
        row_weights: NDArray[np.float64],
        biases: bool,
    ) -> None:
        rows, size = experts[0].shape
        self.experts = experts
        self.biases = biases
        self.shares = row_weights / row_weights.sum()
        self.penalties = np.array([0.0] + [CORRECTION_PRIOR / rows * _spread(expert) for expert in experts[1:]])
        smoothing = 1.0 / (rows + 2)
        self.truth = np.full((rows, size), smoothing / size)
        self.truth[np.arange(rows), codes] += 1 - smoothing

    def solve(self, start: Combination, prior: float) -> tuple[Combination, float]:
        """The best combination if biases are expected to be as small as ``prior`` says."""
        from scipy.optimize import minimize

        (rows, size), count = self.truth.shape, len(self.experts)
        found = minimize(
            self._loss,
            np.concatenate([start.weights, start.biases if self.biases else []]),
            args=(prior / rows,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * count + [(None, None)] * (size if self.biases else 0),
            options={"ftol": 1e-9, "gtol": 1e-5, "maxiter": 200},
        )
        return self._unpacked(found.x), float(found.fun)

    def expected_square(self, found: Combination, prior: float) -> float:
        """The biases' sum of squares, with what is uncertain about them."""
        probabilities = self._probabilities(found)[0]
        told = len(self.truth) * (self.shares @ (probabilities * (1 - probabilities)))
        return float(np.sum(np.square(found.biases) + 1 / (told + 2 * prior)))

    def _unpacked(self, values: NDArray[np.float64]) -> Combination:
        count, size = len(self.experts), self.truth.shape[1]
        return Combination(values[:count], values[count:] if self.biases else np.zeros(size))

    def _probabilities(self, combination: Combination) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the classes, and the log-loss of each row."""
        scores = combination.scores(self.experts)
        scores -= scores.max(axis=1, keepdims=True)
        agreement = np.einsum("nk,nk->n", scores, self.truth)
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1)
        scores /= totals[:, None]
        return scores, np.log(totals) - agreement

    def _loss(self, values: NDArray[np.float64], shrinkage: float) -> tuple[float, NDArray[np.float64]]:
        """The loss and its gradient."""
        combination = self._unpacked(values)
        weights, biases = combination
        errors, losses = self._probabilities(combination)
        loss = self.shares @ losses + self.penalties @ weights + shrinkage * (biases @ biases)
        errors -= self.truth
        errors *= self.shares[:, None]
        by_weight = self.penalties + [np.vdot(expert, errors) for expert in self.experts]
        by_bias = errors.sum(axis=0) + 2 * shrinkage * biases if self.biases else []
        return float(loss), np.concatenate([by_weight, by_bias])


def _spread(scores: Scores) -> float:
    """How far the scores of the classes lie apart within a row."""
    return float(np.sqrt(np.mean(scores.var(axis=1))))
