"""A linear map added to the logits: logistic regression that starts from them and is shrunk towards them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.corrections import INNER_FOLDS, Linear
from aftermax._residual.stacking import Scores
from aftermax._utils.softmax import log_losses

PENALTIES = tuple(10.0**power for power in range(-1, -6, -1))  # the strongest first
BIAS_PENALTY = 1.0  # of the squared biases, divided by the rows
ITERATIONS = 30
MOST_ROWS = 10_000


def held_out_map(
    places: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], logits: Scores
) -> tuple[Linear, Scores]:
    """Fitted on the rows, and each row's scores by one that was fitted without a fifth of them, its own included.

    Of more than 10,000 rows some are fitted on only, and the fit has not seen the others.
    """
    step = -(-len(codes) // MOST_ROWS)
    fitted, held_out = _on_folds(places[::step], codes[::step], weights[::step], logits[::step])
    everywhere = places @ fitted.coefficients
    everywhere[::step] = held_out
    return fitted, everywhere


def _on_folds(
    places: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], logits: Scores
) -> tuple[Linear, Scores]:
    """With the penalty that has the least log-loss on rows held out.

    Along the penalties, each fit starts where the one before ended.
    """
    rows, size = logits.shape
    folds = np.arange(rows) % INNER_FOLDS
    parts = [folds != fold for fold in range(INNER_FOLDS) if rows > 1]
    paths = [_Regression(places[part], codes[part], weights[part], logits[part]) for part in parts]
    best, least = -1, np.inf
    held_out = np.zeros((rows, size))
    for number, penalty in enumerate(PENALTIES if paths else ()):
        scores, loss = np.zeros((rows, size)), 0.0
        for part, path in zip(parts, paths, strict=True):
            path.solve(penalty)
            out = ~part
            scores[out] = places[out] @ path.coefficients
            loss += path.loss_of(logits[out], scores[out], codes[out], weights[out])
        if loss >= least:
            break
        best, least, held_out = number, loss, scores
    whole = _Regression(places, codes, weights, logits)
    for penalty in PENALTIES[: best + 1]:
        whole.solve(penalty)
    return Linear(whole.coefficients, np.zeros(size)), held_out


class _Regression:
    """Log-odds: the logits times a slope, biases, and a linear map of the rows' places."""

    def __init__(
        self,
        places: NDArray[np.float64],
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        logits: Scores,
    ) -> None:
        rows, size = logits.shape
        self.places, self.logits = places, logits
        self.shares = weights / weights.sum()
        self.truth = np.zeros((rows, size))
        self.truth[np.arange(rows), codes] = 1.0
        self.values = np.concatenate([[1.0], np.zeros(size + places.shape[1] * size)])

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """Of the linear map."""
        size = self.logits.shape[1]
        return self.values[1 + size :].reshape(-1, size)

    def solve(self, penalty: float) -> None:
        """Go on from where the last fit ended."""
        from scipy.optimize import minimize

        found = minimize(
            self._loss,
            self.values,
            args=(penalty, BIAS_PENALTY / len(self.truth)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS, "ftol": 1e-6, "gtol": 1e-4},
        )
        self.values = found.x

    def loss_of(self, logits: Scores, added: Scores, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
        """The summed log-loss of other rows."""
        scores = self.values[0] * logits + self.values[1 : 1 + logits.shape[1]] + added
        return float(weights @ log_losses(scores, codes))

    def _loss(
        self, values: NDArray[np.float64], penalty: float, bias_penalty: float
    ) -> tuple[float, NDArray[np.float64]]:
        size = self.logits.shape[1]
        slope, biases, coefficients = values[0], values[1 : 1 + size], values[1 + size :].reshape(-1, size)
        scores = self.places @ coefficients
        scores += slope * self.logits
        scores += biases
        scores -= scores.max(axis=1, keepdims=True)
        agreement = np.einsum("nk,nk->n", scores, self.truth)
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1)
        loss = self.shares @ (np.log(totals) - agreement)
        loss += penalty / 2 * np.vdot(coefficients, coefficients) + bias_penalty * (biases @ biases)
        scores /= totals[:, None]
        scores -= self.truth
        scores *= self.shares[:, None]
        gradient = np.concatenate(
            [
                [np.vdot(scores, self.logits)],
                scores.sum(axis=0) + 2 * bias_penalty * biases,
                (self.places.T @ scores + penalty * coefficients).ravel(),
            ]
        )
        return float(loss), gradient
