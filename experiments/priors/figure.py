"""The figure on new class proportions: the errors of each draw, with the head as it is and adapted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.plotting import RULE, hide_frame, new_figure, save
from experiments.priors.measure import CONCENTRATIONS, GUARDED, SAMPLES, Outcome
from experiments.priors.peers import PEERS

MARKERS = dict(zip(SAMPLES, ("o", "s", "D"), strict=True))
LOWEST = -100  # percent: what is below is drawn there


def draw(outcomes: Sequence[Outcome], out: Path) -> None:
    """Write adapted.png and .pdf: a row for aftermax and one for abstention, a column for each kind of mix."""
    methods = (GUARDED, list(PEERS)[-1])
    figure = new_figure(9.0, 6.0)
    for row, method in enumerate(methods):
        for column, concentration in enumerate(CONCENTRATIONS):
            axes = figure.add_subplot(2, 3, 1 + 3 * row + column)
            some = [one for one in outcomes if one.method == method and one.world == f"Dirichlet {concentration:g}"]
            axes.axhline(0.0, color=RULE, linewidth=1.0)
            for samples, marker in MARKERS.items():
                points = [one for one in some if one.samples == samples]
                axes.plot(
                    [100 * one.error_before for one in points],
                    [max(LOWEST, 100 * (1 - one.error / one.error_before)) for one in points],
                    linestyle="",
                    marker=marker,
                    markersize=4,
                    alpha=0.7,
                    color="#0b4f9e" if method == GUARDED else "#c46a1f",
                    markerfacecolor="white" if samples == SAMPLES[0] else None,
                    label=f"{samples:,} unlabelled samples",
                )
            axes.set_ylim(LOWEST - 10, 100)
            axes.set_title(f"{method}, Dirichlet {concentration:g}", fontsize=9)
            axes.set_xlabel("error of the head as it is, %", fontsize=8)
            if column == 0:
                axes.set_ylabel("errors gone, %", fontsize=8)
            axes.tick_params(labelsize=8)
            hide_frame(axes)
    figure.axes[0].legend(fontsize=7, frameon=False)
    save(figure, out / "adapted.png")
