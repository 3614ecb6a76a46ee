"""What the figures of the experiments share. Readable in black and white: markers, lines and lightness differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from aftermax._utils.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BAND, RULE = "#e8eef6", "#bbbbbb"  # colours of a range in the background, and of a line at zero


class Style(NamedTuple):
    """The label of a method in the figures, and how it is drawn."""

    label: str
    marker: str
    line: str
    colour: str
    fill: str

    @property
    def options(self) -> dict[str, Any]:
        """For matplotlib's functions that draw lines with markers."""
        return {
            "marker": self.marker,
            "linestyle": self.line,
            "color": self.colour,
            "markerfacecolor": self.fill,
            "markersize": 5,
            "linewidth": 1.4,
        }


BEST_ON_TEST = Style("best on test (the paper's protocol: looks at the test labels)", "^", ":", "#8a8a8a", "white")
BEST_ON_VALIDATION = Style("best on validation", "s", "--", "#c46a1f", "#c46a1f")
CHOSEN = Style("SPHClassifierCV (never sees the test samples)", "D", "-", "#0b4f9e", "#0b4f9e")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of that size in inches."""
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def hide_frame(axes: Axes, *sides: str) -> None:
    """Hide these sides of the frame; by default all but the axes proper."""
    for side in sides or ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_points(axes: Axes, x: ArrayLike, y: ArrayLike, bars: Any, style: Style) -> None:
    """Points with error bars, joined by a line."""
    axes.errorbar(x, y, yerr=bars, **style.options, elinewidth=0.8, capsize=2, label=style.label)


def log_samples_axis(axes: Axes) -> None:
    """A logarithmic x axis of training samples."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("training samples")


def save_png(figure: Figure, path: Path, dpi: int = 200) -> None:
    """Write a figure as .png."""
    with write_atomically(path) as unfinished:
        figure.savefig(unfinished, format="png", dpi=dpi)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as .png for the screen and as .pdf for print, and close it."""
    from matplotlib import pyplot

    save_png(figure, path.with_suffix(".png"))
    with write_atomically(path.with_suffix(".pdf")) as unfinished:
        figure.savefig(unfinished, format="pdf", dpi=300, metadata={"CreationDate": None})
    pyplot.close(figure)
