"""Pictures, as Display classes in scikit-learn's manner. They need the ``plots`` extra (matplotlib)."""

from __future__ import annotations

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
CROWDED = 8.0  # a panel this wide has no room for the labels of both 0 and 1


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

    figure_: Figure | SubFigure
    axes_: NDArray[Any]

    def __init__(self, response_array: ResponseArray) -> None:
        if not isinstance(response_array, ResponseArray):
            raise TypeError(
                f"ResponseArrayDisplay takes a ResponseArray, not {type(response_array).__name__}: for a fitted head "
                "use ResponseArrayDisplay.from_estimator(head)."
            )
        self.response_array = response_array

    @classmethod
    def from_estimator(
        cls,
        estimator: SPHClassifier,
        *,
        classes: ArrayLike | None = None,
        figure: Figure | SubFigure | None = None,
    ) -> ResponseArrayDisplay:
        """Draw the response array of a fitted head; arguments as for :meth:`plot`."""
        check_is_fitted(estimator)
        if not hasattr(estimator, "response_array_"):
            raise TypeError(
                f"{type(estimator).__name__} has no response array: pass a fitted SPHClassifier, as a search has in "
                "search.best_estimator_."
            )
        return cls(estimator.response_array_).plot(classes=classes, figure=figure)

    def plot(
        self, *, classes: ArrayLike | None = None, figure: Figure | SubFigure | None = None
    ) -> ResponseArrayDisplay:
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
            figure = new_figure(max(7.5, 2.0 + 0.95 * len(shown)), 1.9 + 0.3 * len(shown))
        self.figure_ = figure
        self.axes_ = np.atleast_1d(figure.subplots(1, len(shown), sharey=True))
        for axes, unit in zip(self.axes_, shown, strict=True):
            self._draw_unit(axes, unit, shown)
        names = [shortened(self.response_array.classes[i], 20) for i in shown]
        self.axes_[0].set_yticks(range(len(shown)), names)
        self.axes_[0].set_ylim(len(shown) - 0.5, -0.5)
        self.axes_[0].set_ylabel("true class")
        figure.supxlabel("response, in units of the unit's response to its own class (diamond)", fontsize="medium")
        every = "every class" if len(shown) == len(self.response_array.classes) else f"{len(shown)} classes"
        figure.suptitle(f"What each unit says to {every}: center and one spread to either side", fontsize="large")
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

    def _draw_unit(self, axes: Axes, unit: int, shown: list[int]) -> None:
        array = self.response_array
        scale = self._scale(unit)
        center = array.center[shown, unit] / scale
        spreads = np.stack([array.left[shown, unit], array.right[shown, unit]]) / scale
        home = shown.index(unit)
        axes.axhspan(home - 0.5, home + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color="#bbbbbb", linewidth=0.8, zorder=1)
        for place in range(len(shown)):
            at_home = place == home
            axes.errorbar(
                center[place],
                place,
                xerr=spreads[:, [place]],
                fmt="D" if at_home else "o",
                color=HOME if at_home else OTHER,
                markerfacecolor=HOME if at_home else "white",
                markersize=5 if at_home else 4,
                linewidth=2.0 if at_home else 1.1,
                zorder=3,
            )
        axes.set_title(f"unit {shortened(array.classes[unit], 20 if len(shown) <= 4 else 7)}", fontsize="small")
        low, high = axes.get_xlim()
        low, high = min(low, -0.2), max(high, 0.2)
        own = -1.0 if center[home] < 0 else 1.0
        axes.set_xticks([0.0, own] if high - low < CROWDED else [own])
        axes.set_xlim(low, high)
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)

    def _scale(self, unit: int) -> float:
        """Size of the unit's response to its own class; if that is unknown or zero, of its largest response."""
        column = np.abs(self.response_array.center[:, unit])
        if np.isfinite(column[unit]) and column[unit] > 0:
            return float(column[unit])
        return float(np.nanmax(column)) or 1.0


def shortened(name: object, length: int) -> str:
    """A class's name, cut where it would run into its neighbour's."""
    text = str(name)
    return text if len(text) <= length else text[: length - 1] + "…"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, or an error that names the extra to install."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'aftermax[plots]'") from error
    return pyplot.figure(figsize=(width, height), layout="constrained")
