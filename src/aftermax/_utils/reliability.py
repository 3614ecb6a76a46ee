"""Accuracy by confidence, in bins, with 95 % intervals: what reliability diagrams show."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binned_statistic

Z = 1.959963984540054  # the normal quantile of 95 %, two-sided


class Bins(NamedTuple):
    """For each bin of confidence: how many samples, their mean confidence, and their accuracy with a 95 % interval.

    The interval is Wilson's, of independent samples. Means of an empty bin are NaN.
    """

    rows: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far accuracy and confidence of a sample's bin are apart, on average."""
        return float(np.nansum(self.rows * np.abs(self.accuracy - self.confidence)) / self.rows.sum())


def binned(confidence: NDArray[Any], right: NDArray[np.bool_], n_bins: int = 10) -> Bins:
    """Bins of equal width that cover [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.reliability import binned
    >>> bins = binned(np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, True, True, False]), n_bins=1)
    >>> bins.accuracy.tolist(), bins.low.round(2).tolist(), bins.high.round(2).tolist()
    ([0.75], [0.3], [0.95])
    """
    edges = np.arange(n_bins + 1) / n_bins
    rows = np.histogram(confidence, edges)[0]
    mean, accuracy = binned_statistic(confidence, [confidence, right], bins=edges).statistic
    return Bins(rows, mean, accuracy, *_wilson(rows, accuracy))


def _wilson(n: NDArray[np.int64], share: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's score interval of a share of n samples; NaN of none. E. B. Wilson, JASA 22 (1927)."""
    some = np.maximum(n, 1)
    centre = share + Z**2 / (2 * some)
    half = Z * np.sqrt(share * (1 - share) / some + Z**2 / (4 * some**2))
    low, high = (end / (1 + Z**2 / some) for end in (centre - half, centre + half))
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
