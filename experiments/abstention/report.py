"""The report on abstention: how often the promise is kept, and how much of what is possible is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, table
from experiments.abstention.measure import AUTO, SOFTMAX, Outcome
from experiments.plotting import RULE, hide_frame, new_figure, save
from experiments.runs import provenance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATE = Path(__file__).with_suffix(".md")
COLOURS = {0.02: "#0b4f9e", 0.05: "#c46a1f", 0.1: "#555555"}
MARKERS = {0.02: "D", 0.05: "s", 0.1: "o"}
LARGE = 2_000  # labelled samples


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, figure and report to ``out``; return the tables as text."""
    tables = {"summary": summary_table(outcomes), "worlds": world_table(outcomes), "verdict": verdict(outcomes)}
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    save(figure(outcomes), out / "abstention")
    procedures = (out / "procedures.md").read_text()
    write_text(
        out / "report.md", TEMPLATE.read_text().format(run=provenance.sentence(out), procedures=procedures, **tables)
    )
    return "\n".join(tables.values())


def _groups(
    outcomes: Sequence[Outcome], key: Callable[[Outcome], tuple[object, ...]]
) -> dict[tuple[object, ...], list[Outcome]]:
    found: dict[tuple[object, ...], list[Outcome]] = {}
    for one in sorted(outcomes, key=lambda one: (one.head != SOFTMAX, *one.key[1:], one.max_error, one.draw)):
        found.setdefault(key(one), []).append(one)
    return found


def kept(outcomes: Sequence[Outcome]) -> float:
    """In which share of the runs the promise is kept."""
    return float(np.mean([not one.broken for one in outcomes]))


def _mean(outcomes: Sequence[Outcome], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in outcomes]))


def _independent(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those of samples that stand for themselves: with groups, there is no hindsight to compare with."""
    return [one for one in outcomes if np.isfinite(one.hindsight)]


def summary_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each head, number of samples and largest error."""
    groups = _groups(outcomes, lambda one: (one.head, one.samples, one.max_error))
    lines = []
    for (head, samples, max_error), some in sorted(
        groups.items(), key=lambda item: (item[0][0] != SOFTMAX, item[0][1:])
    ):
        worst = min(kept(same) for same in _groups(some, lambda one: one.key[1:4]).values())
        single = _independent(some)
        lines.append(
            [
                str(head),
                f"{samples:,}",
                f"{100 * float(str(max_error)):g} %",
                f"{len(some):,}",
                percent(kept(some)),
                percent(worst),
                percent(_mean(single, "share")),
                percent(_mean(single, "hindsight")),
                percent(_mean(single, "best_share")),
            ]
        )
    heads = ["head", "samples", "acceptable", "runs", "promise kept", "worst world", "decided alone", "hindsight"]
    return table([*heads, "truth known"], lines, texts=1)


def world_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each world with the largest number of samples, and each largest error."""
    some = [one for one in outcomes if one.samples == LARGE and one.head == SOFTMAX]
    lines = []
    for (kind, classes, error, max_error), same in _groups(some, lambda one: (*one.key[1:4], one.max_error)).items():
        hindsight = _mean(same, "hindsight")
        lines.append(
            [
                str(kind),
                str(classes),
                f"{error} %",
                f"{100 * float(str(max_error)):g} %",
                percent(kept(same)),
                percent(_mean(same, "share")),
                percent(hindsight) if np.isfinite(hindsight) else "-",
                percent(_mean(same, "best_share")),
            ]
        )
    heads = ["world", "classes", "error", "acceptable", "promise kept", "decided alone", "hindsight", "truth known"]
    return table(heads, lines, texts=1)


def verdict(outcomes: Sequence[Outcome]) -> str:
    """The promise and what it costs, one a line."""
    lines = []
    for head in (SOFTMAX, AUTO):
        some = [one for one in outcomes if one.head == head]
        for samples, same in sorted(_groups(some, lambda one: (one.samples,)).items()):
            by_error = _groups(same, lambda one: (one.max_error,)).items()
            shares = ", ".join(f"{percent(kept(each))} at {100 * float(str(limit)):g} %" for (limit,), each in by_error)
            runs = len({(one.key, one.draw) for one in same})
            lines.append(
                f"- {head}, {int(str(samples[0])):,} samples: the promise is kept in {shares} ({runs:,} runs)."
            )
    large = _independent([one for one in outcomes if one.samples == LARGE and one.head == SOFTMAX])
    if large:
        gap, left = (100 * (_mean(large, name) - _mean(large, "share")) for name in ("hindsight", "best_share"))
        worst = max(
            100 * (_mean(same, "hindsight") - _mean(same, "share"))
            for same in _groups(large, lambda one: (*one.key, one.max_error)).values()
        )
        lines.append(
            f"- With {LARGE:,} samples, the share that is decided alone is {gap:.1f} points below the best that "
            f"hindsight allows on the same labels ({worst:.1f} in the worst world and largest error), and {left:.1f} "
            "below that of someone who knows the truth."
        )
    return "\n".join(lines) + "\n"


def figure(outcomes: Sequence[Outcome]) -> Figure:
    """How often the promise is kept, and what is decided alone, against the number of labelled samples."""
    drawn = new_figure(9.0, 3.8)
    left, right = drawn.subplots(1, 2)
    some = [one for one in outcomes if one.head == SOFTMAX]
    sizes = sorted({one.samples for one in some})
    for max_error in sorted({one.max_error for one in some}):
        same = [[one for one in some if (one.samples, one.max_error) == (size, max_error)] for size in sizes]
        single = [_independent(each) for each in same]
        style = {"color": COLOURS[max_error], "marker": MARKERS[max_error], "linewidth": 1.4, "markersize": 5}
        label = f"at most {100 * max_error:g} % wrong"
        left.plot(sizes, [100 * kept(each) for each in same], label=label, **style)
        right.plot(sizes, [100 * _mean(each, "share") for each in single], label=label, **style)
        right.plot(
            sizes, [100 * _mean(each, "hindsight") for each in single], **style | {"linestyle": ":", "mfc": "white"}
        )
    left.axhline(95, color=RULE, linewidth=1.2, zorder=0)
    left.set(ylim=(90, 100.4), ylabel="runs in which the promise is kept (%)")
    right.set(ylim=(0, 100), ylabel="samples that are decided alone (%)")
    right.plot([], [], ":", color="#555555", label="with hindsight")
    for axes in (left, right):
        axes.set(xscale="log", xlabel="labelled samples")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize="small")
        hide_frame(axes)
    return drawn
