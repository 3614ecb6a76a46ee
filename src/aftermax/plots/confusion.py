"""Which classes are taken for which: by softmax, by the head, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax.plots._inputs import Answers, answers_from, answers_of
from aftermax.plots._style import (
    HATCHED,
    HOME,
    MOST_NUMBERED,
    OTHER,
    RULE,
    TableNames,
    new_figure,
    panels,
    shades,
    write_cells,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle

LARGEST = 60.0  # the area of the largest mark, in square points


class ConfusionChangeDisplay:
    """Three tables of true class by answer: softmax's, the head's, and the difference.

    Shades are for errors, the darker the more; right answers are in the diagonal. With up to twelve classes all numbers
    are written in, and in the difference a cell is shaded where it changes for the better (fewer errors, or more right
    answers) and hatched where it changes for the worse. With more classes there are filled marks for the better and
    open ones for the worse, the larger the more rows.

    Parameters
    ----------
    before, after : array-like of shape (K, K)
        How many rows of class i (row) are taken for class j (column), by softmax and by the head.
    classes : array-like of shape (K,), default=None
        The class of each row and column; if None, 0 to K - 1.

    Attributes
    ----------
    axes_ : ndarray of three matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import ConfusionChangeDisplay
    >>> scores = load_vmnist(trained_on=100)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> display = ConfusionChangeDisplay.from_estimator(head, scores.test_logits, scores.test_labels)
    >>> display.figure_.savefig("confusion.png")  # doctest: +SKIP
    """

    axes_: NDArray[Any]
    figure_: Figure | SubFigure

    def __init__(self, before: ArrayLike, after: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.before, self.after = np.asarray(before), np.asarray(after)
        self.classes: NDArray[Any] = np.arange(len(self.before)) if classes is None else np.asarray(classes)
        square = (*self.classes.shape, len(self.classes))
        if self.before.ndim != 2 or not self.before.shape == self.after.shape == square or not len(self.classes):
            raise ValueError(
                f"before, after and classes have shapes {self.before.shape}, {self.after.shape} and "
                f"{self.classes.shape}: pass two tables with a row and a column for each class."
            )
        if not np.array_equal(self.before.sum(axis=1), self.after.sum(axis=1)):
            raise ValueError(
                "before and after hold different numbers of rows of a class: pass counts of the same rows."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ConfusionChangeDisplay:
        """Draw what a fitted head changes on the rows ``X`` (logits) with labels ``y``, which it should not have seen.

        ``features`` are for a head that was fitted with them.
        """
        return cls._counted(answers_of(estimator, X, y, features)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ConfusionChangeDisplay:
        """Draw what changes from one answer to another, given the true class of each row.

        ``classes`` are all classes, in order; if None, those that occur, sorted.
        """
        return cls._counted(answers_from(y_true, before, after, classes)).plot(ax=ax)

    @classmethod
    def _counted(cls, answers: Answers) -> ConfusionChangeDisplay:
        size = len(answers.classes)
        before, after = (
            np.bincount(answers.truth * size + some, minlength=size * size).reshape(size, size)
            for some in (answers.before, answers.after)
        )
        return cls(before, after, answers.classes)

    def plot(self, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> ConfusionChangeDisplay:
        """Draw it, in three Axes, ``ax``, or in a new figure."""
        names = TableNames(self.classes)
        if ax is None:
            width = 3 * names.side + names.room + (0.8 if self._numbered else 1.8)
            figure = new_figure(width, names.side + names.room_beneath + 1.1)
            figure.set_layout_engine("compressed")
            ax = figure.subplots(1, 3, sharey=True)
        self.axes_ = panels(ax, 3)
        self.figure_ = self.axes_[0].figure
        errors = [int(counts.sum() - np.trace(counts)) for counts in (self.before, self.after)]
        self._draw_counts(self.axes_[0], self.before)
        image = self._draw_counts(self.axes_[1], self.after)
        self._draw_difference(self.axes_[2])
        if not self._numbered:
            bar = self.figure_.colorbar(image, ax=self.axes_[:2].tolist(), shrink=0.8, aspect=30)
            bar.set_label("errors", fontsize="small")
        titles = [
            f"softmax: {errors[0]:,} errors",
            f"head: {errors[1]:,} errors",
            f"difference: {errors[1] - errors[0]:+,} errors",
        ]
        for axes, title in zip(self.axes_, titles, strict=True):
            axes.set_title(title, fontsize="medium", loc="left")
            axes.set_xlabel("answer")
            names.write(axes)
        self.axes_[0].set_ylabel(f"true class ({int(self.before.sum()):,} rows)")
        self.axes_[2].set_xlabel(f"answer\n{'hatched' if self._numbered else 'open'}: for the worse")
        return self

    @property
    def _numbered(self) -> bool:
        return len(self.classes) <= MOST_NUMBERED

    def _draw_counts(self, axes: Axes, counts: NDArray[Any]) -> AxesImage:
        """Errors in shades, right answers as numbers."""
        most = max(_errors(self.before).max(), _errors(self.after).max(), 1)
        if self._numbered:
            texts = {cell: f"{count:,}" for cell, count in np.ndenumerate(counts) if count}
            write_cells(axes, texts, _errors(counts) > 0.6 * most)
        return shades(axes, _errors(counts), most, "Greys")

    def _draw_difference(self, axes: Axes) -> None:
        change = self.after - self.before
        better = np.where(np.eye(len(change), dtype=bool), change, -change)
        most = max(int(np.abs(better).max()), 1)
        if self._numbered:
            shades(axes, np.maximum(better, 0), most, "Blues")
            for true, answer in np.argwhere(better < 0):
                axes.add_patch(_hatched_cell(true, answer))
            texts = {cell: f"{count:+,}" for cell, count in np.ndenumerate(change) if count}
            write_cells(axes, texts, better > 0.6 * most)
        else:
            self._draw_marks(axes, better, most)

    def _draw_marks(self, axes: Axes, better: NDArray[Any], most: int) -> None:
        size = len(better)
        axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        axes.axline((0, 0), slope=1, color=RULE, linewidth=0.6, zorder=0)
        for chosen, marker, fill, edge in ((better > 0, "s", HOME, HOME), (better < 0, "o", "none", OTHER)):
            true, answer = np.nonzero(chosen)
            area = LARGEST * np.abs(better[chosen]) / most
            axes.scatter(answer, true, s=area, marker=marker, facecolor=fill, edgecolor=edge, linewidths=0.9)


def _errors(counts: NDArray[Any]) -> NDArray[Any]:
    """The table without its diagonal."""
    return np.where(np.eye(len(counts), dtype=bool), 0, counts)


def _hatched_cell(row: int, column: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, linewidth=0, **HATCHED | {"edgecolor": RULE})
