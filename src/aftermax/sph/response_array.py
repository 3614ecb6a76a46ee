"""The response array: how each response unit answers to each class. The paper's D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labels import encode_labels, warn_if_misaligned
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.threads import over_ranges
from aftermax._utils.validation import as_logits, check_center, check_window, compute_ready

UNITS_PER_RANGE = 16
CLASSES_PER_RANGE = 4
SPREAD_FLOOR = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class ResponseArray:
    """K x K distributions: row i is the true class, column j the response unit.

    Each is an asymmetric Gaussian: a center, and a spread of its own on either side. A class without validation rows
    has NaN in its row.

    The array is built on raw responses. Adding one constant to all logits moves it and changes nothing; adding a
    constant of its own to each row (as taking the log of softmax does) gives another array.

    Attributes
    ----------
    center, left, right : ndarray of shape (K, K)
        Mean or median, and the spreads below and above it.
    counts : ndarray of shape (K,)
        How many validation rows described each class.
    classes : ndarray of shape (K,)
        The class of each row and column.

    Examples
    --------
    >>> from aftermax import ResponseArray
    >>> logits = [[3.0, 0.0], [2.0, 1.0], [0.5, 2.0], [0.0, 4.0]]
    >>> array = ResponseArray.fit(logits, ["cat", "cat", "dog", "dog"])
    >>> array.center
    array([[2.5 , 0.5 ],
           [0.25, 3.  ]])
    >>> array.separation()
    array([[6.        , 3.33333333],
           [6.        , 3.33333333]])
    >>> array.distances([[2.5, 1.0]])
    array([[[0., 1.],
            [9., 2.]]])
    """

    center: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    counts: NDArray[np.int64]
    classes: NDArray[Any]

    @classmethod
    def fit(
        cls,
        logits: ArrayLike,
        labels: ArrayLike,
        *,
        center: Literal["mean", "median"] = "mean",
        window_low: float = 0.0,
        window_high: float = 1.0,
        classes: ArrayLike | None = None,
    ) -> ResponseArray:
        """Describe how each unit responds to each class.

        Parameters
        ----------
        logits : array-like of shape (n_rows, K)
            What the model says before softmax, on rows it was not trained on.
        labels : array-like of shape (n_rows,)
            The true classes.
        center : {"mean", "median"}, default="mean"
        window_low, window_high : float, default=0.0 and 1.0
            Only rows whose certainty (largest softmax score) is in this window are used. A class with fewer than two
            such rows uses all of its rows.
        classes : array-like of shape (K,), default=None
            The class of each column; see :class:`~aftermax.SPHClassifier`.
        """
        check_center(center)
        check_window(window_low, window_high)
        checked = compute_ready(as_logits(logits))
        names, codes = encode_labels(labels, checked.shape, classes, getattr(logits, "columns", None))
        warn_if_misaligned(checked, codes, names)
        return fit_response_array(checked, codes, names, softmax_certainty(checked), center, window_low, window_high)

    def distances(self, logits: ArrayLike) -> NDArray[np.float64]:
        """M: how many spreads lie between each response and each center, as an array of shape (n_rows, K, K).

        Entry [n, i, j] is the distance of row n's response j from class i's center, in units of the spread on its side.
        The array is large; :class:`~aftermax.SPHClassifier` does its work without it.
        """
        checked = as_logits(logits)
        if checked.shape[1] != len(self.classes):
            raise ValueError(
                f"logits have {checked.shape[1]} columns but the response array has {len(self.classes)} units: "
                "pass the logits of the model it was fitted on, one column per class."
            )
        gap = compute_ready(checked)[:, None, :] - self.center
        return np.asarray(np.abs(gap) / np.where(gap > 0, self.right, self.left))

    def separation(self) -> NDArray[np.float64]:
        """f: how far unit j holds class i apart from the other classes, as an array of shape (K, K).

        The median, over the other classes with rows, of the distance between the centers in units of the mean of the
        two spreads that face each other. NaN for a class without rows.
        """
        return self._separation(len(self.classes))

    def _separation(self, units: int) -> NDArray[np.float64]:
        """f of the first ``units`` units."""
        from aftermax.sph import _kernels

        out = np.full((len(self.classes), units), np.nan)
        present = np.flatnonzero(self.counts)
        if len(present) < 2:
            return out

        def separate(first: int, last: int) -> None:
            others = np.empty((len(present), len(present) - 1))
            for j in range(first, last):
                _kernels.separations(self.center[present, j], self.left[present, j], self.right[present, j], others)
                out[present, j] = _row_medians(others)

        over_ranges(separate, units, UNITS_PER_RANGE)
        return out

    def __repr__(self) -> str:
        size, shown = len(self.classes), min(len(self.classes), 10)
        names = [str(name) for name in self.classes[:shown]]
        width = max(5, *map(len, names))
        lines = [
            f"ResponseArray: {size} classes x {size} units, described by {self.counts.sum()} rows",
            f"  {'class':>{width}}  {'rows':>6}  response of its own unit  apart by",
        ]
        apart = self._separation(shown)
        for i, name in enumerate(names):
            if self.counts[i]:
                home = f"{self.center[i, i]:.3g} (-{self.left[i, i]:.2g} +{self.right[i, i]:.2g})"
                lines.append(f"  {name:>{width}}  {self.counts[i]:>6}  {home:>24}  {apart[i, i]:.3g} spreads")
            else:
                lines.append(f"  {name:>{width}}  {0:>6}  {'unknown':>24}")
        if shown < size:
            lines.append(f"  and {size - shown} more")
        return "\n".join(lines)


def fit_response_array(
    logits: NDArray[np.float64],
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    certainty: NDArray[np.float64],
    center: str,
    window_low: float,
    window_high: float,
) -> ResponseArray:
    """As :meth:`ResponseArray.fit`, from input that is checked already, with labels as column numbers."""
    from aftermax.sph import _kernels

    size = logits.shape[1]
    rows, counts = _window_rows(codes, certainty, size, window_low, window_high)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    middle, left, right = np.empty((3, size, size))

    def work(first: int, last: int) -> None:
        _kernels.describe_classes(logits, rows, offsets, center == "median", first, last, middle, left, right)

    over_ranges(work, size, CLASSES_PER_RANGE)
    floor = _spread_floor(logits)
    if not np.isfinite([array[counts > 0] + floor for array in (middle, left, right)]).all():
        raise ValueError(
            f"logits are too large to average: the largest is {np.abs(logits).max():.3g}. "
            "Clip them first, for example with numpy.clip(logits, -1e4, 1e4)."
        )
    return ResponseArray(middle, np.maximum(left, floor), np.maximum(right, floor), counts, classes)


def _row_medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of each row; several times faster than numpy.median. Reorders ``values``."""
    half = values.shape[1] // 2
    values.partition(half, axis=1)
    upper = values[:, half]
    return upper if values.shape[1] % 2 else (values[:, :half].max(axis=1) + upper) / 2


def _window_rows(
    codes: NDArray[np.int64], certainty: NDArray[np.float64], size: int, low: float, high: float
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows that describe the classes, class by class, and how many each class has."""
    inside = (low <= certainty) & (certainty <= high)
    too_few = np.bincount(codes[inside], minlength=size) < 2
    rows = np.flatnonzero(inside | too_few[codes])
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return rows, np.bincount(codes[rows], minlength=size)


def _spread_floor(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least spread of each unit, so that nothing divides by zero."""
    from aftermax.sph import _kernels

    deviation = np.empty(logits.shape[1])
    rows = np.arange(len(logits))
    over_ranges(
        lambda first, last: _kernels.unit_deviations(logits, rows, first, last, deviation),
        len(deviation),
        UNITS_PER_RANGE,
    )
    return np.where(deviation == 0, SPREAD_FLOOR, SPREAD_FLOOR * deviation)
