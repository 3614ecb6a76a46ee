"""Which classes are confused: by softmax, by the head, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from aftermax.plots._display import Display
from aftermax.plots._inputs import Predictions, predictions_from, predictions_of
from aftermax.plots._many_classes import ALL_UP_TO, classes_of_largest_cells, number_shown
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


class Shown(NamedTuple):
    """The classes that are drawn, and the part of the confusion matrices that is theirs."""

    classes: NDArray[Any]
    before: NDArray[Any]
    after: NDArray[Any]

    @property
    def annotated(self) -> bool:
        """Whether numbers are written in."""
        return len(self.classes) <= MAX_ANNOTATED


class ConfusionChangeDisplay(Display):
    """Three confusion matrices, true class by predicted class: softmax's, the head's, and the difference.

    Errors are shaded, the darker the more; correct predictions are on the diagonal. With up to twelve classes all
    numbers are written in, and in the difference a cell is shaded where it is better than before (fewer errors, or
    more correct predictions) and hatched where it is worse. With more classes, filled markers are better and open ones
    worse, and their area is the number of samples. Of more than a hundred classes, those of the pairs whose confusion
    changes most are drawn.

    Parameters
    ----------
    before, after : array-like or sparse array of shape (n_classes, n_classes)
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
        self.before, self.after = _as_matrix(before), _as_matrix(after)
        n_classes: int = self.before.shape[0] if self.before.ndim else 0
        self.classes: NDArray[Any] = np.arange(n_classes) if classes is None else np.asarray(classes)
        square = (*self.classes.shape, len(self.classes))
        if self.before.ndim != 2 or not self.before.shape == self.after.shape == square or not len(self.classes):
            raise ValueError(
                f"before, after and classes have shapes {self.before.shape}, {self.after.shape} and "
                f"{self.classes.shape}: pass two matrices with a row and a column for each class."
            )
        sizes = [np.asarray(counts.sum(axis=1)).ravel() for counts in (self.before, self.after)]
        if not np.array_equal(sizes[0], sizes[1]):
            raise ValueError("before and after count different numbers of samples of a class: pass the same samples.")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: ArrayLike | None = None,
        max_classes: int | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw what a fitted head changes on the logits ``X`` of held-out samples with labels ``y``.

        Pass ``features`` for a head that was fitted with them; ``max_classes`` is as for :meth:`plot`.
        """
        return cls._from(predictions_of(estimator, X, y, features)).plot(max_classes=max_classes, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        max_classes: int | None = None,
        ax: AxesList | None = None,
    ) -> Self:
        """Draw what changes from the predicted classes ``before`` to those ``after``, given the true classes.

        ``classes`` are all classes, in order; if None, those that occur, sorted. ``max_classes`` is as for
        :meth:`plot`.
        """
        return cls._from(predictions_from(y_true, before, after, classes)).plot(max_classes=max_classes, ax=ax)

    @classmethod
    def _from(cls, predictions: Predictions) -> Self:
        classes, truth, before, after = predictions
        first, second = (_confusion(truth, predicted, len(classes)) for predicted in (before, after))
        return cls(first, second, classes)

    def plot(self, *, max_classes: int | None = None, ax: AxesList | None = None) -> Self:
        """Draw in three Axes, ``ax``, or in a new figure.

        If there are more than ``max_classes``, those of the pairs whose confusion changes most are drawn; errors are
        counted of all. If it is None, all of up to a hundred classes are drawn, and twelve of more.
        """
        shown = self._shown(number_shown(len(self.classes), max_classes))
        labels = HeatmapLabels(shown.classes)
        panels = self._use_panels(_new_axes(labels, shown) if ax is None else ax, 3)
        _draw_counts(panels[0], shown.before, shown)
        image = _draw_counts(panels[1], shown.after, shown)
        _draw_difference(panels[2], shown)
        if not shown.annotated:
            bar = self.figure_.colorbar(image, ax=panels[:2].tolist(), shrink=0.8, aspect=30)
            bar.set_label("errors", fontsize="small")
        before, after = (_number_of_errors(counts) for counts in (self.before, self.after))
        titles = f"softmax: {before:,} errors", f"head: {after:,} errors", f"difference: {after - before:+,} errors"
        notes = [self._part(shown.before, before), self._part(shown.after, after)]
        notes.append(f"\n{'hatched' if shown.annotated else 'open'}: worse than before")
        for axes, title, note in zip(panels, titles, notes, strict=True):
            axes.set_title(title, fontsize="medium", loc="left")
            axes.set_xlabel(f"predicted class{note}")
            labels.write(axes)
        some = f"{len(shown.classes)} of {len(self.classes):,}; " if len(shown.classes) < len(self.classes) else ""
        panels[0].set_ylabel(f"true class ({some}{int(self.before.sum()):,} samples)")
        return self

    def _shown(self, most: int) -> Shown:
        if most == len(self.classes):
            return Shown(self.classes, _as_dense(self.before), _as_dense(self.after))
        before, after = csr_array(self.before), csr_array(self.after)
        rows, columns = (before + after).nonzero()
        first, second = (np.asarray(counts[rows, columns]).ravel().astype(np.int64) for counts in (before, after))
        order = np.lexsort((-first - second, -np.abs(first - second)))
        some = classes_of_largest_cells(rows, columns, order, len(self.classes), most)
        return Shown(self.classes[some], *(_as_dense(counts[some][:, some]) for counts in (before, after)))

    def _part(self, shown: NDArray[Any], errors: int) -> str:
        if len(shown) == len(self.classes):
            return ""
        return f"\n{_number_of_errors(shown):,} of the errors are shown" if errors else ""


# ---- matrices --------------------------------------------------------------------------------------------------------


def _as_matrix(counts: Any) -> Any:
    return counts.tocsr() if issparse(counts) else np.asarray(counts)


def _as_dense(counts: Any) -> NDArray[Any]:
    return np.asarray(counts.toarray() if issparse(counts) else counts)


def _confusion(truth: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> Any:
    """The confusion matrix, sparse if there are many classes."""
    ones = np.ones(len(truth), dtype=np.int64)
    counts = coo_array((ones, (truth, predicted)), shape=(n_classes, n_classes))
    return counts.toarray() if n_classes <= ALL_UP_TO else counts.tocsr()


def _number_of_errors(counts: Any) -> int:
    return int(counts.sum() - counts.diagonal().sum())


def _errors(counts: NDArray[Any]) -> NDArray[Any]:
    """The matrix with zeros on its diagonal."""
    return np.where(np.eye(len(counts), dtype=bool), 0, counts)


# ---- drawing ---------------------------------------------------------------------------------------------------------


def _new_axes(labels: HeatmapLabels, shown: Shown) -> AxesList:
    width = 3 * labels.side + labels.width + (0.8 if shown.annotated else 1.8)
    figure = new_figure(width, labels.side + labels.height + 1.1)
    figure.set_layout_engine("compressed")
    axes: AxesList = figure.subplots(1, 3, sharey=True)
    return axes


def _draw_counts(axes: Axes, counts: NDArray[Any], shown: Shown) -> AxesImage:
    """Errors in shades, correct predictions as numbers."""
    largest = max(_errors(shown.before).max(), _errors(shown.after).max(), 1)
    if shown.annotated:
        texts = {cell: f"{count:,}" for cell, count in np.ndenumerate(counts) if count}
        annotate_cells(axes, texts, _errors(counts) > 0.6 * largest)
    return draw_heatmap(axes, _errors(counts), largest, "Greys")


def _draw_difference(axes: Axes, shown: Shown) -> None:
    change = shown.after - shown.before
    better = np.where(np.eye(len(change), dtype=bool), change, -change)
    largest = max(int(np.abs(better).max()), 1)
    if not shown.annotated:
        _draw_markers(axes, better, largest)
        return
    draw_heatmap(axes, np.maximum(better, 0), largest, "Blues")
    for true, predicted in np.argwhere(better < 0):
        axes.add_patch(_hatched_cell(true, predicted))
    texts = {cell: f"{count:+,}" for cell, count in np.ndenumerate(change) if count}
    annotate_cells(axes, texts, better > 0.6 * largest)


def _draw_markers(axes: Axes, better: NDArray[Any], largest: int) -> None:
    size = len(better)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
    axes.axline((0, 0), slope=1, color=RULE, linewidth=0.6, zorder=0)
    for cells, marker, fill, edge in ((better > 0, "s", ACCENT, ACCENT), (better < 0, "o", "none", GREY)):
        true, predicted = np.nonzero(cells)
        area = MAX_AREA * np.abs(better[cells]) / largest
        axes.scatter(predicted, true, s=area, marker=marker, facecolor=fill, edgecolor=edge, linewidths=0.9)


def _hatched_cell(row: int, column: int) -> Rectangle:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, linewidth=0, **HATCHED | {"edgecolor": RULE})
