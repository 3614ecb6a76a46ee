"""What all pictures share. Readable in black and white: shades, markers and lines differ, not colours alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOME, OTHER, BAND, RULE = "#0b4f9e", "#555555", "#e8eef6", "#bbbbbb"


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


def bare(axes: Axes, *sides: str) -> None:
    """Take away the frame, or the sides named: by default all but the axes proper."""
    for side in sides or ("top", "right"):
        axes.spines[side].set_visible(False)
