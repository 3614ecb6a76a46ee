"""The figure: error against labels, a panel for each font."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.characters.fonts import FONTS
from experiments.characters.methods import METHODS
from experiments.characters.results import Results
from experiments.plotting import Style, draw_points, hide_frame, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#0b4f9e", "#c46a1f", "#2e7d4f", "#8a8a8a"
# Marker, line, colour, fill; the most important last, and so on top.
STYLES = {
    "softmax": ("", ":", "black", "black"),
    "discriminant": ("s", "-", GREY, "white"),
    "votes": ("^", "--", ORANGE, "white"),
    "means": ("o", "-", GREEN, "white"),
    "auto": ("D", "-", BLUE, BLUE),
}


def draw(results: Results) -> Figure:
    """Means over draws, with the range of the draws, by the number of labels on a logarithmic axis."""
    figure = new_figure(10.5, 4.6)
    panels = np.atleast_1d(figure.subplots(1, len(results.fonts), sharey=True))
    for axes, font in zip(panels, results.fonts, strict=True):
        for place, name in enumerate(name for name in STYLES if name in results.methods):
            _draw_line(axes, results, font, name, 1.03 ** (place - 2))
        axes.set_title(FONTS[font].title.replace(", ", "\n", 1), fontsize="medium")
        _label_axis(axes, results)
        hide_frame(axes)
        axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    panels[0].set_ylim(0.0)
    panels[0].set_ylabel("test error, %; mean and range of draws")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, fontsize="small", frameon=False, loc="outside lower center", ncols=len(names))
    return figure


def _draw_line(axes: Axes, results: Results, font: str, name: str, shift: float) -> None:
    """One line; its points are shifted a little, so that no range hides another."""
    groups = [np.array([100 * one.error for one in results.every(name, count, font)]) for count in results.per_class]
    values = np.array([group.mean() for group in groups])
    bars = np.array([[value - group.min(), group.max() - value] for value, group in zip(values, groups, strict=True)])
    style = Style(METHODS[name].title, *STYLES[name])
    if not style.marker:  # the same with any number of labels
        axes.axhline(values.mean(), label=style.label, color=style.colour, linestyle=style.line, linewidth=1.2)
        return
    draw_points(axes, shift * np.array(results.per_class), values, bars.clip(0).T, style)


def _label_axis(axes: Axes, results: Results) -> None:
    classes = results.outcomes[0].classes
    axes.set_xscale("log")
    axes.set_xticks(
        results.per_class, [f"{count}\n{count * classes:,}" for count in results.per_class], fontsize="small"
    )
    axes.set_xticks([], minor=True)
    axes.set_xlabel("labels for each class, in the mean; and in all", fontsize="small")
