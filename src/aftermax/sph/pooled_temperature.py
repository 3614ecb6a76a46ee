"""From pooled scores to probabilities, by a temperature."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.multinomial import platt_smoothing
from aftermax._utils.softmax import normalised_exp

# The temperature is sought around the typical distance between the best two scores, this far and in these steps.
LOG_RANGE = 7.0
MOST = 1e300  # temperature
LOG_STEP = 1.0
MIN_EXPONENT = -700.0  # exp of less than this is close to underflow


def score_probabilities(
    scores: NDArray[np.float64], predictions: NDArray[np.int64], temperature: float
) -> NDArray[np.float64]:
    """Probabilities proportional to exp(-score / temperature); no class is likelier than the predicted one.

    A vetoed class keeps its own score, raised to the predicted one's if it was lower: the veto decides the prediction,
    and makes no class impossible. A class with an infinite score has probability 0.
    """
    with np.errstate(over="ignore"):
        exponents = -_beyond_prediction(scores, predictions) / min(temperature, MOST)  # inf / inf would be NaN
    return normalised_exp(exponents)


def fit_temperature(
    scores: NDArray[np.float64],
    predictions: NDArray[np.int64],
    codes: NDArray[np.int64],
    sample_weights: NDArray[np.float64] | None = None,
) -> float:
    """The temperature with the least log loss of ``codes``, the true classes, under :func:`score_probabilities`.

    The targets are smoothed as in Platt scaling: 1 / (n + 2) of the probability is spread evenly over the classes, so
    that a few samples without an error do not give certainty. Samples whose true class has no score are left out; with
    none left, the temperature is 1.
    """
    scored = np.isfinite(scores[np.arange(len(codes)), codes])
    beyond, codes = _beyond_prediction(scores, predictions)[scored], codes[scored]
    shares = np.ones(len(codes)) if sample_weights is None else sample_weights[scored]
    nearest = np.partition(beyond, 1, axis=1)[:, 1] if len(codes) else np.empty(0)
    nearest = nearest[np.isfinite(nearest) & (nearest > 0)]
    if len(nearest) == 0:
        return 1.0
    possible = np.isfinite(beyond)
    beyond = np.where(possible, beyond, 0.0)
    smoothing = platt_smoothing(len(codes))
    truth, even = beyond[np.arange(len(codes)), codes], beyond.sum(axis=1) / possible.sum(axis=1)
    target = (1 - smoothing) * truth + smoothing * even

    def slope(log_temperature: float) -> float:
        """Derivative of the log loss by 1 / temperature: the score of the true class less the expected score."""
        with np.errstate(over="ignore"):
            exponents = np.maximum(beyond * -np.exp(-log_temperature), MIN_EXPONENT)
        weights = possible * np.exp(exponents)
        expected = np.einsum("nk,nk->n", weights, beyond) / weights.sum(axis=1)
        return float(np.mean(shares * (target - expected)))

    return float(np.exp(_root(slope, float(np.log(np.median(nearest))))))


def _root(slope: Callable[[float], float], start: float) -> float:
    """Where a falling function is zero, sought in steps from ``start`` and then by Brent's method; at most so far."""
    from scipy.optimize import brentq

    low = high = start
    while slope(low) < 0:
        low -= LOG_STEP
        if low < start - LOG_RANGE:
            return start - LOG_RANGE
    while slope(high) > 0:
        high += LOG_STEP
        if high > start + LOG_RANGE:
            return start + LOG_RANGE
    return float(brentq(slope, low, high, xtol=1e-6)) if low < high else low


def _beyond_prediction(scores: NDArray[np.float64], predictions: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much each class's score exceeds that of the predicted class, at least 0."""
    best = scores[np.arange(len(predictions)), predictions][:, None]
    return np.subtract(scores, best, out=np.zeros_like(scores), where=scores > best)
