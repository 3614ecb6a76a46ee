"""The paper's W: how much each unit counts for each class when SPH pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax.plots._display import Display
from aftermax.plots._inputs import sph_of
from aftermax.plots._many_classes import classes_of_largest_cells, number_shown
from aftermax.plots.style import HATCHED, MAX_ANNOTATED, HeatmapLabels, annotate_cells, draw_heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class WeightsDisplay(Display):
    """SPH's pooling weights as a heatmap: a row for each class, a column for each unit, the darker the heavier.

    A row sums to 1; with up to twelve classes the weights are written in, in per cent. A class whose row is empty is
    hatched: pooling never predicts it. Of more than a hundred classes, those with the heaviest weights are drawn.

    Parameters
    ----------
    weights : array-like of shape (n_classes, n_classes)
        How much unit j counts for class i (W).
    classes : array-like of shape (n_classes,), default=None
        The class of each row and column; if None, 0 to n_classes - 1.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax.plots import WeightsDisplay
    >>> display = WeightsDisplay([[0.75, 0.25], [0.4, 0.6]], ["cat", "dog"]).plot()
    >>> display.figure_.savefig("weights.png")  # doctest: +SKIP
    """

    def __init__(self, weights: ArrayLike, classes: ArrayLike | None = None) -> None:
        self.weights: NDArray[np.float64] = np.asarray(weights, dtype=np.float64)
        self.classes: NDArray[Any] = np.arange(len(self.weights)) if classes is None else np.asarray(classes)
        if self.weights.ndim != 2 or self.weights.shape != (*self.classes.shape, len(self.classes)):
            raise ValueError(
                f"weights have shape {self.weights.shape} and classes {self.classes.shape}: pass a row and a column "
                "for each class, as head.weights_ has."
            )
        if not (np.isfinite(self.weights) & (self.weights >= 0)).all():
            raise ValueError("weights hold NaN, infinity or numbers below 0: pass weights, as head.weights_ has.")

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_classes: int | None = None, ax: Axes | None = None) -> Self:
        """Draw the weights of a fitted SPHClassifier or SPHClassifierCV, or of an AutoHead that chose SPH.

        Arguments are as for :meth:`plot`.
        """
        weights = sph_of(estimator, "weights W").weights
        return cls(weights, estimator.classes_).plot(max_classes=max_classes, ax=ax)

    def plot(self, *, max_classes: int | None = None, ax: Axes | None = None) -> Self:
        """Draw in ``ax`` or in a new figure.

        If there are more than ``max_classes``, those of the heaviest weights are drawn, beside the diagonal. If it is
        None, all of up to a hundred classes are drawn, and twelve of more.
        """
        some = self._shown(number_shown(len(self.classes), max_classes))
        weights, labels = self.weights[np.ix_(some, some)], HeatmapLabels(self.classes[some])
        axes = self._use_axes(ax, labels.side + labels.width + 1.6, labels.side + labels.height + 1.2)
        largest = float(weights.max()) or 1.0
        image = draw_heatmap(axes, weights, largest, "Blues")
        empty = np.flatnonzero(self.weights[some].sum(axis=1) == 0)
        for row in empty:
            axes.axhspan(row - 0.5, row + 0.5, linewidth=0, **HATCHED)
        if len(some) <= MAX_ANNOTATED:
            texts = {cell: f"{100 * weight:.0f}" for cell, weight in np.ndenumerate(weights) if weight > 0}
            annotate_cells(axes, texts, weights > 0.6 * largest)
        labels.write(axes)
        part = f" ({len(some)} of {len(self.classes):,})" if len(some) < len(self.classes) else ""
        note = "\nhatched: pooling never predicts it" if len(empty) else ""
        axes.set(ylabel=f"class{part}", xlabel=f"unit{part}{note}")
        axes.set_title("Pooling weights: how much\neach unit counts for a class", fontsize="medium", loc="left")
        self.figure_.colorbar(image, ax=axes, shrink=0.8, format=lambda weight, _: f"{100 * weight:.3g} %")
        return self

    def _shown(self, most: int) -> NDArray[np.intp]:
        n_classes = len(self.classes)
        if most == n_classes:
            return np.arange(n_classes)
        flat = self.weights.ravel()
        cells = np.argpartition(-flat, min(most * n_classes, flat.size - 1))[: most * n_classes]
        rows, columns = np.divmod(np.sort(cells), n_classes)
        order = np.argsort(-self.weights[rows, columns], kind="stable")
        return classes_of_largest_cells(rows, columns, order, n_classes, most)
