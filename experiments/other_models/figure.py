"""The figure: gains by model, a panel for each data set and number of training samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.other_models.models import MODELS
from experiments.other_models.results import TITLES, Results
from experiments.paper.figures import STYLES as PAPER_STYLES
from experiments.plotting import RULE, Style, hide_frame, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The methods look as in the paper's figures.
STYLES = {
    "full_d": Style("full D (naive Bayes on the responses)", "o", "", "#2e7d4f", "white"),
    "sph_best_on_test": PAPER_STYLES["sph_best_on_test"],
    "sph_chosen_scaled": Style("SPH, chosen honestly, after temperature scaling", "s", "", "#c46a1f", "none"),
    "sph_chosen": PAPER_STYLES["sph_chosen"],
    "auto": PAPER_STYLES["auto_head"],
}
SIZES = {"sph_chosen_scaled": 9, "auto": 4}  # so that none hides another; the others have 6
LIMITS = -60.0, 85.0  # per cent; what is beyond is drawn as an arrow at the edge


def draw(results: Results) -> Figure:
    """Mean gains over draws: the methods by marker, the models from top to bottom."""
    names = [name for name in TITLES if any(case[0] == name for case in results.cases)]
    figure = new_figure(max(3.1 * len(names) + 1.8, 7.4), 7.2)
    panels = figure.subplots(2, len(names), sharex=True, sharey=True, squeeze=False)
    for column, name in enumerate(names):
        sizes = sorted({case[1] for case in results.cases if case[0] == name})
        for axes, size in zip(panels[:, column], sizes, strict=True):
            _draw_panel(axes, results, name, size)
            axes.set_title(f"{TITLES[name]}, trained on {size:,}", fontsize="medium")
        panels[-1, column].set_xlabel("fewer test errors than the argmax, %", fontsize="small")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _draw_panel(axes: Axes, results: Results, data: str, size: int) -> None:
    axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=0)
    for method, style in STYLES.items():
        gains = np.array([100 * results.cell(method, (data, size, model)).gain for model in MODELS])
        options: dict[str, Any] = {"linestyle": "", "color": style.colour, "markerfacecolor": style.fill}
        axes.plot(
            gains,
            np.arange(len(gains)),
            marker=style.marker,
            markersize=SIZES.get(method, 6),
            label=style.label,
            **options,
        )
        for beyond in np.flatnonzero(gains < LIMITS[0]):
            axes.plot(LIMITS[0] + 2, beyond, marker="<", markersize=6, **options)
            axes.annotate(f"{gains[beyond]:.0f}", (LIMITS[0] + 5, beyond), fontsize="x-small", va="center")
    axes.set_yticks(np.arange(len(MODELS)), [model.title for model in MODELS.values()], fontsize="small")
    axes.set_ylim(len(MODELS) - 0.5, -0.5)
    axes.set_xlim(*LIMITS)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize="small")
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    hide_frame(axes, "top", "right", "left")
