"""What a head changes for each class: wins, losses and the gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._audit.result import ClassCounts, most_changed
from aftermax._utils.text import signed
from aftermax.plots._inputs import Answers, answers_from, answers_of
from aftermax.plots._style import (
    HATCHED,
    HOME,
    LETTER,
    name_rows,
    new_figure,
    shortened,
    title_and_legend,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.transforms import Transform


class GainByClassDisplay:
    """What a head changes, class by class.

    To the right, the rows of a class that only the head gets right (wins); to the left, those that only softmax gets
    right (losses); beside them, how many of the class's rows are wrong before and after, and the gain: the share of
    its errors that is gone. Of many classes, those that change most are shown, and the rest is written below.

    Parameters
    ----------
    classes : array-like of shape (K,)
    rows, errors, wins, losses : array-like of shape (K,)
        Of each class: how many rows it has, how many softmax gets wrong, and how many only the head or only softmax
        gets right.

    Attributes
    ----------
    by_class : tuple of ClassCounts
        The same, a record for each class.
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import GainByClassDisplay
    >>> scores = load_vmnist(trained_on=100)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> display = GainByClassDisplay.from_estimator(head, scores.test_logits, scores.test_labels)
    >>> max(display.by_class, key=lambda one: one.net).name  # the class that it helps most
    9
    >>> display.figure_.savefig("gain-by-class.png")  # doctest: +SKIP
    """

    axes_: Axes
    figure_: Figure | SubFigure

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
        ax: Axes | None = None,
    ) -> GainByClassDisplay:
        """Draw what a fitted head changes on the rows ``X`` (logits) with labels ``y``, which it should not have seen.

        ``features`` are for a head that was fitted with them; ``kind`` is as for :meth:`plot`.
        """
        return cls._counted(answers_of(estimator, X, y, features)).plot(kind=kind, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        kind: Literal["absolute", "relative"] = "absolute",
        ax: Axes | None = None,
    ) -> GainByClassDisplay:
        """Draw what changes from one answer to another, given the true class of each row.

        ``classes`` are all classes; if None, those that occur. ``kind`` is as for :meth:`plot`.
        """
        return cls._counted(answers_from(y_true, before, after, classes)).plot(kind=kind, ax=ax)

    @classmethod
    def _counted(cls, answers: Answers) -> GainByClassDisplay:
        before, after = answers.before == answers.truth, answers.after == answers.truth

        def count(rows: NDArray[np.bool_]) -> NDArray[np.int64]:
            return np.bincount(answers.truth[rows], minlength=len(answers.classes))

        return cls(
            answers.classes,
            rows=count(np.ones_like(before)),
            errors=count(~before),
            wins=count(after & ~before),
            losses=count(before & ~after),
        )

    def plot(self, *, kind: Literal["absolute", "relative"] = "absolute", ax: Axes | None = None) -> GainByClassDisplay:
        """Draw it, in ``ax`` or in a new figure.

        Bars are in rows, or, if ``kind`` is "relative", in per cent of the class's errors before; there a class without
        errors has no bar.
        """
        if kind not in ("absolute", "relative"):
            raise ValueError(f"kind={kind!r} is no way to draw gains: choose 'absolute' or 'relative'.")
        shown, rest = most_changed(self.by_class)
        if ax is None:
            letters = max(len(shortened(one.name, 20)) for one in shown)
            ax = new_figure(6.6 + LETTER * letters, 1.6 + 0.27 * max(len(shown), 4)).subplots()
        self.axes_, self.figure_ = ax, ax.figure
        draw_wins_and_losses(ax, shown, rest, relative=kind == "relative")
        for place, one in enumerate(shown):
            gain = signed(one.net / one.errors) if one.errors else "none"
            self._write_beside((1, place), f"{one.errors:,} → {one.errors - one.net:,}", gain, ax.get_yaxis_transform())
        self._write_beside((1, 1), "errors", "gain", ax.transAxes, up=12)
        return self

    def _write_beside(
        self, place: tuple[float, float], errors: str, gain: str, coordinates: Transform, up: float = 0.0
    ) -> None:
        """Two texts to the right of the bars."""
        at: dict[str, Any] = {"xycoords": coordinates, "textcoords": "offset points"}
        for text, across in ((errors, 68), (gain, 124)):
            self.axes_.annotate(text, place, (across, up), ha="right", va="center", fontsize="small", **at)


def draw_wins_and_losses(
    axes: Axes, shown: list[ClassCounts], rest: list[ClassCounts], *, relative: bool = False
) -> None:
    """Bars of wins to the right and of losses to the left, a row for each class; what is left over is written below."""
    places = np.arange(len(shown))
    counts = np.array([(one.wins, one.losses) for one in shown]).T
    errors = np.array([one.errors for one in shown])
    shares = 100 * np.divide(counts, errors, out=np.zeros(counts.shape), where=errors > 0)
    wins, losses = shares if relative else counts
    axes.barh(places, wins, height=0.7, color=HOME, edgecolor=HOME, label="only the head is right")
    axes.barh(places, -losses, height=0.7, label="only softmax is right", **HATCHED)
    axes.axvline(0.0, color="black", linewidth=0.8)
    widest = max(wins.max(), losses.max(), 1)
    for ends, numbers, side, align in ((wins, counts[0], 1, "left"), (losses, counts[1], -1, "right")):
        for place, end in enumerate(ends):
            if end:
                text = f"{numbers[place]:,}"
                axes.text(side * (end + 0.02 * widest), place, text, ha=align, va="center", fontsize="x-small")
    name_rows(axes, [shortened(one.name, 20) for one in shown])
    axes.set_xlim(-losses.max() - 0.12 * widest, wins.max() + 0.12 * widest)
    whole_numbers(axes.xaxis)
    unit = "% of the class's errors before (in numbers: rows)" if relative else "rows"
    axes.set_xlabel(unit + "".join(f"\n{one.name}: wins {one.wins:,}, losses {one.losses:,}" for one in rest))
    title_and_legend(axes, "Wins and losses, by true class")
