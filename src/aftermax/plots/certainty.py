"""How certain softmax is where it is correct and where it is wrong, and which samples are below the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._heads.lookup import gate_of
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import check_count, check_number
from aftermax.plots._display import Display
from aftermax.plots._inputs import checked_confidence, checked_logits, confidence_from
from aftermax.plots.style import ACCENT, BAND, HATCHED, RULE, bare, integer_ticks, title_and_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CUT_ABOVE = 3.0  # a bar this many times as high as the next is cut


class CertaintyDisplay(Display):
    """How many samples softmax predicts correctly and wrongly, by its certainty, and the gate.

    Below the gate are the samples that SPH may predict in place of softmax. Where many of them are wrong, there is
    most to gain. A bar that is far higher than all others is cut, and its number of samples written in.

    Parameters
    ----------
    certainty : array-like of shape (n_samples,)
        The largest softmax probability of each sample.
    right : array-like of bool of shape (n_samples,)
        Whether softmax's prediction is correct.
    gate : float, default=None
        The certainty gate; None if there is none.

    Attributes
    ----------
    below : int or None
        How many samples are below the gate.
    wrong_below : int or None
        How many of these softmax gets wrong.
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import CertaintyDisplay
    >>> display = CertaintyDisplay([0.4, 0.6, 0.7, 0.95], [False, True, False, True], gate=0.7)
    >>> display.below, display.wrong_below
    (2, 1)
    >>> display.plot().figure_.savefig("certainty.png")  # doctest: +SKIP
    """

    def __init__(self, certainty: ArrayLike, right: ArrayLike, *, gate: float | None = None) -> None:
        self.certainty, self.right = checked_confidence(certainty, right, "certainty")
        self.gate = None if gate is None else check_number("gate", gate, 0.0, 1.0)
        self.below = self.wrong_below = None
        if self.gate is not None:
            below: NDArray[np.bool_] = self.certainty < self.gate
            self.below, self.wrong_below = int(below.sum()), int((below & ~self.right).sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        n_bins: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw softmax's certainty on the logits ``X`` of samples with labels ``y``, and the gate of a fitted head.

        SPH has a gate, also where an AutoHead chose it, unless softmax is kept; other heads have none. Certainty
        depends on the logits alone: ``features`` are ignored, and accepted as by the other Displays.
        """
        logits = checked_logits(estimator, X)
        right = predicted_columns(logits) == label_codes(y, len(logits), estimator.classes_)
        return cls(softmax_certainty(logits), right, gate=gate_of(estimator) or None).plot(n_bins=n_bins, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        probabilities: ArrayLike,
        *,
        gate: float | None = None,
        classes: ArrayLike | None = None,
        n_bins: int = 20,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the certainty of softmax's ``probabilities``, of shape (n_samples, n_classes), given the true classes.

        ``classes`` is the class of each column; if None, the sorted labels.
        """
        certainty, right = confidence_from(y_true, probabilities, "probabilities", classes)
        return cls(certainty, right, gate=gate).plot(n_bins=n_bins, ax=ax)

    def plot(self, *, n_bins: int = 20, ax: Axes | None = None) -> Self:
        """Draw in ``ax`` or in a new figure; ``n_bins`` bins of equal width cover [0, 1]."""
        check_count("n_bins", n_bins)
        axes = self._use_axes(ax, 6.4, 3.8)
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        right, wrong = (np.histogram(self.certainty[samples], edges)[0] for samples in (self.right, ~self.right))
        first = int(np.flatnonzero(right + wrong)[0])
        self._draw_bars(edges[first:], right[first:], wrong[first:])
        if self.gate is not None:
            axes.axvspan(edges[first], self.gate, color=BAND, zorder=0)
            line: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.4}
            axes.axvline(self.gate, label=f"gate: {self.gate:g}", zorder=3, **line)
        axes.set_xlim(edges[first], 1.0)
        self._cut_highest_bar(edges[:-1] + 0.5 / n_bins, right, wrong)
        integer_ticks(axes.yaxis)
        axes.grid(axis="y", color=RULE, linewidth=0.4)
        axes.set(xlabel="certainty: the largest softmax probability", ylabel="samples, as softmax predicts them")
        title_and_legend(axes, self._title())
        bare(axes)
        return self

    def _draw_bars(self, edges: NDArray[np.float64], right: NDArray[np.int64], wrong: NDArray[np.int64]) -> None:
        style: dict[str, Any] = {"width": np.diff(edges), "align": "edge", "linewidth": 0.8, "zorder": 2}
        self.axes_.bar(edges[:-1], wrong, label=f"wrong: {wrong.sum():,} samples", **HATCHED | style)
        style |= {"color": ACCENT, "edgecolor": "white", "bottom": wrong}
        self.axes_.bar(edges[:-1], right, label=f"correct: {right.sum():,} samples", **style)

    def _cut_highest_bar(
        self, middles: NDArray[np.float64], right: NDArray[np.int64], wrong: NDArray[np.int64]
    ) -> None:
        """Where one bar is so high that the others would hardly be seen, end the plot below it, and write it in."""
        counts = right + wrong
        order = np.argsort(-counts, kind="stable")
        if len(counts) < 2 or counts[order[0]] <= CUT_ABOVE * counts[order[1]] or counts[order[1]] == 0:
            return
        highest, limit = order[0], 1.3 * counts[order[1]]
        self.axes_.set_ylim(0, limit)
        text = f"{counts[highest]:,} samples, {wrong[highest]:,} wrong →"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        style: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "top", "fontsize": "small", "bbox": box}
        self.axes_.text(middles[highest], 0.96 * limit, text, zorder=4, **style)

    def _title(self) -> str:
        total = f"{len(self.right):,} samples"
        if self.below is None or self.wrong_below is None:
            return f"Certainty of softmax on {total}"
        if not self.below:
            return f"Below the gate: none of {total}"
        share, wrong = self.below / len(self.right), self.wrong_below / self.below
        return f"Below the gate: {self.below:,} of {total} ({100 * share:.0f} %), {100 * wrong:.0f} % of them wrong"
