"""Table, figure and verdict of the experiment on training samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aftermax._utils.paired_tests import exact_mcnemar
from aftermax._utils.text import p_value, percent, signed, table
from aftermax.sph.grid import grid_blocks, grid_columns
from experiments.plotting import RULE, Style, draw_points, hide_frame, log_samples_axis, new_figure
from experiments.runs.table_report import write_report
from experiments.training_samples.measure import GRID, REFERENCE, SOFTMAX, Outcome
from experiments.training_samples.sources import FOLDS, MAX_FITTED_ON

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {
    "on_training": Style("training samples", "^", ":", "#8a8a8a", "white"),
    "cross_fitted": Style("cross-fitted training samples", "s", "-", "#c46a1f", "#c46a1f"),
    "held_out": Style("as many held-out samples", "D", "--", "#0b4f9e", "#0b4f9e"),
    "validation": Style("4,000 held-out samples", "o", "-", "black", "white"),
    "split": Style("network on 80 %, head on 20 %", "v", "-.", "#5b9bd5", "#5b9bd5"),
}
HEAD_NAMES = {"pooling": "SPH's pooling of every sample", "sph": "SPHClassifierCV", "auto": "AutoHead"}
COMBINATIONS = len(grid_columns(grid_blocks(GRID))["certainty"])
MIN_Y = -130.0  # per cent; the panels end here, at the latest
INTRODUCTION = f"""# Can a head be fitted on training samples?

The paper takes D from held-out samples, because "samples used to train internal model weights have distinct behavior
when passed through the trained model". Here each head is fitted on

- the scores of the training samples themselves;
- cross-fitted training scores: {FOLDS} folds, each scored by a network trained on the others, while the head is then
  used on the network trained on everything;
- as many held-out samples as there are training samples;
- 4,000 held-out samples, as in the main experiment (from 5,000 training samples on, the line above has as many);
- the last 20 % of the training samples, with a network trained on the first 80 %.

A head is fitted on at most {MAX_FITTED_ON:,} samples. All predict the same 4,000 test samples of each network; fewer
errors are relative to softmax of the network trained on everything. SPHClassifierCV chooses from {COMBINATIONS}
combinations of hyperparameters, a part of its default grid; it and AutoHead keep softmax where they cannot show a gain
on the samples they are fitted on. "SPH's pooling of every sample" has no such safeguard: default hyperparameters, no
gate, every class trusted. Written by `python -m experiments training-samples`.
"""


class Comparison(NamedTuple):
    """A head fitted on one source against the same head fitted on as many held-out samples, at one size."""

    size: int
    wins: int
    losses: int

    @property
    def p(self) -> float:
        return exact_mcnemar(self.wins, self.losses)

    @property
    def verdict(self) -> str:
        if self.p >= 0.05:
            return "not different"
        return "better" if self.wins > self.losses else "worse"


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table, figure and report to ``out``; return the table and the verdict as text."""
    networks = len({outcome.network for outcome in outcomes})
    introduction = f"{INTRODUCTION}\nNetworks of each size: {networks}.\n"
    caption = "fewer errors by size and source"
    return write_report(out, introduction, size_table(outcomes), verdict(outcomes), draw(outcomes), caption)


def sizes_of(outcomes: Sequence[Outcome]) -> list[int]:
    return sorted({outcome.trained_on for outcome in outcomes})


def group_of(outcomes: Sequence[Outcome], size: int, source: str, head: str) -> list[Outcome]:
    return [o for o in outcomes if (o.trained_on, o.source, o.head) == (size, source, head)]


# ---- the table -------------------------------------------------------------------------------------------------------


def size_table(outcomes: Sequence[Outcome]) -> str:
    """Means over networks, a line for each size and source."""
    heads = ["trained on", "networks", "head fitted on", "samples", "softmax error"]
    heads += [f"fewer errors: {name}" for name in HEAD_NAMES.values()]
    heads += [
        "significantly worse than softmax (McNemar, p < 0.05): SPHClassifierCV",
        "the same: AutoHead",
        "AutoHead against as many held-out samples",
    ]
    lines = []
    for size in sizes_of(outcomes):
        for source, style in STYLES.items():
            softmax = group_of(outcomes, size, source, SOFTMAX)
            if not softmax:
                continue
            groups = {head: group_of(outcomes, size, source, head) for head in HEAD_NAMES}
            cells = [f"{size:,}", str(len(softmax)), style.label, f"{softmax[0].fitted_on:,}"]
            cells.append(percent(float(np.mean([o.error for o in softmax]))))
            cells += [signed(float(np.mean([o.gain for o in group]))) for group in groups.values()]
            cells += [
                f"{sum(o.significantly_worse for o in groups[head])} of {len(softmax)}" for head in ("sph", "auto")
            ]
            lines.append([*cells, _against_reference(outcomes, size, source)])
    return table(heads, lines)


def _worse(group: Sequence[Outcome]) -> str:
    return f"{sum(o.significantly_worse for o in group)} of {len(group)}"


def _against_reference(outcomes: Sequence[Outcome], size: int, source: str) -> str:
    if source == REFERENCE:
        return ""
    [comparison] = compare(outcomes, source, "auto", [size])
    return f"{comparison.verdict} (p {p_value(comparison.p)})"


