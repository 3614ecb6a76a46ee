"""How all plots look. Readable in black and white: shades, markers and lines differ, not colours alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import width
from aftermax.plots._fonts import drawable, font_for
from aftermax.plots._installed import check_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

ACCENT, GREY, BAND, RULE = "#0b4f9e", "#555555", "#e8eef6", "#bbbbbb"
HATCHED: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": GREY,
    "hatch": "/////",
}  # a bar, beside one filled with ACCENT
LETTER_WIDTH = 0.08  # in inches
MAX_TICK_LABELS = 20  # along an axis; of more classes, some are named
MAX_ANNOTATED = 12  # with so many classes there is room for a number in every cell of a K x K heatmap


def shortened(name: object, length: int) -> str:
    """A class name as matplotlib takes it, cut where it would overlap its neighbour; some letters are two wide."""
    text = drawable(str(name).encode("utf-8", "replace").decode("utf-8"))
    if width(text) > length:
        while width(text) > length - 1:
            text = text[:-1]
        text += "…"
    return text.replace("$", r"\$")  # matplotlib would typeset what stands between two as a formula


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches, or an error that names the extra to install."""
    check_matplotlib()
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def bare(axes: Axes, *sides: str) -> None:
    """Hide the named sides of the frame; by default, the top and the right one."""
    for side in sides or ("top", "right"):
        axes.spines[side].set_visible(False)


def title_and_legend(axes: Axes, title: str, columns: int | None = None) -> None:
    """A title with the legend below it, above the Axes."""
    handles, labels = axes.get_legend_handles_labels()
    position: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    columns = columns or len(labels)
    axes.legend(handles, labels, ncols=columns, fontsize="small", frameon=False, columnspacing=1.4, **position)
    lines = -(-len(labels) // columns)
    axes.set_title(title, fontsize="medium", loc="left", pad=10 + 14 * lines)


def name_lines(axes: Axes, names: Sequence[str], margin: float = 0.6) -> None:
    """Name the horizontal lines at y = 0, 1, ..., with the first on top."""
    axes.set_yticks(range(len(names)), names, **font_for(*names))
    axes.set_ylim(len(names) - 1 + margin, -margin)
    axes.tick_params(axis="y", length=0)
    bare(axes, "top", "right", "left")


def integer_ticks(axis: Axis) -> None:
    """Ticks at whole numbers, without a sign."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_major_formatter(lambda count, _: f"{abs(count):,.0f}")


class HeatmapLabels:
    """The class names beside and below a K x K heatmap: all of them, or some, evenly spread, of many."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self._step = -(-len(classes) // MAX_TICK_LABELS)
        self._positions = np.arange(0, len(classes), self._step)
        self._names = [shortened(name, 14) for name in classes[self._positions].tolist()]
        self.side = float(np.clip(0.36 * len(classes), 2.1, 4.2))  # of the heatmap, in inches
        self.width = 0.9 * LETTER_WIDTH * max(map(width, self._names))  # of the longest name, in small letters
        self._vertical = self.width > self.side / len(self._positions)
        self.height = self.width if self._vertical else 0.0  # of the names below

    def write(self, axes: Axes) -> None:
        """Name the rows and columns."""
        style: dict[str, Any] = {"fontsize": "small", **font_for(*self._names)}
        axes.set_yticks(self._positions, self._names, **style)
        axes.set_xticks(self._positions, self._names, rotation=90 if self._vertical else 0, **style)
        axes.tick_params(length=0 if self._step == 1 else 3)


def draw_heatmap(axes: Axes, values: NDArray[Any], largest: float, colormap: str) -> AxesImage:
    """Shades from 0 to ``largest``. With many classes, small values are darker, so that they stay visible."""
    from matplotlib.colors import PowerNorm

    exponent = 1.0 if len(values) <= MAX_ANNOTATED else 0.5
    return axes.imshow(values, cmap=colormap, norm=PowerNorm(exponent, 0, largest))


def annotate_cells(axes: Axes, texts: dict[tuple[int, int], str], dark: NDArray[np.bool_]) -> None:
    """Text in the cells of a heatmap, white on dark cells, and bold on the diagonal."""
    for (row, column), text in texts.items():
        weight, color = "bold" if row == column else "normal", "white" if dark[row, column] else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize="x-small", weight=weight, color=color)
