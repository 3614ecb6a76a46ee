"""What all pictures share. Readable in black and white: shades, markers and lines differ, not colours alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

HOME, OTHER, BAND, RULE = "#0b4f9e", "#555555", "#e8eef6", "#bbbbbb"
HATCHED: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": OTHER,
    "hatch": "/////",
}  # a bar, beside one filled with HOME
LETTER = 0.08  # how wide one is, in inches
MOST_NAMES = 20  # along an axis; of more classes, some are named
MOST_NUMBERED = 12  # with so many classes there is room for a number in every cell of a table of two classes
NUMBERS = {2: "two", 3: "three"}


def shortened(name: object, length: int) -> str:
    """A class's name as matplotlib takes it, cut where it would run into its neighbour's."""
    text = str(name).encode("utf-8", "replace").decode("utf-8")
    cut = text if len(text) <= length else text[: length - 1] + "…"
    return cut.replace("$", r"\$")  # or what stands between two would be taken for a formula


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, or an error that names the extra to install."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'aftermax[plots]'") from error
    return pyplot.figure(figsize=(width, height), layout="constrained")


def panels(ax: Sequence[Axes] | NDArray[Any], number: int) -> NDArray[Any]:
    """The Axes that were passed, if they are as many as there are panels."""
    axes = np.array(ax, dtype=object).ravel()
    if len(axes) != number:
        word = NUMBERS.get(number, f"{number}")
        raise ValueError(
            f"ax holds {len(axes)} Axes, and there are {word} panels: pass {word}, as figure.subplots(1, {number}) "
            "gives."
        )
    return axes


def bare(axes: Axes, *sides: str) -> None:
    """Take away the frame, or the sides named: by default all but the axes proper."""
    for side in sides or ("top", "right"):
        axes.spines[side].set_visible(False)


def title_and_legend(axes: Axes, title: str) -> None:
    """A title with the legend beneath it, above the picture."""
    handles, labels = axes.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    axes.legend(handles, labels, ncols=len(labels), fontsize="small", frameon=False, columnspacing=1.4, **place)
    axes.set_title(title, fontsize="medium", loc="left", pad=24)


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """A picture with a row for each name, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    bare(axes, "top", "right", "left")


def whole_numbers(axis: Axis) -> None:
    """Ticks at counts."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(lambda count, _: f"{abs(count):,.0f}")


class TableNames:
    """The names beside and beneath a table of two classes: all of them, or some, evenly spread, of many."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self._every = -(-len(classes) // MOST_NAMES)
        self._places = np.arange(0, len(classes), self._every)
        self._names = [shortened(name, 14) for name in classes[self._places].tolist()]
        self.side = float(np.clip(0.36 * len(classes), 2.1, 4.2))  # of the table, in inches
        self.room = 0.9 * LETTER * max(map(len, self._names))  # for the longest name, in small letters
        self.upright = self.room > self.side / len(self._places)
        self.room_beneath = self.room if self.upright else 0.0

    def write(self, axes: Axes) -> None:
        """Name the rows and columns."""
        axes.set_yticks(self._places, self._names, fontsize="small")
        axes.set_xticks(self._places, self._names, fontsize="small", rotation=90 if self.upright else 0)
        axes.tick_params(length=0 if self._every == 1 else 3)


def shades(axes: Axes, values: NDArray[Any], most: float, colours: str) -> AxesImage:
    """A table in shades, from none to ``most``. Of many classes, small values are made darker, lest they be lost."""
    from matplotlib.colors import PowerNorm

    steepness = 1.0 if len(values) <= MOST_NUMBERED else 0.5
    return axes.imshow(values, cmap=colours, norm=PowerNorm(steepness, 0, most))


def write_cells(axes: Axes, texts: dict[tuple[int, int], str], dark: NDArray[np.bool_]) -> None:
    """Text in cells of a table, white where they are dark, and bold in the diagonal."""
    for (row, column), text in texts.items():
        weight, color = "bold" if row == column else "normal", "white" if dark[row, column] else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", weight=weight, color=color)
