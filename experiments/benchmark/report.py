"""Tables, text and figure of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.benchmark.measure import Outcome
from experiments.benchmark.results import NAMES, CaseKey, Results, mean
from experiments.plotting import RULE, Style, hide_frame, new_figure, save
from experiments.runs import provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "vmnist": "vMNIST",
    "files": "score files",
    "shift-mnist": "MNIST, shifted",
    "shift-cifar10": "CIFAR-10, shifted",
}
COLUMNS = (("vmnist", "files"), ("shift-mnist",), ("shift-cifar10",))  # of the figure
OURS = {
    "sph": Style("SPH (SPHClassifierCV)", "^", "", "#c46a1f", "white"),
    "auto": Style("AutoHead", "D", "", "#0b4f9e", "#0b4f9e"),
}
MIN_X = -45.0  # per cent; the figure ends here, and longer lines are cut
INTRODUCTION = """# The money table

Relative reduction of softmax's test error, in the mean over networks. Every method was fitted on the same labelled
samples, chose its hyperparameters by cross-validation on them (probmetrics' sms has none to choose), and predicted the
same test samples. Everything but "AutoHead with features" sees the logits only. SPH (SPHClassifierCV) is left out where
there are more than 20 classes, as its time grows with their square. Times are on one core, while another trial runs on
the other. Written by `python -m experiments money`; a line for each trial and method is in outcomes.csv, here and in
the folder of the shift experiment.
"""


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, report and figure to ``out``; return the tables as text."""
    results = Results(outcomes)
    tables = {"cases": case_table(results), "methods": method_table(results)}
    if results.peers and "auto" in results.methods:
        tables["peers"] = against_peers(results)
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    report = [INTRODUCTION, provenance.sentence(out), *tables.values(), "![gain by case](gain.png)\n"]
    write_text(out / "report.md", "\n".join(report))
    save(draw(results), out / "gain")
    return "\n".join(tables.values())


# ---- the tables ------------------------------------------------------------------------------------------------------


def case_table(results: Results) -> str:
    """A line for each case, a column for each method."""
    shown = [name for name in results.methods if name != "softmax"]
    columns = {name: results.gains(name) for name in shown}
    lines = []
    for case in results.cases:
        of_case = [outcome for outcome in results.outcomes if outcome.case == case]
        cells = [case_title(case), f"{case[2]:,}", percent(mean(outcome.softmax_error for outcome in of_case))]
        for name, gains in columns.items():
            cell = signed(gains[case]) if case in gains else "-"
            cells.append(f"**{cell}**" if name == "auto" else cell)
        lines.append(cells)
    return table(["case", "samples", "softmax error", *(NAMES[name] for name in shown)], lines, texts=1)


def case_title(case: CaseKey) -> str:
    family, name, _ = case
    titles = {"vmnist": "vMNIST, trained on {}", "shift-mnist": "MNIST, {}", "shift-cifar10": "CIFAR-10, {}"}
    return titles.get(family, "{}").format(f"{int(name):,}" if name.isdigit() else name)


def method_table(results: Results) -> str:
    """A line for each method: its gains over all cases, how often it is worse, and its times."""
    heads = [
        "method",
        "cases",
        "mean gain",
        "worst case",
        "significantly better (McNemar, p < 0.05)",
        "significantly worse",
        "fit time, SVC's search = 1",
        "predict time, softmax = 1",
        "log loss minus that of softmax with a temperature",
    ]
    lines = []
    for name in results.methods:
        gains, group = results.gains(name), results.of(name)
        worst = min(gains, key=lambda case: gains[case])
        fit = results.ratios(name, "svc", lambda o: o.fit_seconds)
        predict = results.ratios(name, "softmax", lambda o: o.predict_seconds)
        lines.append(
            [
                NAMES[name],
                str(len(gains)),
                signed(mean(gains.values())),
                f"{signed(gains[worst])} ({case_title(worst)}; {worst[2]:,} samples)" if name != "softmax" else "",
                percent(mean(outcome.significantly_better for outcome in group)),
                percent(mean(outcome.significantly_worse for outcome in group)),
                times(fit) if name != "softmax" else "",
                times(predict),
                f"{excess:+.3f}" if np.isfinite(excess := excess_log_loss(group)) else "-",
            ]
        )
    return table(heads, lines, texts=1)


def times(ratios: Sequence[float]) -> str:
    """The median."""
    if not len(ratios):
        return "-"
    median = np.median(ratios)
    return f"{median:,.0f} x" if median >= 10 else f"{median:.2g} x"


def excess_log_loss(group: Iterable[Outcome]) -> float:
    return mean(outcome.log_loss - outcome.softmax_log_loss for outcome in group)


def against_peers(results: Results) -> str:
    """AutoHead against the best single peer, and against the best peer of each case."""
    best, ours = results.best_peer(), results.gains("auto")
    mean_ours, mean_best = mean(ours.values()), mean(results.gains(best).values())
    near = near_the_best(results)
    share = percent(near / len(ours))
    return (
        f"AutoHead gains {signed(mean_ours)} in the mean over all {len(ours)} cases; the best single peer, "
        f"{NAMES[best]}, {signed(mean_best)}: {100 * (mean_ours - mean_best):+.1f} points. AutoHead is ahead of, or "
        f"within one point of, the best peer *of each case* in {near} of {len(ours)} cases ({share}). "
        "That best peer differs from case to case, and nobody knows it beforehand.\n"
    )


def near_the_best(results: Results) -> int:
    """In how many cases AutoHead is at most one point behind the best peer of the case."""
    return sum(gain >= results.best_in(case) - 0.01 for case, gain in results.gains("auto").items())


# ---- the figure ------------------------------------------------------------------------------------------------------


def draw(results: Results) -> Figure:
    """Gains by case: AutoHead, SPH, the best single peer, and from the worst to the best peer; a panel for a family."""
    cases = {family: [case for case in results.cases if case[0] == family] for family in TITLES}
    columns = [shown for column in COLUMNS if (shown := [family for family in column if cases[family]])]
    tallest = max(sum(len(cases[family]) + 4 for family in column) for column in columns)
    figure = new_figure(max(4.6 * len(columns), 7.0), 1.0 + 0.17 * tallest)
    handles: dict[str, Any] = {}
    for part, column in zip(figure.subfigures(1, len(columns), squeeze=False)[0], columns, strict=True):
        heights = [len(cases[family]) for family in column]
        panels = part.subplots(len(column), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, family in zip(panels, column, strict=True):
            _draw_family(axes, results, cases[family])
            axes.set_title(TITLES[family], fontsize="medium")
            handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        panels[-1].set_xlabel("fewer test errors than softmax, %; mean over networks", fontsize="small")
    figure.legend([*handles.values()], [*handles], loc="outside lower center", ncols=4, fontsize="small")
    return figure


def _draw_family(axes: Axes, results: Results, cases: Sequence[CaseKey]) -> None:
    positions = np.arange(len(cases))
    axes.axvline(0.0, color=RULE, linewidth=0.8, zorder=0)
    if results.peers:
        spans = [[100 * results.gains(peer)[case] for peer in results.peers] for case in cases]
        low, high = (np.maximum([end(span) for span in spans], 2 * MIN_X) for end in (min, max))
        axes.hlines(positions, low, high, color="#c4c4c4", linewidth=4, label="worst to best peer", zorder=1)
    for method, style in styles(results).items():
        gains = results.gains(method)
        shown = [(100 * gains[case], position) for position, case in enumerate(cases) if case in gains]
        if shown:
            x, y = zip(*shown, strict=True)
            size = 5 if method in OURS else 7  # so that none hides another
            axes.plot(
                x, y, style.marker, color=style.colour, markerfacecolor=style.fill, markersize=size, label=style.label
            )
    labels = [f"{case_title(case).split(', ')[-1]}; {case[2]:,} samples" for case in cases]
    axes.set_yticks(positions, labels, fontsize="x-small")
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.set_xlim(max(axes.get_xlim()[0], MIN_X), None)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize="small")
    axes.grid(axis="y", color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    hide_frame(axes, "top", "right", "left")


def styles(results: Results) -> dict[str, Style]:
    """Of the methods that are drawn, the most important last and so on top."""
    peer = {}
    if results.peers:
        best = results.best_peer()
        peer = {best: Style(f"best single peer: {NAMES[best]}", "s", "", "black", "white")}
    return {**peer, **{name: style for name, style in OURS.items() if name in results.methods}}
