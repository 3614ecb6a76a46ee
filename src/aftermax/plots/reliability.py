"""Can probabilities be believed? Accuracy against confidence, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labels import label_codes
from aftermax._utils.softmax import softmax
from aftermax._utils.validation import check_count
from aftermax.plots._inputs import (
    asked,
    checked_rightness,
    largest_and_right,
    logits_of,
    right_by_probabilities,
    same_rows,
)
from aftermax.plots._style import HATCHED, HOME, OTHER, RULE, bare, new_figure, panels, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ENOUGH_ROWS = 10  # a bin with fewer has a small mark


class Bins(NamedTuple):
    """Rows by their confidence: how many, how confident and how often right in the mean (NaN where there are none)."""

    rows: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far confidence and accuracy are apart, in the mean over the rows."""
        return float(np.nansum(self.rows * np.abs(self.accuracy - self.confidence)) / self.rows.sum())


class ReliabilityDisplay:
    """How often answers are right, by how confident they are, for softmax and for a head.

    Where probabilities can be believed, the marks lie on the diagonal; below it, they promise too much. The expected
    calibration error (ECE) is the distance from the diagonal, in the mean over the rows. Below, how many rows there are
    of each confidence; bins with fewer than ten have small marks that no line joins.

    Parameters
    ----------
    confidence_before, confidence_after : array-like of shape (n_rows,)
        The largest probability of each row, by softmax and by the head.
    right_before, right_after : array-like of bool of shape (n_rows,)
        Whether the answer is right.
    n_bins : int, default=10
        How many bins, equally wide, cover confidences from 0 to 1.

    Attributes
    ----------
    before, after : Bins
        ``rows``, mean ``confidence`` and ``accuracy`` of each bin, and ``calibration_error``.
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import ReliabilityDisplay
    >>> scores = load_vmnist(trained_on=100)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> display = ReliabilityDisplay.from_estimator(head, scores.test_logits, scores.test_labels)
    >>> display.after.calibration_error < display.before.calibration_error
    True
    >>> display.figure_.savefig("reliability.png")  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Figure | SubFigure

    def __init__(
        self,
        confidence_before: ArrayLike,
        right_before: ArrayLike,
        confidence_after: ArrayLike,
        right_after: ArrayLike,
        *,
        n_bins: int = 10,
    ) -> None:
        check_count("n_bins", n_bins)
        before = checked_rightness(confidence_before, right_before, "confidence_before")
        after = checked_rightness(confidence_after, right_after, "confidence_after")
        same_rows("confidence_before", len(before[0]), "confidence_after", len(after[0]))
        self.before, self.after = _binned(*before, n_bins), _binned(*after, n_bins)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of softmax and of a fitted head on the rows ``X`` (logits) with labels ``y``.

        The head should not have seen these rows. ``features`` are for a head that was fitted with them.
        """
        before = softmax(logits_of(estimator, X))
        after = asked(estimator, "predict_proba", X, features)
        truth = label_codes(y, len(before), estimator.classes_)
        first, second = largest_and_right(before, truth), largest_and_right(after, truth)
        return cls(*first, *second, n_bins=n_bins).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of probabilities ``before`` and ``after``, of shape (n_rows, K), given the true classes.

        ``classes`` is the class of each column; if None, the sorted labels.
        """
        first = right_by_probabilities(y_true, before, "before", classes)
        second = right_by_probabilities(y_true, after, "after", classes)
        return cls(*first, *second, n_bins=n_bins).plot(ax=ax)

    def plot(self, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> ReliabilityDisplay:
        """Draw it, in two Axes, ``ax``, or in a new figure."""
        if ax is None:
            ax = new_figure(5.4, 6.2).subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
        above, below = self.axes_ = panels(ax, 2)
        self.figure_ = above.figure
        above.plot([0, 1], [0, 1], color=RULE, linestyle="--", linewidth=1.0, label="as promised", zorder=1)
        below_style: dict[str, Any] = {"color": HOME, "edgecolor": HOME}
        self._draw(above, below, self.before, "softmax", -1, {"marker": "o", "color": OTHER, "mfc": "white"}, HATCHED)
        self._draw(above, below, self.after, "head", 1, {"marker": "D", "color": HOME}, below_style)
        above.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share of answers that are right")
        title_and_legend(above, "Reliability before and after")
        below.set(xlim=(0, 1), yscale="log", xlabel="confidence: the largest probability", ylabel="rows (log scale)")
        below.set_ylim(bottom=0.7)
        below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
        for axes in self.axes_:
            bare(axes)
        return self

    @staticmethod
    def _draw(
        above: Axes, below: Axes, bins: Bins, name: str, side: int, line: dict[str, Any], bar: dict[str, Any]
    ) -> None:
        """A line of marks above and bars beneath, to one side of the middle of each bin."""
        many, few = bins.rows >= ENOUGH_ROWS, (bins.rows > 0) & (bins.rows < ENOUGH_ROWS)
        label = f"{name}: ECE {100 * bins.calibration_error:.1f} %"
        above.plot(bins.confidence[many], bins.accuracy[many], markersize=5.5, linewidth=1.1, label=label, **line)
        above.plot(bins.confidence[few], bins.accuracy[few], markersize=3, linestyle="none", **line)
        width = 1 / len(bins.rows)
        middles = (np.arange(len(bins.rows)) + 0.5) * width
        below.bar(middles + side * 0.2 * width, bins.rows, width=0.4 * width, label=name, **bar)


def _binned(confidence: NDArray[Any], right: NDArray[np.bool_], n_bins: int) -> Bins:
    places = np.minimum((confidence * n_bins).astype(np.int64), n_bins - 1)
    rows = np.bincount(places, minlength=n_bins)
    sums = (np.bincount(places, values, minlength=n_bins) for values in (confidence, right.astype(np.float64)))
    return Bins(rows, *(np.divide(total, rows, out=np.full(n_bins, np.nan), where=rows > 0) for total in sums))
