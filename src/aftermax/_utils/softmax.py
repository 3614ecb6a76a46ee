"""Softmax, its certainty and its log loss, sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import in_float64
from aftermax._utils.threads import over_ranges, samples_per_range

MIN_PROBABILITY = 1e-12  # probabilities are clipped here before their logarithm is taken, so that it is finite


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of each sample's logits. NaN is refused: no probability is better than one that says nothing."""
    from scipy.special import softmax as scipy_softmax

    with np.errstate(invalid="ignore"):  # infinity less infinity
        found = np.asarray(scipy_softmax(logits, axis=1))
    if np.isnan(found).any():
        raise ValueError(
            "The scores of these samples are too large to compute probabilities of. Are the logits or the features on "
            "another scale than those that the head was fitted on? If not, fit it again."
        )
    return found


def divided(logits: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Logits / temperature or, if that is infinite, the same less the largest of each sample: softmax is alike."""
    with np.errstate(over="ignore"):
        found = logits / temperature
        if not np.isfinite(found).all():
            found = (logits - logits.max(axis=1, keepdims=True)) / temperature
    return np.asarray(found)


def softmax_certainty(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Each sample's largest softmax probability; the logits may be of any precision."""
    from aftermax._utils import softmax_kernels

    out = np.empty(len(logits))
    over_ranges(
        lambda first, last: softmax_kernels.certainties(in_float64(logits[first:last]), out[first:last]),
        len(logits),
        samples_per_range(logits.shape[1]),
    )
    return out


def log_losses(scores: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Each sample's log loss: minus the logarithm of the softmax probability of its true class."""
    # Not scipy's log_softmax: that takes logarithms for all classes, and twice the time.
    below_max = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(below_max).sum(axis=1)) - below_max[np.arange(len(codes)), codes])


def settle_argmax(probabilities: NDArray[np.float64], predicted: NDArray[np.int64]) -> None:
    """Make the predicted class the argmax where rounding left it tied with another class. Works in place."""
    tied = np.flatnonzero(probabilities.argmax(axis=1) != predicted)
    probabilities[tied, predicted[tied]] = np.nextafter(probabilities[tied].max(axis=1), 2.0)


def normalised_exp(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of exponents that are at most 0, so that no maximum needs to be subtracted first."""
    weights = np.exp(exponents)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
