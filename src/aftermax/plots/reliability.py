"""Are the probabilities calibrated? Accuracy against confidence, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binned_statistic

from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import check_count
from aftermax.plots._display import Display
from aftermax.plots._inputs import (
    call_head,
    check_same_length,
    checked_confidence,
    checked_logits,
    confidence_and_correct,
    confidence_from,
)
from aftermax.plots.style import ACCENT, GREY, HATCHED, RULE, bare, new_figure, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aftermax.plots._display import AxesList

ENOUGH_SAMPLES = 10  # a bin with fewer has a small marker
LINE_BEFORE: dict[str, Any] = {"marker": "o", "color": GREY, "mfc": "white"}
LINE_AFTER: dict[str, Any] = {"marker": "D", "color": ACCENT}
BAR_AFTER: dict[str, Any] = {"color": ACCENT, "edgecolor": ACCENT}


class Bins(NamedTuple):
    """For each bin of confidence: how many samples, their mean confidence and their accuracy (NaN if it is empty)."""

    rows: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far accuracy and confidence of a sample's bin are apart, on average."""
        return float(np.nansum(self.rows * np.abs(self.accuracy - self.confidence)) / self.rows.sum())


class ReliabilityDisplay(Display):
    """A reliability diagram of softmax and of a head: accuracy by confidence.

    Calibrated probabilities lie on the diagonal; below it, they are overconfident. The expected calibration error (ECE)
    is the mean distance from the diagonal over the samples. Below, the number of samples by confidence; bins with fewer
    than ten have small markers that no line joins.

    Parameters
    ----------
    confidence_before, confidence_after : array-like of shape (n_samples,)
        The largest probability of each sample, by softmax and by the head.
    right_before, right_after : array-like of bool of shape (n_samples,)
        Whether the prediction is correct.
    n_bins : int, default=10
        Number of bins of equal width that cover [0, 1].

    Attributes
    ----------
    before, after : Bins
        ``rows`` (the number of samples), mean ``confidence`` and ``accuracy`` of each bin, and ``calibration_error``.
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import ReliabilityDisplay
    >>> before, after = [[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.3, 0.7]]
    >>> display = ReliabilityDisplay.from_predictions(["cat", "dog"], before, after)
    >>> display.after.calibration_error < display.before.calibration_error
    True
    >>> display.figure_.savefig("reliability.png")  # doctest: +SKIP
    """

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
        before = checked_confidence(confidence_before, right_before, "confidence_before")
        after = checked_confidence(confidence_after, right_after, "confidence_after")
        check_same_length("confidence_before", len(before[0]), "confidence_after", len(after[0]))
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
        ax: AxesList | None = None,
    ) -> Self:
        """Draw the reliability of softmax and of a fitted head on the logits ``X`` of samples with labels ``y``.

        Pass samples that the head was not fitted on; ``features`` are for a head that was fitted with them.
        """
        logits = checked_logits(estimator, X)
        truth = label_codes(y, len(logits), estimator.classes_)
        before = np.minimum(softmax_certainty(logits), 1.0), predicted_columns(logits) == truth
        after = confidence_and_correct(call_head(estimator, "predict_proba", X, features), truth)
        return cls(*before, *after, n_bins=n_bins).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        n_bins: int = 10,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw the reliability of probabilities ``before`` and ``after``, of shape (n_samples, n_classes).

        ``y_true`` are the true classes and ``classes`` is the class of each column; if None, the sorted labels.
        """
        first = confidence_from(y_true, before, "before", classes)
        second = confidence_from(y_true, after, "after", classes)
        return cls(*first, *second, n_bins=n_bins).plot(ax=ax)

    def plot(self, *, ax: AxesList | None = None) -> Self:
        """Draw in two Axes, ``ax``, or in a new figure."""
        if ax is None:
            ax = new_figure(5.4, 6.2).subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
        above, below = self._use_panels(ax, 2)
        above.plot([0, 1], [0, 1], color=RULE, linestyle="--", linewidth=1.0, label="calibrated", zorder=1)
        _draw_accuracy(above, self.before, "softmax", LINE_BEFORE)
        _draw_accuracy(above, self.after, "head", LINE_AFTER)
        above.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="accuracy")
        title_and_legend(above, "Reliability before and after")
        _draw_counts(below, self.before.rows, -1, HATCHED)
        _draw_counts(below, self.after.rows, 1, BAR_AFTER)
        below.set(xlim=(0, 1), yscale="log", xlabel="confidence: the largest probability", ylabel="samples (log scale)")
        below.set_ylim(bottom=0.7)
        below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
        for axes in self.axes_:
            bare(axes)
        return self


def _draw_accuracy(axes: Axes, bins: Bins, name: str, style: dict[str, Any]) -> None:
    many, few = bins.rows >= ENOUGH_SAMPLES, (bins.rows > 0) & (bins.rows < ENOUGH_SAMPLES)
    label = f"{name}: ECE {100 * bins.calibration_error:.1f} %"
    axes.plot(bins.confidence[many], bins.accuracy[many], markersize=5.5, linewidth=1.1, label=label, **style)
    axes.plot(bins.confidence[few], bins.accuracy[few], markersize=3, linestyle="none", **style)


def _draw_counts(axes: Axes, counts: NDArray[np.int64], side: int, style: dict[str, Any]) -> None:
    """Bars to one side of the middle of each bin."""
    width = 1 / len(counts)
    middles = (np.arange(len(counts)) + 0.5) * width
    axes.bar(middles + side * 0.2 * width, counts, width=0.4 * width, **style)


def _binned(confidence: NDArray[Any], right: NDArray[np.bool_], n_bins: int) -> Bins:
    edges = np.arange(n_bins + 1) / n_bins
    counts = np.histogram(confidence, edges)[0]
    return Bins(counts, *binned_statistic(confidence, [confidence, right], bins=edges).statistic)
