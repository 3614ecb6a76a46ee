"""Which classes are confused: by softmax, by the head, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix

from aftermax.plots._display import Display
from aftermax.plots._inputs import Predictions, predictions_from, predictions_of
from aftermax.plots.style import (
    ACCENT,
    GREY,
    HATCHED,
    MAX_ANNOTATED,
    RULE,
    HeatmapLabels,
    annotate_cells,
    draw_heatmap,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle

    from aftermax.plots._display import AxesList

MAX_AREA = 60.0  # of a marker, in square points


class ConfusionChangeDisplay(Display):
    """Three confusion matrices, true class by predicted class: softmax's, the head's, and the difference.

    Errors are shaded, the darker the more; correct predictions are on the diagonal. With up to twelve classes all
    numbers are written in, and in the difference a cell is shaded where it is better than before (fewer errors, or
    more correct predictions) and hatched where it is worse. With more classes, filled markers are better and open ones
    worse, and their area is the number of samples.

    Parameters
    ----------
    before, after : array-like of shape (n_classes, n_classes)
        How many samples of class i (row) are predicted as class j (column), by softmax and by the head.
    classes : array-like of shape (n_classes,), default=None
        The class of each row and column; if None, 0 to n_classes - 1.

    Attributes
    ----------
    axes_ : ndarray of three matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import ConfusionChangeDisplay
    >>> y_true, before, after = ["ant", "ant", "bee"], ["ant", "bee", "ant"], ["ant", "ant", "ant"]
    >>> display = ConfusionChangeDisplay.from_predictions(y_true, before, after)
    >>> display.after - display.before
    array([[ 1, -1],
           [ 0,  0]])
    """

    def __init__(self, before: ArrayLike, after: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.before, self.after = np.asarray(before), np.asarray(after)
        self.classes: NDArray[Any] = np.arange(len(self.before)) if classes is None else np.asarray(classes)
        square = (*self.classes.shape, len(self.classes))
        if self.before.ndim != 2 or not self.before.shape == self.after.shape == square or not len(self.classes):
            raise ValueError(
                f"before, after and classes have shapes {self.before.shape}, {self.after.shape} and "
                f"{self.classes.shape}: pass two matrices with a row and a column for each class."
            )
        if not np.array_equal(self.before.sum(axis=1), self.after.sum(axis=1)):
            raise ValueError("before and after count different numbers of samples of a class: pass the same samples.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw what a fitted head changes on the logits ``X`` of held-out samples with labels ``y``.

        Pass ``features`` for a head that was fitted with them.
        """
        return cls._from(predictions_of(estimator, X, y, features)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw what changes from the predicted classes ``before`` to those ``after``, given the true classes.

        ``classes`` are all classes, in order; if None, those that occur, sorted.
        """
        return cls._from(predictions_from(y_true, before, after, classes)).plot(ax=ax)

    @classmethod
    def _from(cls, predictions: Predictions) -> Self:
        classes, truth, before, after = predictions
        columns = np.arange(len(classes))
        first, second = (confusion_matrix(truth, predicted, labels=columns) for predicted in (before, after))
        return cls(first, second, classes)

    def plot(self, *, ax: AxesList | None = None) -> Self:
        """Draw in three Axes, ``ax``, or in a new figure."""
        labels = HeatmapLabels(self.classes)
        panels = self._use_panels(self._new_axes(labels) if ax is None else ax, 3)
        self._draw_counts(panels[0], self.before)
        image = self._draw_counts(panels[1], self.after)
        self._draw_difference(panels[2])
        if not self._annotated:
            bar = self.figure_.colorbar(image, ax=panels[:2].tolist(), shrink=0.8, aspect=30)
            bar.set_label("errors", fontsize="small")
        before, after = (int(_errors(counts).sum()) for counts in (self.before, self.after))
        titles = f"softmax: {before:,} errors", f"head: {after:,} errors", f"difference: {after - before:+,} errors"
        for axes, title in zip(panels, titles, strict=True):
            axes.set_title(title, fontsize="medium", loc="left")
            axes.set_xlabel("predicted class")
            labels.write(axes)
        panels[0].set_ylabel(f"true class ({int(self.before.sum()):,} samples)")
        panels[2].set_xlabel(f"predicted class\n{'hatched' if self._annotated else 'open'}: worse than before")
        return self

    def _new_axes(self, labels: HeatmapLabels) -> AxesList:
        width = 3 * labels.side + labels.width + (0.8 if self._annotated else 1.8)
        figure = new_figure(width, labels.side + labels.height + 1.1)
        figure.set_layout_engine("compressed")
        axes: AxesList = figure.subplots(1, 3, sharey=True)
        return axes

    @property
    def _annotated(self) -> bool:
        return len(self.classes) <= MAX_ANNOTATED

    def _draw_counts(self, axes: Axes, counts: NDArray[Any]) -> AxesImage:
        """Errors in shades, correct predictions as numbers."""
        largest = max(_errors(self.before).max(), _errors(self.after).max(), 1)
        if self._annotated:
            texts = {cell: f"{count:,}" for cell, count in np.ndenumerate(counts) if count}
            annotate_cells(axes, texts, _errors(counts) > 0.6 * largest)
        return draw_heatmap(axes, _errors(counts), largest, "Greys")

    def _draw_difference(self, axes: Axes) -> None:
        change = self.after - self.before
        better = np.where(np.eye(len(change), dtype=bool), change, -change)
        largest = max(int(np.abs(better).max()), 1)
        if self._annotated:
            draw_heatmap(axes, np.maximum(better, 0), largest, "Blues")
            for true, predicted in np.argwhere(better < 0):
                axes.add_patch(_hatched_cell(true, predicted))
            texts = {cell: f"{count:+,}" for cell, count in np.ndenumerate(change) if count}
            annotate_cells(axes, texts, better > 0.6 * largest)
        else:
            self._draw_markers(axes, better, largest)

    def _draw_markers(self, axes: Axes, better: NDArray[Any], largest: int) -> None:
        size = len(better)
        axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
        axes.axline((0, 0), slope=1, color=RULE, linewidth=0.6, zorder=0)
        for cells, marker, fill, edge in ((better > 0, "s", ACCENT, ACCENT), (better < 0, "o", "none", GREY)):
            true, predicted = np.nonzero(cells)
            area = MAX_AREA * np.abs(better[cells]) / largest
            axes.scatter(predicted, true, s=area, marker=marker, facecolor=fill, edgecolor=edge, linewidths=0.9)


def _errors(counts: NDArray[Any]) -> NDArray[Any]:
    """The matrix with zeros on its diagonal."""
    return np.where(np.eye(len(counts), dtype=bool), 0, counts)


def _hatched_cell(row: int, column: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, linewidth=0, **HATCHED | {"edgecolor": RULE})
