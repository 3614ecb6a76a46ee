"""How methods look in every figure. Readable in black and white: markers, lines and lightness differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Look(NamedTuple):
    """Of one method."""

    label: str
    marker: str
    line: str
    colour: str
    fill: str


BEST_ON_TEST = Look("best on test (the paper's protocol: looks at the test labels)", "^", ":", "#8a8a8a", "white")
BEST_ON_VALIDATION = Look("best on validation", "s", "--", "#c46a1f", "#c46a1f")
CHOSEN = Look("SPHClassifierCV (never sees the test rows)", "D", "-", "#0b4f9e", "#0b4f9e")


def draw_points(axes: Axes, x: ArrayLike, y: ArrayLike, bars: Any, look: Look) -> None:
    """Points with error bars, joined by a line."""
    axes.errorbar(
        x,
        y,
        yerr=bars,
        marker=look.marker,
        linestyle=look.line,
        color=look.colour,
        markerfacecolor=look.fill,
        markersize=5,
        linewidth=1.4,
        elinewidth=0.8,
        capsize=2,
        label=look.label,
    )
