"""Tables and text of the experiment on shipped models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.runs import provenance
from experiments.vendor.measure import DRAWS, MOST_TEST_SAMPLES, Outcome
from experiments.vendor.models import MODELS
from experiments.vendor.results import Case, Cell, Results

TEMPLATE = Path(__file__).with_suffix(".md")
PEERS = {"labelled_classes": "labelled classes alone", "biases": "biases alone", "sms": "probmetrics' sms"}


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, verdict and report to ``out``; return the table and the verdict as text."""
    results = Results(outcomes)
    write_text(out / "table.md", gain_table(results))
    write_text(out / "safety.md", safety_table(results))
    write_text(out / "verdict.md", verdict(results))
    write_text(out / "report.md", report(results, provenance.sentence(out)))
    return f"{gain_table(results)}\n{verdict(results)}"


def gain_table(results: Results) -> str:
    """Mean gains over draws, AutoHead's with its interval, a line for each case."""
    lines = []
    for case in results.cases:
        auto = results.cell("auto", case)
        peers = [signed(results.cell(name, case).gain) for name in PEERS]
        gain = f"**{signed(auto.gain)}**{_interval(auto)}"
        lines.append([*_names(case), percent(results.error(case)), gain, *peers])
    headings = ["model", "pieces", "labels", "softmax error", "AutoHead (95 %)", *PEERS.values()]
    return table(headings, lines, texts=2)


def safety_table(results: Results) -> str:
    """What AutoHead promised, chose, and at worst did, a line for each case."""
    lines = []
    for case in results.cases:
        auto = results.cell("auto", case)
        seconds = np.mean([outcome.fit_seconds for outcome in results.group("auto", case)])
        chosen = ", ".join(f"{name} {count}" for name, count in auto.chosen.most_common())
        counts = f"{auto.better} / {auto.worse} ({auto.worse_after_holm})"
        lines.append(
            [
                *_names(case),
                signed(auto.promised),
                signed(auto.gain),
                signed(auto.worst),
                counts,
                chosen,
                f"{seconds:.1f} s",
            ]
        )
    headings = ["model", "pieces", "labels", "promised", "true", "worst draw", "better / worse (Holm)", "chosen", "fit"]
    return table(headings, lines, texts=2)


def _names(case: Case) -> list[str]:
    model, length, labels = case
    return [MODELS[model].title, f"{length} {MODELS[model].unit}", f"{labels:,}"]


def _interval(cell: Cell) -> str:
    return "" if np.isnan(cell.low) else f" ({signed(cell.low)} to {signed(cell.high)})"


def verdict(results: Results) -> str:
    """The gains in a few sentences."""
    cells = {method: [results.cell(method, case) for case in results.cases] for method in ("auto", *PEERS)}
    means = {method: float(np.mean([cell.gain for cell in group])) for method, group in cells.items()}
    auto = cells["auto"]
    count = sum(len(results.group("auto", case)) for case in results.cases)
    promised = float(np.mean([cell.promised for cell in auto]))
    peers = "; ".join(f"{name} {signed(means[method])}" for method, name in PEERS.items())
    worse = {method: sum(cell.worse for cell in group) for method, group in cells.items()}
    harm = "; ".join(f"{name} in {worse[method]}" for method, name in PEERS.items())
    after_holm = sum(cell.worse_after_holm for cell in auto)
    return (
        f"**Mean over settings** ({len(auto)}): AutoHead {signed(means['auto'])} fewer errors than softmax; {peers}. "
        f"AutoHead promised {signed(promised)}. Its worst draw: {signed(min(cell.worst for cell in auto))}.\n\n"
        f"**Significantly worse than softmax** (McNemar's exact test, p < 0.05): AutoHead in {worse['auto']} of "
        f"{count} draws, in {after_holm} after Holm's correction over the draws of a setting; {harm}. "
        f"Significantly better: AutoHead in {sum(cell.better for cell in auto)}.\n"
    )


def report(results: Results, made_by: str) -> str:
    """The whole report."""
    return TEMPLATE.read_text().format(
        quick="" if max(results.draws.values()) >= max(DRAWS.values()) else " --quick",
        draws=", ".join(f"{count} of {MODELS[model].title}" for model, count in results.draws.items()),
        most=f"{MOST_TEST_SAMPLES:,}",
        made_by=made_by,
        verdict=verdict(results),
        gains=gain_table(results),
        safety=safety_table(results),
    )
