"""The figures of the benchmark: gains by case, of our heads and of the peers that see the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.benchmark.results import NAMES, CaseKey, Results
from experiments.benchmark.titles import FAMILIES, case_title
from experiments.plotting import RULE, Style, hide_frame, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Styles = Mapping[str, Style]

AUTO = Style("AutoHead", "D", "", "#0b4f9e", "#0b4f9e")
ON_LOGITS: Styles = {"sph": Style("SPH (SPHClassifierCV)", "^", "", "#c46a1f", "white"), "auto": AUTO}
WITH_FEATURES: Styles = {
    "auto": AUTO._replace(fill="white", label="AutoHead without features"),
    "auto_features": Style("AutoHead with features", "o", "", "#0b4f9e", "#0b4f9e"),
}
WIDTH = 6.6  # inches
MIN_X = -45.0  # per cent; the figure ends here, and longer lines are cut


def draw(results: Results, peers: Sequence[str], ours: Styles) -> Figure:
    """Gains by case: our heads, the best single peer, and from the worst to the best peer; a panel for a family.

    The panels are below each other, and the figure is as wide as a page, so that it can be read on one and on a phone.
    """
    shown = {**_best(results, peers), **ours}  # the most important last, and so on top
    cases = {family: found for family in FAMILIES if (found := [case for case in results.cases if case[0] == family])}
    heights = [len(of_family) + 1.0 for of_family in cases.values()]
    figure = new_figure(WIDTH, 1.0 + 0.21 * sum(heights) + 0.35 * len(heights))
    panels = figure.subplots(len(cases), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
    handles: dict[str, Any] = {}
    for axes, (family, of_family) in zip(panels, cases.items(), strict=True):
        _draw_family(axes, results, of_family, peers, shown)
        axes.set_title(FAMILIES[family], fontsize="medium", weight="bold")
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    panels[0].set_xlim(max(panels[0].get_xlim()[0], MIN_X), None)
    panels[-1].set_xlabel("fewer test errors than softmax, %; mean over networks", fontsize="small")
    figure.legend([*handles.values()], [*handles], loc="outside upper center", ncols=1, fontsize="medium")
    return figure


def _best(results: Results, peers: Sequence[str]) -> Styles:
    if not peers:
        return {}
    best = results.best_peer(peers)
    return {best: Style(f"best single peer: {NAMES[best]}", "s", "", "black", "white")}


def _draw_family(axes: Axes, results: Results, cases: Sequence[CaseKey], peers: Sequence[str], styles: Styles) -> None:
    axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=0)
    of_peers = [results.gains(peer) for peer in peers]
    spans = [[100 * gains[case] for gains in of_peers if case in gains] for case in cases]
    measured = [position for position, span in enumerate(spans) if span]
    if measured:
        low, high = (np.maximum([end(span) for span in spans if span], 2 * MIN_X) for end in (min, max))
        axes.hlines(measured, low, high, color="#c4c4c4", linewidth=4, label="worst to best peer", zorder=1)
    for method, style in styles.items():
        gains = results.gains(method)
        shown = [(100 * gains[case], position) for position, case in enumerate(cases) if case in gains]
        if shown:
            x, y = zip(*shown, strict=True)
            size = 7 if method in peers else 5  # so that none hides another
            axes.plot(
                x, y, style.marker, color=style.colour, markerfacecolor=style.fill, markersize=size, label=style.label
            )
    labels = [f"{case_title(case).split(', ')[-1]}; {case[2]:,} samples" for case in cases]
    axes.set_yticks(range(len(cases)), labels, fontsize="small")
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=True)
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    hide_frame(axes, "top", "right", "left")
