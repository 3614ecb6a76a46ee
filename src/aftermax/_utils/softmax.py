"""Softmax, its certainty and its log loss, sample by sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.threads import over_ranges, rows_per_range

LEAST_PROBABILITY = 1e-12  # so that logarithms are finite


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of each sample's logits."""
    from scipy.special import softmax as of_rows

    return np.asarray(of_rows(logits, axis=1))


def softmax_certainty(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row's largest softmax score."""
    from aftermax._utils import softmax_kernels

    out = np.empty(len(logits))
    over_ranges(
        lambda first, last: softmax_kernels.certainties(logits[first:last], out[first:last]),
        len(logits),
        rows_per_range(logits.shape[1]),
    )
    return out


def log_losses(scores: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log-loss of each row."""
    beyond = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(beyond).sum(axis=1)) - beyond[np.arange(len(codes)), codes])


def settle_argmax(probabilities: NDArray[np.float64], answers: NDArray[np.int64]) -> None:
    """Where rounding made the answer share the largest probability with another class, lift it by the least step."""
    rows = np.flatnonzero(probabilities.argmax(axis=1) != answers)
    probabilities[rows, answers[rows]] = np.nextafter(probabilities[rows].max(axis=1), 2.0)


def normalised_exp(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp of non-positive exponents, each row divided by its sum."""
    weights = np.exp(exponents)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
