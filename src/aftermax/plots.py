"""Pictures, as Display classes in scikit-learn's manner. They need the ``plots`` extra (matplotlib)."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax.responses import ResponseArray
from aftermax.sph import SPHClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

HOME, OTHER, BAND = "#0b4f9e", "#555555", "#e8eef6"
MOST_CLASSES = 12


class ResponseArrayDisplay:
    """The response array by column: what each unit says to every class. The paper's Figure 1.

    Column j shows unit j's response to each class, center and spread, divided by the size of its response to its own
    class. What softmax never sees is how differently the rest of a column answers from class to class.

    Parameters
    ----------
    response_array : ResponseArray

    Attributes
    ----------
    figure_ : matplotlib Figure or SubFigure
    axes_ : ndarray of matplotlib Axes, one for each unit shown

    Examples
    --------
    >>> from aftermax import ResponseArray
    >>> from aftermax.plots import ResponseArrayDisplay
    >>> array = ResponseArray.fit([[3, 0], [2, 1], [0, 2], [0, 4]], ["cat", "cat", "dog", "dog"])
    >>> ResponseArrayDisplay(array).plot().figure_.savefig("response-array.png")  # doctest: +SKIP
    """

    figure_: "Figure | SubFigure"
    axes_: NDArray[Any]

    def __init__(self, response_array: ResponseArray) -> None:
        self.response_array = response_array

    @classmethod
    def from_estimator(
        cls,
        estimator: SPHClassifier,
        *,
        classes: ArrayLike | None = None,
        figure: "Figure | SubFigure | None" = None,
    ) -> "ResponseArrayDisplay":
        """Draw the response array of a fitted head; arguments as for :meth:`plot`."""
        check_is_fitted(estimator)
        return cls(estimator.response_array_).plot(classes=classes, figure=figure)

    def plot(
        self, *, classes: ArrayLike | None = None, figure: "Figure | SubFigure | None" = None
    ) -> "ResponseArrayDisplay":
        """Draw it.

        Parameters
        ----------
        classes : array-like, default=None
            The classes to show, as rows and as columns. If None, the first twelve.
        figure : matplotlib Figure or SubFigure, default=None
            Where to draw. If None, a new figure.
        """
        shown = self._shown(classes)
        if figure is None:
            figure = new_figure(2.0 + 0.95 * len(shown), 1.7 + 0.3 * len(shown))
        self.figure_ = figure
        self.axes_ = np.atleast_1d(figure.subplots(1, len(shown), sharey=True))
        for axes, unit in zip(self.axes_, shown, strict=True):
            self._draw_unit(axes, unit, shown)
        names = [str(self.response_array.classes[i]) for i in shown]
        self.axes_[0].set_yticks(range(len(shown)), names)
        self.axes_[0].set_ylim(len(shown) - 0.5, -0.5)
        self.axes_[0].set_ylabel("true class")
        figure.supxlabel("response of the unit, in units of its response to its own class", fontsize="medium")
        figure.suptitle("The response array: each column is one unit's answer to every class", fontsize="large")
        return self

    def _shown(self, classes: ArrayLike | None) -> list[int]:
        known = self.response_array.classes.tolist()
        if classes is None:
            return list(range(min(len(known), MOST_CLASSES)))
        wanted = np.asarray(classes).tolist()
        unknown = [name for name in wanted if name not in known]
        if unknown or not wanted:
            raise ValueError(f"classes={wanted!r} cannot be shown: choose from {known!r}.")
        return [known.index(name) for name in wanted]

    def _draw_unit(self, axes: "Axes", unit: int, shown: list[int]) -> None:
        array = self.response_array
        scale = self._scale(unit)
        center = array.center[shown, unit] / scale
        spreads = np.stack([array.left[shown, unit], array.right[shown, unit]]) / scale
        home = shown.index(unit)
        axes.axhspan(home - 0.5, home + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color="#bbbbbb", linewidth=0.8, zorder=1)
        for place in range(len(shown)):
            own = place == home
            axes.errorbar(
                center[place],
                place,
                xerr=spreads[:, [place]],
                fmt="D" if own else "o",
                color=HOME if own else OTHER,
                markerfacecolor=HOME if own else "white",
                markersize=5 if own else 4,
                linewidth=2.0 if own else 1.1,
                zorder=3,
            )
        axes.set_title(f"unit {array.classes[unit]}", fontsize="small")
        axes.set_xticks([0.0, float(np.sign(center[home]))] if np.isfinite(center[home]) else [0.0])
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)

    def _scale(self, unit: int) -> float:
        """Size of the unit's response to its own class; if that is unknown or zero, of its largest response."""
        column = np.abs(self.response_array.center[:, unit])
        if np.isfinite(column[unit]) and column[unit] > 0:
            return float(column[unit])
        return float(np.nanmax(column)) or 1.0


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of that size in inches, or an error that names the extra to install."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'aftermax[plots]'") from error
    return pyplot.figure(figsize=(width, height), layout="constrained")
