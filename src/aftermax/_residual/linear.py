"""The linear correction: multinomial logistic regression that starts from the logits and is shrunk towards them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import Samples
from aftermax._utils.multinomial import Scores, loss_and_gradient, one_hot
from aftermax._utils.softmax import log_losses

PENALTIES = tuple(10.0**power for power in range(-1, -6, -1))  # the strongest first
BIAS_PENALTY = 1.0  # of the squared biases, divided by the number of samples
ITERATIONS = 30
MAX_SAMPLES = 10_000


class LinearCorrection(NamedTuple):
    """z @ coefficients + intercepts: log-odds by logistic regression, or probabilities by least squares."""

    coefficients: NDArray[np.float64]  # (d, K)
    intercepts: NDArray[np.float64]  # (K,)


def out_of_fold_linear(
    projected: NDArray[np.float64], samples: Samples, logits: Scores
) -> tuple[LinearCorrection, Scores]:
    """The correction fitted on the samples, and out-of-fold scores of each, by five folds.

    Of more than 10,000 samples it is fitted on a part, and the others are out-of-fold without further ado.
    """
    step = -(-len(logits) // MAX_SAMPLES)
    some = slice(None, None, step)
    fitted, out_of_fold = _cross_validated(
        projected[some], samples.codes[some], samples.weights[some], logits[some], samples.inner_folds()[some]
    )
    everywhere = projected @ fitted.coefficients
    everywhere[::step] = out_of_fold
    return fitted, everywhere


def _cross_validated(
    projected: NDArray[np.float64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    logits: Scores,
    folds: NDArray[np.int64],
) -> tuple[LinearCorrection, Scores]:
    """With the last penalty, from the strongest on, that lowers the out-of-fold log loss; fits are warm-started."""
    n_samples, n_classes = logits.shape
    parts = [folds != fold for fold in np.unique(folds) if (folds != fold).any()]
    paths = [_Regression(projected[part], codes[part], weights[part], logits[part]) for part in parts]
    best, least = -1, np.inf
    out_of_fold = np.zeros((n_samples, n_classes))
    for number, penalty in enumerate(PENALTIES if paths else ()):
        scores, loss = np.zeros((n_samples, n_classes)), 0.0
        for part, path in zip(parts, paths, strict=True):
            path.solve(penalty)
            held_out = ~part
            scores[held_out] = projected[held_out] @ path.coefficients
            loss += path.loss_of(logits[held_out], scores[held_out], codes[held_out], weights[held_out])
        if loss >= least:
            break
        best, least, out_of_fold = number, loss, scores
    whole = _Regression(projected, codes, weights, logits)
    for penalty in PENALTIES[: best + 1]:
        whole.solve(penalty)
    return LinearCorrection(whole.coefficients, np.zeros(n_classes)), out_of_fold


class _Regression:
    """Multinomial logistic regression with an offset: scores = slope * logits + biases + z @ coefficients.

    It minimises the mean log loss + penalty / 2 * |coefficients|^2 + BIAS_PENALTY / n * |biases|^2 by L-BFGS.
    """

    def __init__(
        self,
        projected: NDArray[np.float64],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        logits: Scores,
    ) -> None:
        self.projected, self.logits = projected, logits
        self.shares = weights / weights.sum()
        self.targets = one_hot(codes, logits.shape[1])
        self.values = np.concatenate([[1.0], np.zeros(logits.shape[1] * (1 + projected.shape[1]))])

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """Of the linear map, (d, K)."""
        return self._unpacked(self.values)[2]

    def solve(self, penalty: float) -> None:
        """Continue from where the last fit ended."""
        from scipy.optimize import minimize

        found = minimize(
            self._loss,
            self.values,
            args=(penalty, BIAS_PENALTY / len(self.targets)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS, "ftol": 1e-6, "gtol": 1e-4},
        )
        self.values = found.x

    def loss_of(self, logits: Scores, added: Scores, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
        """The summed log loss of other samples, of which ``added`` is z @ coefficients."""
        slope, biases, _ = self._unpacked(self.values)
        return float(weights @ log_losses(slope * logits + biases + added, codes))

    def _unpacked(self, values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Slope, biases and coefficients."""
        n_classes = self.logits.shape[1]
        return values[0], values[1 : 1 + n_classes], values[1 + n_classes :].reshape(-1, n_classes)

    def _loss(
        self, values: NDArray[np.float64], penalty: float, bias_penalty: float
    ) -> tuple[float, NDArray[np.float64]]:
        slope, biases, coefficients = self._unpacked(values)
        scores = self.projected @ coefficients
        scores += slope * self.logits
        scores += biases
        loss, by_score = loss_and_gradient(scores, self.targets, self.shares)
        loss += float(penalty / 2 * np.vdot(coefficients, coefficients) + bias_penalty * (biases @ biases))
        gradient = np.concatenate(
            [
                [np.vdot(by_score, self.logits)],
                by_score.sum(axis=0) + 2 * bias_penalty * biases,
                (self.projected.T @ by_score + penalty * coefficients).ravel(),
            ]
        )
        return loss, gradient
