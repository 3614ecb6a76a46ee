"""The response array: how each response unit responds to each class. The paper's D."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labelled_samples import labelled_samples
from aftermax._utils.one_logit import is_one_logit
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.text import aligned
from aftermax._utils.threads import over_ranges
from aftermax._utils.validation import as_logits, as_weights, compute_ready
from aftermax.sph._weights import positive_weights, weights_within_classes
from aftermax.sph.hyperparameters import check_center, check_window

UNITS_PER_RANGE = 16
CLASSES_PER_RANGE = 4
SPREAD_FLOOR = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class ResponseArray:
    """K x K distributions: row i is the true class, column j the response unit.

    Each is an asymmetric Gaussian: a center, and a spread of its own on either side. A class without validation
    samples has NaN in its row.

    The array is built on raw responses. Adding one constant to all logits shifts it and changes no prediction;
    adding another constant to each sample (as taking the log of softmax does) gives another array.

    Attributes
    ----------
    center, left, right : ndarray of shape (K, K)
        Mean or median, and the spreads below and above it.
    counts : ndarray of shape (K,)
        The number of validation samples that each class was fitted on.
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
        sample_weight: ArrayLike | None = None,
    ) -> ResponseArray:
        """Fit a distribution to how each unit responds to each class.

        Parameters
        ----------
        logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            The model's outputs before softmax, for samples that it was not trained on. One logit for each sample, of a
            binary model, becomes two units: its halves, of either sign.
        labels : array-like of shape (n_samples,)
            The true classes.
        center : {"mean", "median"}, default="mean"
        window_low, window_high : float, default=0.0 and 1.0
            Only samples whose certainty (largest softmax score) is in this window are used. A class with fewer than two
            such samples uses all of its samples.
        classes : array-like of shape (K,), default=None
            The class of each column; see :class:`~aftermax.SPHClassifier`.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample. Only its ratio to those of its own class matters.
        """
        check_center(center)
        check_window(window_low, window_high)
        samples = labelled_samples(logits, labels, classes)
        some, weights = positive_weights(as_weights(sample_weight, len(samples.codes)))
        checked, codes = samples.logits[some], samples.codes[some]
        certainty = softmax_certainty(checked)
        return fit_response_array(checked, codes, samples.classes, certainty, center, window_low, window_high, weights)

    def distances(self, logits: ArrayLike) -> NDArray[np.float64]:
        """M: how many spreads lie between each response and each center, as an array of shape (n_samples, K, K).

        Entry [n, i, j] is the distance of sample n's response j from class i's center, in units of the spread on its
        side. The array is large; :class:`~aftermax.SPHClassifier` does not need it.
        """
        checked = as_logits(logits, strict=False)
        if checked.shape[1] != len(self.classes):
            columns = 1 if is_one_logit(logits) else checked.shape[1]
            raise ValueError(
                f"logits have {columns} columns but the response array has {len(self.classes)} units: pass the logits "
                "of the model it was fitted on, one column per class."
            )
        gap = compute_ready(checked)[:, None, :] - self.center
        return np.asarray(np.abs(gap) / np.where(gap > 0, self.right, self.left))

    def separation(self) -> NDArray[np.float64]:
        """f: how far unit j separates class i from the other classes, as an array of shape (K, K).

        The median, over the other classes with samples, of the distance between the centers in units of the mean of the
        two spreads that face each other. NaN for a class without samples.
        """
        from aftermax.sph import _kernels

        out = np.full((len(self.classes), len(self.classes)), np.nan)
        present = np.flatnonzero(self.counts)
        if len(present) < 2:
            return out

        by_unit = [np.ascontiguousarray(part[present].T) for part in (self.center, self.left, self.right)]
        found = np.empty_like(by_unit[0])
        over_ranges(
            lambda first, last: _kernels.separations(*by_unit, first, last, found), len(self.classes), UNITS_PER_RANGE
        )
        out[present] = found.T
        return out

    def _own_separation(self, i: int) -> float:
        """f of class i and its own unit."""
        others = np.flatnonzero(self.counts)
        others = others[others != i]
        gap = self.center[i, i] - self.center[others, i]
        facing = np.where(gap > 0, self.left[i, i] + self.right[others, i], self.right[i, i] + self.left[others, i])
        return float(np.median(np.abs(gap) / (0.5 * facing))) if len(others) else np.nan

    def __repr__(self) -> str:
        n_classes, n_shown = len(self.classes), min(len(self.classes), 10)
        rows = []
        for i, name in enumerate(self.classes[:n_shown]):
            home, separation = "unknown", ""
            if self.counts[i]:
                home = f"{self.center[i, i]:.3g} (-{self.left[i, i]:.2g} +{self.right[i, i]:.2g})"
                separation = f"{self._own_separation(i):.3g} spreads"
            rows.append([str(name), f"{self.counts[i]}", home, separation])
        table = aligned(["class", "samples", "response of its own unit", "separation"], rows)
        lines = [
            f"ResponseArray: {n_classes} classes x {n_classes} units, fitted on {self.counts.sum()} samples",
            *(f"  {line}" for line in table.splitlines()),
        ]
        if n_shown < n_classes:
            lines.append(f"  and {n_classes - n_shown} more")
        return "\n".join(lines)


def fit_response_array(
    logits: NDArray[np.float64],
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    certainty: NDArray[np.float64],
    center: str,
    window_low: float,
    window_high: float,
    weights: NDArray[np.float64] | None = None,
) -> ResponseArray:
    """As :meth:`ResponseArray.fit`, from input that is checked already, with labels as column numbers.

    The weights, if there are any, are positive.
    """
    from aftermax.sph import _kernels

    n_classes = logits.shape[1]
    samples, counts = _samples_in_window(codes, certainty, n_classes, window_low, window_high)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    middle, left, right = np.empty((3, n_classes, n_classes))
    relative = np.ones(len(codes)) if weights is None else weights_within_classes(weights, codes, n_classes)

    def work(first: int, last: int) -> None:
        _kernels.fit_classes(logits, relative, samples, offsets, center == "median", first, last, middle, left, right)

    over_ranges(work, n_classes, CLASSES_PER_RANGE)
    floor = _spread_floor(logits)
    return ResponseArray(middle, np.maximum(left, floor), np.maximum(right, floor), counts, classes)


def is_in_window(
    codes: NDArray[np.int64], certainty: NDArray[np.float64], n_classes: int, low: float, high: float
) -> NDArray[np.bool_]:
    """Whether each sample is one that its class is fitted on."""
    inside = (low <= certainty) & (certainty <= high)
    too_few = np.bincount(codes[inside], minlength=n_classes) < 2
    return np.asarray(inside | too_few[codes])


def _samples_in_window(
    codes: NDArray[np.int64], certainty: NDArray[np.float64], n_classes: int, low: float, high: float
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The samples that each class is fitted on, class by class, and how many each has."""
    samples = np.flatnonzero(is_in_window(codes, certainty, n_classes, low, high))
    samples = samples[np.argsort(codes[samples], kind="stable")]
    return samples, np.bincount(codes[samples], minlength=n_classes)


def _spread_floor(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least spread of each unit, so that nothing divides by zero. Weights have no effect on it."""
    from aftermax.sph import _kernels

    deviation = np.empty(logits.shape[1])
    over_ranges(
        lambda first, last: _kernels.unit_deviations(logits, first, last, deviation),
        len(deviation),
        UNITS_PER_RANGE,
    )
    return np.where(deviation == 0, SPREAD_FLOOR, SPREAD_FLOOR * deviation)