def compare(outcomes: Sequence[Outcome], source: str, head: str, sizes: Sequence[int]) -> list[Comparison]:
    """A source against as many held-out samples: the test samples of all networks of a size together."""
    compared = []
    for size in sizes:
        if group := group_of(outcomes, size, source, head):
            wins, losses = sum(o.reference_wins for o in group), sum(o.reference_losses for o in group)
            compared.append(Comparison(size, wins, losses))
    return compared


# ---- the verdict -----------------------------------------------------------------------------------------------------


def verdict(outcomes: Sequence[Outcome]) -> str:
    """The answers, from the numbers."""
    lines = [
        _cross_fitting(outcomes),
        _sentence("D from training samples (SPH's pooling of every sample)", outcomes, "on_training", "pooling"),
        _sentence("D from cross-fitted training samples", outcomes, "cross_fitted", "pooling"),
        _sentence("AutoHead on training samples", outcomes, "on_training", "auto"),
        _sentence("AutoHead on cross-fitted training samples", outcomes, "cross_fitted", "auto"),
        _sentence("A network on 80 % with AutoHead on the other 20 %", outcomes, "split", "auto"),
        *(_gains(outcomes, head) for head in ("sph", "auto")),
        _harm(outcomes),
    ]
    lines.append("The tests are over all networks of a size, whose test samples overlap, and there are many of them.")
    return "\n".join(f"- {line}" for line in lines) + "\n"


def _cross_fitting(outcomes: Sequence[Outcome]) -> str:
    """Whether out-of-fold scores save the held-out samples."""
    sizes = sizes_of(outcomes)
    good = [f"{c.size:,}" for c in compare(outcomes, "cross_fitted", "auto", sizes) if c.verdict != "worse"]
    where = f"at {', '.join(good)} training samples" if good else "at no size"
    listed = ", ".join(f"{size:,}" for size in sizes)
    return (
        "**When is cross-fitting as good as held-out samples?** For AutoHead it is not significantly worse "
        f"{where}, of {listed}; which does not prove it as good."
    )


def _sentence(what: str, outcomes: Sequence[Outcome], source: str, head: str) -> str:
    """At which sizes a source is better, not different and worse than held-out samples."""
    compared = compare(outcomes, source, head, sizes_of(outcomes))
    parts = []
    for judged in ("better", "not different", "worse"):
        sizes = [f"{comparison.size:,}" for comparison in compared if comparison.verdict == judged]
        if sizes:
            parts.append(f"{judged} at {', '.join(sizes)}")
    return f"**{what}**, against as many held-out samples (McNemar, p < 0.05): {'; '.join(parts)} training samples."


def _gains(outcomes: Sequence[Outcome], head: str) -> str:
    """Mean gain of a head over all networks, by source."""
    parts = []
    for source, style in STYLES.items():
        if gains := [o.gain for o in outcomes if (o.source, o.head) == (source, head)]:
            parts.append(f"{style.label} {signed(float(np.mean(gains)))}")
    return f"**{HEAD_NAMES[head]}**, fewer errors in the mean over all networks: {'; '.join(parts)}."


def _harm(outcomes: Sequence[Outcome]) -> str:
    """How often the heads with safeguards are significantly worse than softmax."""
    parts = []
    for source, style in STYLES.items():
        if group := [o for o in outcomes if o.source == source and o.head in ("sph", "auto")]:
            parts.append(f"{style.label} {_worse(group)}")
    return f"**Significantly worse than softmax** (SPHClassifierCV and AutoHead together): {'; '.join(parts)}."


# ---- the figure ------------------------------------------------------------------------------------------------------


def draw(outcomes: Sequence[Outcome]) -> Figure:
    """Fewer errors by size and source, a panel for each head."""
    figure = new_figure(11.0, 4.2)
    panels = figure.subplots(1, len(HEAD_NAMES))
    for axes, (head, name) in zip(panels, HEAD_NAMES.items(), strict=True):
        axes.axhline(0.0, color=RULE, linewidth=0.8)
        for source, style in STYLES.items():
            _draw_source(axes, outcomes, source, head, style)
        log_samples_axis(axes)
        axes.xaxis.set_minor_formatter("")  # with few sizes, matplotlib would label these ticks too
        axes.set_title(name, fontsize="medium")
        axes.set_ylim(max(axes.get_ylim()[0], MIN_Y), None)
        hide_frame(axes)
    panels[0].set_ylabel("fewer test errors than softmax, %\nmean and range over networks")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _draw_source(axes: Axes, outcomes: Sequence[Outcome], source: str, head: str, style: Style) -> None:
    groups = {size: group_of(outcomes, size, source, head) for size in sizes_of(outcomes)}
    gains = {size: [100 * o.gain for o in group] for size, group in groups.items() if group}
    if not gains:
        return
    shift = 0.9 + 0.05 * list(STYLES).index(source)  # so that no point hides another
    means = np.array([np.mean(values) for values in gains.values()])
    low, high = (np.array([end(values) for values in gains.values()]) for end in (min, max))
    draw_points(axes, shift * np.array(list(gains)), means, [means - low, high - means], style)
