"""What a head changes for each class: wins, losses and the gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._audit.counts import MAX_CLASSES, ClassCounts, most_changed
from aftermax._utils.text import signed, width
from aftermax.plots._display import Display
from aftermax.plots._inputs import Predictions, predictions_from, predictions_of
from aftermax.plots._many_classes import check_max_classes
from aftermax.plots.style import (
    ACCENT,
    HATCHED,
    LETTER_WIDTH,
    integer_ticks,
    name_lines,
    shortened,
    title_and_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Transform


class GainByClassDisplay(Display):
    """What a head changes, class by class.

    To the right, the samples of a class that only the head predicts correctly (wins); to the left, those that only
    softmax predicts correctly (losses); beside them, the errors before and after, and the gain: the relative reduction
    of the class's errors. Of many classes, those that change most are shown, and the others are summed up below.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
    rows, errors, wins, losses : array-like of shape (n_classes,)
        For each class: how many samples it has, how many softmax gets wrong, and how many only the head or only softmax
        predicts correctly.

    Attributes
    ----------
    by_class : tuple of ClassCounts
        The same, one record for each class.
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import GainByClassDisplay
    >>> counts = {"rows": [50, 40], "errors": [9, 4], "wins": [5, 1], "losses": [1, 2]}
    >>> display = GainByClassDisplay(["cat", "dog"], **counts)
    >>> [one.net for one in display.by_class]  # by how many the errors drop
    [4, -1]
    >>> display.plot(kind="relative").figure_.savefig("gain-by-class.png")  # doctest: +SKIP
    """

    def __init__(
        self, classes: ArrayLike, *, rows: ArrayLike, errors: ArrayLike, wins: ArrayLike, losses: ArrayLike
    ) -> None:
        columns = [np.asarray(column) for column in (classes, rows, errors, wins, losses)]
        if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1 or not len(columns[0]):
            shapes = ", ".join(str(column.shape) for column in columns)
            raise ValueError(
                f"classes, rows, errors, wins and losses have shapes {shapes}: pass one number for each class."
            )
        if any((column < 0).any() for column in columns[1:]):
            raise ValueError("rows, errors, wins or losses hold a number below 0: pass counts.")
        self.by_class = tuple(ClassCounts(*one) for one in zip(*(column.tolist() for column in columns), strict=True))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        kind: Literal["absolute", "relative"] = "absolute",
        max_classes: int = MAX_CLASSES,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what a fitted head changes on the logits ``X`` of held-out samples with labels ``y``.

        Pass ``features`` for a head that was fitted with them; ``kind`` and ``max_classes`` are as for :meth:`plot`.
        """
        predictions = predictions_of(estimator, X, y, features)
        return cls._from(predictions).plot(kind=kind, max_classes=max_classes, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        kind: Literal["absolute", "relative"] = "absolute",
        max_classes: int = MAX_CLASSES,
        ax: Axes | None = None,
    ) -> Self:
        """Draw what changes from the predicted classes ``before`` to those ``after``, given the true classes.

        ``classes`` are all classes; if None, those that occur. ``kind`` and ``max_classes`` are as for :meth:`plot`.
        """
        predictions = predictions_from(y_true, before, after, classes)
        return cls._from(predictions).plot(kind=kind, max_classes=max_classes, ax=ax)

    @classmethod
    def _from(cls, predictions: Predictions) -> Self:
        before, after = predictions.correct

        def count(samples: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(predictions.truth[samples], minlength=len(predictions.classes))

        return cls(
            predictions.classes,
            rows=count(np.ones_like(before)),
            errors=count(~before),
            wins=count(after & ~before),
            losses=count(before & ~after),
        )

    def plot(
        self,
        *,
        kind: Literal["absolute", "relative"] = "absolute",
        max_classes: int = MAX_CLASSES,
        ax: Axes | None = None,
    ) -> Self:
        """Draw in ``ax`` or in a new figure.

        Bars are numbers of samples or, if ``kind`` is "relative", per cent of the class's errors before; then a class
        without errors has no bar. Of more than ``max_classes``, those that change most are drawn.
        """
        check_max_classes(max_classes)
        if kind not in ("absolute", "relative"):
            raise ValueError(f"kind={kind!r} is not known: choose 'absolute' or 'relative'.")
        shown, rest = most_changed(self.by_class, max_classes)
        letters = max(width(shortened(one.name, 20)) for one in shown)
        axes = self._use_axes(ax, 6.6 + LETTER_WIDTH * letters, 1.6 + 0.27 * max(len(shown), 4))
        draw_wins_and_losses(axes, shown, rest, relative=kind == "relative")
        for line, one in enumerate(shown):
            gain = signed(one.net / one.errors) if one.errors else "none"
            errors = f"{one.errors:,} → {one.errors - one.net:,}"
            self._write_beside((1, line), errors, gain, axes.get_yaxis_transform())
        self._write_beside((1, 1), "errors", "gain", axes.transAxes, up=12)
        return self

    def _write_beside(
        self, at: tuple[float, float], errors: str, gain: str, coordinates: Transform, up: float = 0.0
    ) -> None:
        """Two texts to the right of the bars."""
        style: dict[str, Any] = {"xycoords": coordinates, "textcoords": "offset points"}
        for text, across in ((errors, 68), (gain, 124)):
            self.axes_.annotate(text, at, (across, up), ha="right", va="center", fontsize="small", **style)


def draw_wins_and_losses(
    axes: Axes, shown: list[ClassCounts], rest: list[ClassCounts], *, relative: bool = False
) -> None:
    """Bars of wins to the right and of losses to the left, one line for each class; the rest is written below."""
    lines = np.arange(len(shown))
    counts = np.array([(one.wins, one.losses) for one in shown]).T
    errors = np.array([one.errors for one in shown])
    shares = 100 * np.divide(counts, errors, out=np.zeros(counts.shape), where=errors > 0)
    wins, losses = shares if relative else counts
    axes.barh(lines, wins, height=0.7, color=ACCENT, edgecolor=ACCENT, label="only the head is correct")
    axes.barh(lines, -losses, height=0.7, label="only softmax is correct", **HATCHED)
    axes.axvline(0.0, color="black", linewidth=0.8)
    widest = max(wins.max(), losses.max(), 1)
    for lengths, numbers, side, align in ((wins, counts[0], 1, "left"), (losses, counts[1], -1, "right")):
        for line in np.flatnonzero(lengths).tolist():
            end = side * (lengths[line] + 0.02 * widest)
            axes.text(end, line, f"{numbers[line]:,}", ha=align, va="center", fontsize="x-small")
    name_lines(axes, [shortened(one.name, 20) for one in shown])
    axes.set_xlim(-losses.max() - 0.12 * widest, wins.max() + 0.12 * widest)
    integer_ticks(axes.xaxis)
    unit = "% of the class's errors before (numbers: samples)" if relative else "samples"
    axes.set_xlabel(unit + "".join(f"\n{one.name}: wins {one.wins:,}, losses {one.losses:,}" for one in rest))
    title_and_legend(axes, "Wins and losses, by true class")
