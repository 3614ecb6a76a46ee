"""Are the probabilities calibrated? Accuracy against confidence: softmax, with a temperature, and a head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.reliability import Bins, binned
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import check_count
from aftermax._utils.warned import kept_warnings
from aftermax.auto.softmax import SoftmaxClassifier
from aftermax.plots._display import Display
from aftermax.plots._inputs import (
    call_head,
    check_same_length,
    checked_confidence,
    checked_logits,
    confidence_and_correct,
    confidence_from,
    true_columns,
)
from aftermax.plots.style import ACCENT, GREY, HATCHED, RULE, bare, new_figure, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from aftermax.plots._display import AxesList

SCALED = "#c46a1f"
SMALLEST = 1e-300  # probabilities below this have no logarithm to speak of
ENOUGH_TO_SCALE = 20  # samples, without which no temperature can be fitted out-of-fold
ENOUGH_SAMPLES = 10  # a bin with fewer has a small marker
LINE_BEFORE: dict[str, Any] = {"marker": "o", "color": GREY, "mfc": "white"}
LINE_SCALED: dict[str, Any] = {"marker": "^", "color": SCALED, "mfc": "white", "linestyle": "--"}
LINE_AFTER: dict[str, Any] = {"marker": "D", "color": ACCENT}
BAR_SCALED: dict[str, Any] = {"facecolor": "white", "edgecolor": SCALED}
BAR_AFTER: dict[str, Any] = {"color": ACCENT, "edgecolor": ACCENT}


class ReliabilityDisplay(Display):
    """A reliability diagram of softmax, of softmax with a temperature, and of a head: accuracy by confidence.

    Calibrated probabilities lie on the diagonal; below it, they are overconfident. The expected calibration error (ECE)
    is the mean distance from the diagonal over the samples. Upright lines are 95 % intervals of the accuracy (Wilson's,
    of independent samples). Below, the number of samples by confidence; bins with fewer than ten have small markers
    that no line joins.

    Temperature scaling is what a head competes with where only the probabilities count. From an estimator or from
    probabilities, it is fitted on the samples shown, out-of-fold: each has a temperature that was fitted without it.
    With fewer than 20 samples it is left out.

    Parameters
    ----------
    confidence_before, confidence_after : array-like of shape (n_samples,)
        The largest probability of each sample, by softmax and by the head.
    right_before, right_after : array-like of bool of shape (n_samples,)
        Whether the prediction is correct.
    confidence_scaled : array-like of shape (n_samples,), default=None
        The largest probability of each sample, by softmax with a temperature, which predicts as softmax does.
    n_bins : int, default=10
        Number of bins of equal width that cover [0, 1].

    Attributes
    ----------
    before, after : Bins
        ``rows`` (the number of samples), mean ``confidence`` and ``accuracy`` of each bin with its interval, ``low``
        to ``high``, and ``calibration_error``.
    scaled : Bins or None
        The same of softmax with a temperature.
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
        confidence_scaled: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> None:
        check_count("n_bins", n_bins)
        before = checked_confidence(confidence_before, right_before, "confidence_before")
        after = checked_confidence(confidence_after, right_after, "confidence_after")
        check_same_length("confidence_before", len(before[0]), "confidence_after", len(after[0]))
        self.before, self.after = binned(*before, n_bins), binned(*after, n_bins)
        self.scaled: Bins | None = None
        if confidence_scaled is not None:
            self.scaled = binned(*checked_confidence(confidence_scaled, right_before, "confidence_scaled"), n_bins)

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
        return cls(*before, *after, confidence_scaled=_scaled(logits, truth), n_bins=n_bins).plot(ax=ax)

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
        logits = np.log(np.maximum(np.asarray(before, dtype=np.float64), SMALLEST))
        scaled = _scaled(logits, true_columns(y_true, logits.shape, classes, "before"))
        return cls(*first, *second, confidence_scaled=scaled, n_bins=n_bins).plot(ax=ax)

    def plot(self, *, ax: AxesList | None = None) -> Self:
        """Draw in two Axes, ``ax``, or in a new figure."""
        if ax is None:
            ax = new_figure(5.4, 6.2).subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
        above, below = self._use_panels(ax, 2)
        above.plot([0, 1], [0, 1], color=RULE, linestyle="--", linewidth=1.0, label="calibrated", zorder=1)
        shown = [("softmax", self.before, LINE_BEFORE, HATCHED)]
        if self.scaled is not None:
            shown.append(("with a temperature", self.scaled, LINE_SCALED, BAR_SCALED))
        shown.append(("head", self.after, LINE_AFTER, BAR_AFTER))
        for place, (name, bins, line, bar) in enumerate(shown):
            _draw_accuracy(above, bins, name, line)
            _draw_counts(below, bins.rows, (place + 0.5) / len(shown), bar, 0.8 / len(shown))
        above.set(xlim=(0, 1), ylim=(-0.02, 1.02), ylabel="accuracy, with 95 % interval")
        title_and_legend(above, "Reliability before and after", columns=2)
        below.set(xlim=(0, 1), yscale="log", xlabel="confidence: the largest probability", ylabel="samples (log scale)")
        below.set_ylim(bottom=0.7)
        below.yaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
        for axes in self.axes_:
            bare(axes)
        return self


def _scaled(logits: NDArray[Any], truth: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """The confidence of softmax with a temperature that was fitted without the sample; None if there are too few."""
    if len(logits) < ENOUGH_TO_SCALE or np.ptp(truth) == 0:
        return None
    with kept_warnings():  # about the samples, whose display this is not
        scaled = SoftmaxClassifier(classes=np.arange(logits.shape[1])).fit(logits, truth).held_out_proba_
    return None if scaled is None else np.minimum(scaled.max(axis=1), 1.0)


def _draw_accuracy(axes: Axes, bins: Bins, name: str, style: dict[str, Any]) -> None:
    many, few = bins.rows >= ENOUGH_SAMPLES, (bins.rows > 0) & (bins.rows < ENOUGH_SAMPLES)
    label = f"{name}: ECE {100 * bins.calibration_error:.1f} %"
    axes.plot(bins.confidence[many], bins.accuracy[many], label=label, **{"markersize": 5.5, "linewidth": 1.1} | style)
    axes.plot(bins.confidence[few], bins.accuracy[few], **{"markersize": 3} | style | {"linestyle": "none"})
    some = bins.rows > 0
    axes.vlines(bins.confidence[some], bins.low[some], bins.high[some], color=style["color"], linewidth=0.8, zorder=1.5)


def _draw_counts(axes: Axes, counts: NDArray[np.int64], place: float, style: dict[str, Any], share: float) -> None:
    """Bars at one place in each bin, from 0 to 1, that take a share of its width."""
    width = 1 / len(counts)
    axes.bar((np.arange(len(counts)) + 0.1 + 0.8 * place) * width, counts, width=share * width, **style)
