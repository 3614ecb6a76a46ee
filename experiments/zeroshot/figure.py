"""The figure: error against labels, a panel for what is fitted on scores and one for what sees embeddings too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.plotting import Style, draw_points, hide_frame, new_figure
from experiments.zeroshot.methods import LINES
from experiments.zeroshot.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY = "#0b4f9e", "#c46a1f", "#2e7d4f", "#8a8a8a"
# Marker, line, colour, fill; the most important last, and so on top.
STYLES = {
    "zero_shot": ("", ":", "black", "black"),
    "no_labels": ("", "--", GREY, GREY),
    "sph": ("^", "--", ORANGE, "white"),
    "sms": ("s", "-", GREY, "white"),
    "knn_features": ("s", "-", GREY, "white"),
    "gaussian_features": ("v", "--", ORANGE, "white"),
    "probe": ("^", "-", GREEN, "white"),
    "l2sp": ("o", "-", "black", "white"),
    "auto_top5": ("v", ":", BLUE, "white"),
    "auto_rounded": ("o", "--", BLUE, "white"),
    "auto": ("D", "-", BLUE, BLUE),
    "auto_features": ("D", "-", BLUE, BLUE),
}
PANELS = {
    "Scores only": ("zero_shot", "no_labels", "sph", "sms", "auto_top5", "auto_rounded", "auto"),
    "With embeddings": ("zero_shot", "knn_features", "gaussian_features", "probe", "l2sp", "auto_features"),
}
MOST_ERROR = 70.0  # per cent; the panels end here, at the latest


def draw(results: Results) -> Figure:
    """Means over draws with 95 % intervals, by the number of labels, on a logarithmic axis."""
    figure = new_figure(10.5, 5.4)
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, (title, names) in zip(panels, PANELS.items(), strict=True):
        shown = [name for name in names if name in results.lines]
        for place, name in enumerate(shown):
            _draw_line(axes, results, name, 1.03 ** (place - (len(shown) - 1) / 2))
        axes.set_title(title, fontsize="medium")
        _label_axis(axes, results)
        hide_frame(axes)
        axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
        axes.legend(fontsize="small", frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    panels[0].set_ylim(0.0, min(panels[0].get_ylim()[1], MOST_ERROR))
    panels[0].set_ylabel("test error, %; mean and 95 % interval over draws")
    return figure


def _draw_line(axes: Axes, results: Results, name: str, shift: float) -> None:
    """One line; its points are shifted a little, so that no interval hides another."""
    means = [results.error(name, labels) for labels in results.labels]
    values = 100 * np.array([mean.value for mean in means])
    bars = np.abs([[100 * end - value for end in mean[1:]] for value, mean in zip(values, means, strict=True)]).T
    style = Style(LINES[name].title, *STYLES[name])
    if not style.marker:  # the same in every draw, and with any number of labels
        axes.axhline(values.mean(), label=style.label, color=style.colour, linestyle=style.line, linewidth=1.2)
        return
    draw_points(axes, shift * np.array(results.labels), values, bars, style)


def _label_axis(axes: Axes, results: Results) -> None:
    classes = results.outcomes[0].classes
    names = [f"{labels / classes:.0f}\n{labels:,}" for labels in results.labels]
    axes.set_xscale("log")
    axes.set_xticks(results.labels, names, fontsize="small")
    axes.set_xticks([], minor=True)
    axes.set_xlabel("labels for each class, in the mean; and in all (logarithmic)", fontsize="small")
