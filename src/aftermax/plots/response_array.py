"""The paper's Figures 1 and 2A: the response array by column and by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax.plots._inputs import sph_of
from aftermax.plots._style import BAND, HOME, OTHER, RULE, bare, new_figure, panels, shortened
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST_CLASSES = 12
CROWDED = 8.0  # a panel this wide has no room for the labels of both 0 and 1


class Words(NamedTuple):
    """What a picture by column or by row says."""

    panel: str
    entry: str
    scale: str
    every: str
    some: str


WORDS = {
    "column": Words(
        "unit",
        "true class",
        "the unit's response to its own class",
        "What each unit says to every class",
        "What each unit says to {} classes",
    ),
    "row": Words(
        "class",
        "unit",
        "the response of the class's own unit",
        "What every unit says to each class",
        "What {} units say to each class",
    ),
}


class ResponseArrayDisplay:
    """The response array by column or by row, center and one spread to either side. The paper's Figures 1 and 2A.

    Column j is what unit j says to every class, in units of its response to its own class: how differently it answers
    from class to class is what softmax never sees. Row i is what every unit says to class i, in units of the response
    of the class's own unit: this is what softmax compares.

    Parameters
    ----------
    response_array : ResponseArray

    Attributes
    ----------
    figure_ : matplotlib Figure or SubFigure
    axes_ : ndarray of matplotlib Axes, one for each column or row shown

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
        self.response_array = checked_array(response_array, type(self))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        by: Literal["column", "row"] = "column",
        classes: ArrayLike | None = None,
        figure: Figure | SubFigure | None = None,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ResponseArrayDisplay:
        """Draw the response array of a fitted SPHClassifier or SPHClassifierCV, or of an AutoHead that chose SPH.

        Arguments are as for :meth:`plot`.
        """
        return cls(array_of(estimator)).plot(by=by, classes=classes, figure=figure, ax=ax)

    def plot(
        self,
        *,
        by: Literal["column", "row"] = "column",
        classes: ArrayLike | None = None,
        figure: Figure | SubFigure | None = None,
        ax: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> ResponseArrayDisplay:
        """Draw it.

        Parameters
        ----------
        by : {"column", "row"}, default="column"
            A panel for each unit, with its response to every class, or for each class, with every unit's response.
        classes : array-like, default=None
            The classes to show, as rows and as columns. If None, the first twelve.
        figure : matplotlib Figure or SubFigure, default=None
            Where to draw. If None, a new figure.
        ax : sequence of matplotlib Axes, default=None
            Where to draw instead, one for each class shown; then there is no heading.
        """
        if by not in WORDS:
            raise ValueError(f"by={by!r} is no way to draw a response array: choose 'column' or 'row'.")
        names = self.response_array.classes
        shown = shown_classes(names, classes)
        if ax is not None:
            self.axes_ = panels(ax, len(shown))
        else:
            size = max(7.5, 2.0 + 0.95 * len(shown)), 1.9 + 0.3 * len(shown)
            self.axes_ = np.atleast_1d((figure or new_figure(*size)).subplots(1, len(shown), sharey=True))
        self.figure_ = self.axes_[0].figure
        words = WORDS[by]
        for axes, panel in zip(self.axes_, shown, strict=True):
            self._draw_panel(axes, by, panel, shown)
            axes.set_title(f"{words.panel} {shortened(names[panel], 20 if len(shown) <= 4 else 7)}", fontsize="small")
            axes.set_yticks(range(len(shown)), [shortened(names[i], 20) for i in shown])
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.tick_params(labelleft=axes is self.axes_[0])
        self.axes_[0].set_ylabel(words.entry)
        label = f"response, in units of {words.scale} (diamond)"
        if ax is not None:
            self.axes_[len(shown) // 2].set_xlabel(label)
            return self
        self.figure_.supxlabel(label, fontsize="medium")
        every = words.every if len(shown) == len(names) else words.some.format(len(shown))
        self.figure_.suptitle(f"{every}: center and one spread to either side", fontsize="large")
        return self

    def _draw_panel(self, axes: Axes, by: str, panel: int, shown: list[int]) -> None:
        array, scale = self.response_array, home_sizes(self.response_array, by)[panel]
        place_of = (shown, panel) if by == "column" else (panel, shown)
        center, left, right = (part[place_of] / scale for part in (array.center, array.left, array.right))
        home = shown.index(panel)
        axes.axhspan(home - 0.5, home + 0.5, color=BAND, zorder=0)
        axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=1)
        for place in range(len(shown)):
            at_home = place == home
            axes.errorbar(
                center[place],
                place,
                xerr=[[left[place]], [right[place]]],
                fmt="D" if at_home else "o",
                color=HOME if at_home else OTHER,
                markerfacecolor=HOME if at_home else "white",
                markersize=5 if at_home else 4,
                linewidth=2.0 if at_home else 1.1,
                zorder=3,
            )
        low, high = axes.get_xlim()
        low, high = min(low, -0.2), max(high, 0.2)
        own = -1.0 if center[home] < 0 else 1.0
        axes.set_xticks([0.0, own] if high - low < CROWDED else [own])
        axes.set_xlim(low, high)
        axes.tick_params(axis="y", length=0)
        bare(axes, "top", "right", "left")


# ---- for all pictures of response arrays -----------------------------------------------------------------------------


def checked_array(response_array: ResponseArray, display: type) -> ResponseArray:
    """The array, if it is one."""
    if not isinstance(response_array, ResponseArray):
        raise TypeError(
            f"{display.__name__} takes a ResponseArray, not {type(response_array).__name__}: for a fitted head use "
            f"{display.__name__}.from_estimator(head)."
        )
    return response_array


def array_of(estimator: Any) -> ResponseArray:
    """The response array of a fitted head."""
    return sph_of(estimator, "response array").response_array_


def shown_classes(known: NDArray[Any], wanted: ArrayLike | None) -> list[int]:
    """The places of the classes to show; if none are named, of the first twelve."""
    if wanted is None:
        return list(range(min(len(known), MOST_CLASSES)))
    names, chosen = known.tolist(), np.asarray(wanted).tolist()
    unknown = [name for name in chosen if name not in names]
    if unknown or not chosen:
        raise ValueError(f"classes={chosen!r} cannot be shown: choose from {names!r}.")
    return [names.index(name) for name in chosen]


def home_sizes(array: ResponseArray, by: str) -> NDArray[np.float64]:
    """The size of each home response: of unit i to class i. Where that is unknown or zero, of the largest instead.

    The largest of the column or of the row.
    """
    sizes = np.abs(array.center)
    home = np.diagonal(sizes)
    largest = np.nanmax(sizes, axis=0 if by == "column" else 1, initial=0.0)
    usable = np.isfinite(home) & (home > 0)
    return np.where(usable, home, np.where(largest > 0, largest, 1.0))
