"""Sample weights as SPH uses them: positive, relative to the largest, and with exact sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Weights are whole multiples of this share of the largest: sums over up to 2^23 samples are exact, so neither the order
# of the samples nor the way of counting has an effect, and all that is compared with a threshold is the same.
SMALLEST = 2.0**-30


def positive_weights(
    weights: NDArray[np.float64],
) -> tuple[slice | NDArray[np.intp], NDArray[np.float64] | None]:
    """Which samples have a positive weight, and their weights, at most 1; None if all are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.sph._weights import positive_weights
    >>> positive_weights(np.array([4.0, 0.0, 1.0]))
    (array([0, 2]), array([0.5  , 0.125]))
    >>> positive_weights(np.array([3.0, 3.0]))
    (slice(None, None, None), None)
    """
    positive = np.flatnonzero(weights > 0)
    relative = _rounded(weights[positive], _power_of_two(weights.max()))
    which = slice(None) if len(positive) == len(weights) else positive
    return which, None if relative.min() == relative.max() else relative


def weights_within_classes(
    weights: NDArray[np.float64], codes: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Positive weights that are at most 1 in each class: ones, if they depend on the class only."""
    least, largest = np.full(n_classes, np.inf), np.zeros(n_classes)
    np.minimum.at(least, codes, weights)
    np.maximum.at(largest, codes, weights)
    scales = np.where(least == largest, largest, _power_of_two(largest))
    return _rounded(weights, scales[codes])


def _power_of_two(values: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    """At least as large as the values: to divide by it is exact, so that small integers are as good as copies."""
    return np.asarray(np.ldexp(1.0, np.frexp(values)[1]))


def _rounded(weights: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(np.rint(weights / scales / SMALLEST), 1.0) * SMALLEST)
