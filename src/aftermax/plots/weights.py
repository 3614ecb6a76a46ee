"""The paper's W: how much each unit is worth for telling each class apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax.plots._inputs import sph_of
from aftermax.plots._style import HATCHED, MOST_NUMBERED, TableNames, new_figure, shades, write_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class WeightsDisplay:
    """SPH's weights as a table in shades: a row for each class, a column for each unit, the darker the heavier.

    A row sums to 1; with up to twelve classes the weights are written in, in per cent. A class whose row is empty is
    hatched: pooling never answers it.

    Parameters
    ----------
    weights : array-like of shape (K, K)
        How much unit j is worth for telling class i apart (W).
    classes : array-like of shape (K,), default=None
        The class of each row and column; if None, 0 to K - 1.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure or SubFigure

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.plots import WeightsDisplay
    >>> scores = load_vmnist(trained_on=100)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> display = WeightsDisplay.from_estimator(head)
    >>> display.figure_.savefig("weights.png")  # doctest: +SKIP
    """

    axes_: Axes
    figure_: Figure | SubFigure

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
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> WeightsDisplay:
        """Draw the weights of a fitted SPHClassifier or SPHClassifierCV, or of an AutoHead that chose SPH."""
        head = sph_of(estimator, "weights W")
        return cls(head.weights_, head.classes_).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> WeightsDisplay:
        """Draw it, in ``ax`` or in a new figure."""
        names = TableNames(self.classes)
        if ax is None:
            ax = new_figure(names.side + names.room + 1.6, names.side + names.room_beneath + 1.2).subplots()
        self.axes_, self.figure_ = ax, ax.figure
        most = float(self.weights.max()) or 1.0
        image = shades(ax, self.weights, most, "Blues")
        empty = np.flatnonzero(self.weights.sum(axis=1) == 0)
        for place in empty:
            ax.axhspan(place - 0.5, place + 0.5, linewidth=0, **HATCHED)
        if len(self.classes) <= MOST_NUMBERED:
            texts = {cell: f"{100 * weight:.0f}" for cell, weight in np.ndenumerate(self.weights) if weight > 0}
            write_cells(ax, texts, self.weights > 0.6 * most)
        names.write(ax)
        ax.set(ylabel="class", xlabel="unit" + ("\nhatched: no weight, never pooling's answer" if len(empty) else ""))
        ax.set_title("What each unit is worth\nfor telling a class apart", fontsize="medium", loc="left")
        ax.figure.colorbar(image, ax=ax, shrink=0.8, format=lambda weight, _: f"{100 * weight:.3g} %")
        return self
