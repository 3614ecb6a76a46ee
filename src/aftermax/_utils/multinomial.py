"""The multinomial log loss and its gradient, for every fit that minimises it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]  # (n_samples, n_classes): their softmax is the probabilities


def probabilities_and_losses(scores: Scores, targets: Scores) -> tuple[Scores, NDArray[np.float64]]:
    """Softmax of the scores, computed in place, and each sample's log loss: -sum_k t_k log p_k.

    ``targets`` are the probabilities t of the classes: one-hot, or smoothed.
    """
    scores -= scores.max(axis=1, keepdims=True)
    agreement = np.einsum("nk,nk->n", scores, targets)
    np.exp(scores, out=scores)
    totals = scores.sum(axis=1)
    scores /= totals[:, None]
    return scores, np.log(totals) - agreement


def loss_and_gradient(scores: Scores, targets: Scores, shares: NDArray[np.float64]) -> tuple[float, Scores]:
    """The weighted mean of the log losses, and its gradient with respect to the scores, which it overwrites.

    ``shares`` are the sample weights, divided by their sum.
    """
    gradient, losses = probabilities_and_losses(scores, targets)
    gradient -= targets
    gradient *= shares[:, None]
    return float(shares @ losses), gradient


def one_hot(codes: NDArray[np.int64], n_classes: int, smoothing: float = 0.0) -> Scores:
    """Targets for labels that are column numbers; the share ``smoothing`` is spread evenly over the classes."""
    targets = np.full((len(codes), n_classes), smoothing / n_classes)
    targets[np.arange(len(codes)), codes] += 1 - smoothing
    return targets


def platt_smoothing(n_samples: int) -> float:
    """As in Platt scaling, 1 / (n + 2): so that a few samples without an error do not give certainty.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
    1999.
    """
    return 1.0 / (n_samples + 2)
