"""How certain softmax is where it is right and where it is wrong, and which rows a gate lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labels import label_codes
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import check_count, check_number
from aftermax.plots._inputs import checked_rightness, gate_of, logits_of, right_by_probabilities
from aftermax.plots._style import BAND, HATCHED, HOME, RULE, bare, new_figure, title_and_legend, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

HIGHEST = 3.0  # a bar this many times as high as the next is cut


class CertaintyDisplay:
    """How many rows softmax answers rightly and wrongly, by its certainty, and the gate.

    Rows below the gate are those that SPH may answer in softmax's place. There is most to take where many of them are
    wrong. A bar that is far higher than all others is cut, and its number of rows written in.

    Parameters
    ----------
    certainty : array-like of shape (n_rows,)
        The largest softmax score of each row.
    right : array-like of bool of shape (n_rows,)
        Whether softmax is right.
    gate : float, default=None
        The certainty gate; None if there is none.

    Attributes
    ----------
    below : int or None
        How many rows are below the gate.
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

    axes_: Axes
    figure_: Figure | SubFigure

    def __init__(self, certainty: ArrayLike, right: ArrayLike, *, gate: float | None = None) -> None:
        self.certainty, self.right = checked_rightness(certainty, right, "certainty")
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
    ) -> CertaintyDisplay:
        """Draw softmax's certainty on the rows ``X`` (logits) with labels ``y``, and the gate of a fitted head.

        SPH has a gate, also where an AutoHead chose it, unless softmax is kept; other heads have none. Certainty is in
        the logits alone: ``features`` are not looked at, and may be passed as to the other pictures.
        """
        logits = logits_of(estimator, X)
        right = logits.argmax(axis=1) == label_codes(y, len(logits), estimator.classes_)
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
    ) -> CertaintyDisplay:
        """Draw the certainty of softmax's ``probabilities``, of shape (n_rows, K), given the true classes.

        ``classes`` is the class of each column; if None, the sorted labels.
        """
        certainty, right = right_by_probabilities(y_true, probabilities, "probabilities", classes)
        return cls(certainty, right, gate=gate).plot(n_bins=n_bins, ax=ax)

    def plot(self, *, n_bins: int = 20, ax: Axes | None = None) -> CertaintyDisplay:
        """Draw it, in ``ax`` or in a new figure; ``n_bins`` bars would cover all from 0 to 1."""
        check_count("n_bins", n_bins)
        if ax is None:
            ax = new_figure(6.4, 3.8).subplots()
        self.axes_, self.figure_ = ax, ax.figure
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        right, wrong = (np.histogram(self.certainty[rows], edges)[0] for rows in (self.right, ~self.right))
        first = int(np.flatnonzero(right + wrong)[0])
        style: dict[str, Any] = {"width": 1 / n_bins, "align": "edge", "linewidth": 0.8}
        ax.bar(edges[first:-1], wrong[first:], label=f"wrong: {wrong.sum():,} rows", zorder=2, **HATCHED | style)
        style |= {"color": HOME, "edgecolor": "white", "bottom": wrong[first:], "zorder": 2}
        ax.bar(edges[first:-1], right[first:], label=f"right: {right.sum():,} rows", **style)
        if self.gate is not None:
            ax.axvspan(edges[first], self.gate, color=BAND, zorder=0)
            ax.axvline(self.gate, color="black", linestyle="--", linewidth=1.4, label=f"gate: {self.gate:g}", zorder=3)
        ax.set_xlim(edges[first], 1.0)
        self._cut_the_highest(edges[:-1] + 0.5 / n_bins, right, wrong)
        whole_numbers(ax.yaxis)
        ax.grid(axis="y", color=RULE, linewidth=0.4)
        ax.set(xlabel="certainty: the largest softmax score", ylabel="rows, as softmax answers them")
        title_and_legend(ax, self._title())
        bare(ax)
        return self

    def _cut_the_highest(
        self, middles: NDArray[np.float64], right: NDArray[np.int64], wrong: NDArray[np.int64]
    ) -> None:
        """Where one bar is so high that the others would be too low to see, end the picture below, and write it in."""
        rows = right + wrong
        order = np.argsort(-rows, kind="stable")
        if len(rows) < 2 or rows[order[0]] <= HIGHEST * rows[order[1]] or rows[order[1]] == 0:
            return
        place, limit = order[0], 1.3 * rows[order[1]]
        self.axes_.set_ylim(0, limit)
        text = f"{rows[place]:,} rows, {wrong[place]:,} wrong →"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        style: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "top", "fontsize": "small", "bbox": box}
        self.axes_.text(middles[place], 0.96 * limit, text, zorder=4, **style)

    def _title(self) -> str:
        if self.below is None or self.wrong_below is None:
            return f"Certainty of softmax on {len(self.right):,} rows"
        share = f"{self.below:,} of {len(self.right):,} rows ({100 * self.below / len(self.right):.0f} %)"
        wrong = f"{100 * self.wrong_below / max(self.below, 1):.0f} % of them wrong"
        return (
            f"Below the gate: {share}, {wrong}" if self.below else f"Below the gate: none of {len(self.right):,} rows"
        )
