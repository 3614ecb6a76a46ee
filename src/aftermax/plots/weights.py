"""The paper's W: how much each unit counts for each class when SPH pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax.plots._display import Display
from aftermax.plots._inputs import sph_of
from aftermax.plots.style import HATCHED, MAX_ANNOTATED, HeatmapLabels, annotate_cells, draw_heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class WeightsDisplay(Display):
    """SPH's pooling weights as a heatmap: a row for each class, a column for each unit, the darker the heavier.

    A row sums to 1; with up to twelve classes the weights are written in, in per cent. A class whose row is empty is
    hatched: pooling never predicts it.

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
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the weights of a fitted SPHClassifier or SPHClassifierCV, or of an AutoHead that chose SPH."""
        return cls(sph_of(estimator, "weights W").weights, estimator.classes_).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw in ``ax`` or in a new figure."""
        labels = HeatmapLabels(self.classes)
        axes = self._use_axes(ax, labels.side + labels.width + 1.6, labels.side + labels.height + 1.2)
        largest = float(self.weights.max()) or 1.0
        image = draw_heatmap(axes, self.weights, largest, "Blues")
        empty = np.flatnonzero(self.weights.sum(axis=1) == 0)
        for row in empty:
            axes.axhspan(row - 0.5, row + 0.5, linewidth=0, **HATCHED)
        if len(self.classes) <= MAX_ANNOTATED:
            texts = {cell: f"{100 * weight:.0f}" for cell, weight in np.ndenumerate(self.weights) if weight > 0}
            annotate_cells(axes, texts, self.weights > 0.6 * largest)
        labels.write(axes)
        axes.set(ylabel="class", xlabel="unit" + ("\nhatched: pooling never predicts it" if len(empty) else ""))
        axes.set_title("Pooling weights: how much\neach unit counts for a class", fontsize="medium", loc="left")
        self.figure_.colorbar(image, ax=axes, shrink=0.8, format=lambda weight, _: f"{100 * weight:.3g} %")
        return self
