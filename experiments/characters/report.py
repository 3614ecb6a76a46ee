"""Tables, figure and text of the experiment on thousands of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.characters.figure import draw
from experiments.characters.fonts import FONTS
from experiments.characters.measure import MOST_SECONDS, PER_CLASS, Outcome
from experiments.characters.methods import METHODS
from experiments.characters.results import Results, covered, held, mean
from experiments.plotting import save
from experiments.runs import provenance
from experiments.zeroshot.results import Mean, standing

TEMPLATE = Path(__file__).with_suffix(".md")


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, figure, verdict and report to ``out``; return the errors and the verdict as text."""
    results = Results(outcomes)
    parts = {
        "summary": summary_table(results),
        "fonts": font_table(results),
        "standings": standings_table(results),
        "promises": promises_table(results),
        "cost": cost_table(results),
        "verdict": verdict(results),
    }
    for name, text in parts.items():
        write_text(out / f"{name}.md", text)
    save(draw(results), out / "error")
    first = results.outcomes[0]
    text = TEMPLATE.read_text().format(
        quick="" if results.per_class[-1] == PER_CLASS[-1] else " --quick",
        draws=results.draws,
        classes=f"{first.classes:,}",
        tests=f"{first.test_samples:,}",
        minutes=f"{MOST_SECONDS / 60:.0f}",
        made_by=provenance.sentence(out),
        **parts,
    )
    write_text(out / "report.md", text)
    return f"{parts['summary']}\n{parts['verdict']}"


def _label_heads(results: Results) -> list[str]:
    return [f"{count} label{'s' if count > 1 else ''} a class" for count in results.per_class]


def _title(name: str) -> str:
    return f"**{METHODS[name].title}**" if name == "auto" else METHODS[name].title


# ---- errors ----------------------------------------------------------------------------------------------------------


def summary_table(results: Results) -> str:
    """Mean errors over fonts and draws, a line for each method."""
    lines = [
        [_title(name), *(percent(results.error(name, count).value) for count in results.per_class)]
        for name in results.methods
    ]
    return table(["test error", *_label_heads(results)], lines, texts=1)


def font_table(results: Results) -> str:
    """Mean errors over draws, a line for each font and number of labels."""
    lines = [
        [FONTS[font].title, str(count), *(_error(results.error(name, count, font)) for name in results.methods)]
        for font in results.fonts
        for count in results.per_class
    ]
    return table(["font", "labels a class", *(_title(name) for name in results.methods)], lines, texts=1)


def _error(found: Mean) -> str:
    return percent(found.value) + ("" if np.isnan(found.low) else f" ± {50 * (found.high - found.low):.1f}")


def standings_table(results: Results) -> str:
    """AutoHead against the best peer, with each number of labels."""
    lines = []
    for count in results.per_class if "auto" in results.methods and results.peers else []:
        best = results.best_peer(count)
        gap = results.difference("auto", best, count)
        ends = "" if np.isnan(gap.low) else f" ({_points(gap.low)} to {_points(gap.high)})"
        errors = [percent(results.error(name, count).value) for name in ("auto", best)]
        lines.append([str(count), errors[0], METHODS[best].title, errors[1], _points(gap.value) + ends, standing(gap)])
    heads = ["labels a class", "AutoHead's error", "best peer", "its error", "difference, points (95 %)", "AutoHead is"]
    return table(heads, lines)


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


# ---- promises and cost -----------------------------------------------------------------------------------------------


def promises_table(results: Results) -> str:
    """What AutoHead promised, chose and did, a line for each font and number of labels."""
    lines = []
    for font in results.fonts if "auto" in results.methods else []:
        for count in results.per_class:
            group = results.every("auto", count, font)
            ends = [mean([one.expected_low for one in group]), mean([one.expected_high for one in group])]
            gains = [signed(mean([one.expected_gain for one in group])), f"{signed(ends[0])} to {signed(ends[1])}"]
            counts = [f"{sum(map(kind, group))} / {len(group)}" for kind in (held, covered)]
            worse = sum(one.significantly_worse for one in group)
            chosen = ", ".join(f"{name} {times}" for name, times in Counter(one.chosen for one in group).most_common())
            true = signed(mean([one.gain for one in group]))
            lines.append([FONTS[font].title, str(count), *gains, true, *counts, str(worse), chosen])
    heads = ["font", "labels a class", "promised", "gain_interval_", "true", "held", "covered", "worse", "chosen"]
    return table(heads, lines, texts=1)


def cost_table(results: Results) -> str:
    """Mean processor time of a fit by the number of labels, and time and memory with the most labels."""
    lines = []
    for name in results.methods:
        fits = [_seconds(mean([one.fit_seconds for one in results.every(name, count)])) for count in results.per_class]
        most = results.every(name, results.per_class[-1])
        predict = _seconds(mean([one.predict_seconds for one in most]))
        memory = [max(getattr(one, kind) for one in most) for kind in ("fit_gigabytes", "predict_gigabytes")]
        lines.append([METHODS[name].title, *fits, predict, *(f"{value:.1f} GB" for value in memory)])
    heads = ["method", *(f"fit, {head}" for head in _label_heads(results))]
    heads += [f"predict {results.outcomes[0].test_samples:,} samples", "memory, fit", "memory, predict"]
    return table(heads, lines, texts=1)


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(results: Results) -> str:
    """What was found, one a line."""
    lines = _auto_lines(results) if "auto" in results.methods else []
    return "\n".join([*lines, _harm_line(results), *map(_limited_line, results.limited)]) + "\n"


def _auto_lines(results: Results) -> list[str]:
    every, counts = results.every("auto"), results.standings()
    gains = [
        f"{signed(mean([one.gain for one in results.every('auto', count)]))} with {head}"
        for count, head in zip(results.per_class, _label_heads(results), strict=True)
    ]
    promised = mean([one.expected_gain for one in every])
    return [
        f"- **AutoHead** makes fewer errors than softmax: {'; '.join(gains)}. Compared with each peer, with each "
        f"number of labels: ahead in {counts['ahead']}, level in {counts['level']}, behind in {counts['behind']} of "
        f"{counts.total()}.",
        f"- **Promised** {signed(promised)}, true {signed(mean([one.gain for one in every]))}, over all fits. "
        f"`gain_interval_` holds the gain on the test samples in {sum(map(held, every))} of {len(every)} fits, and in "
        f"{sum(map(covered, every))} if the uncertainty of that gain is allowed for.",
    ]


def _harm_line(results: Results) -> str:
    names = [name for name in results.methods if name != "softmax"]
    counts = "; ".join(
        f"{METHODS[name].title} in {sum(one.significantly_worse for one in results.every(name))}" for name in names
    )
    fits = len(results.every("softmax"))
    return f"- **Significantly worse than softmax** (McNemar's exact test, p < 0.05), of {fits} fits: {counts}."


def _limited_line(outcome: Outcome) -> str:
    title, memory = METHODS[outcome.method].title, f"{outcome.fit_gigabytes:.1f} GB"
    if outcome.stopped:
        return (
            f"- **{title}** is left out: its fit on {outcome.labels:,} labels was stopped after "
            f"{outcome.fit_seconds / 60:.0f} minutes of processor time, and had taken {memory} of memory by then."
        )
    return (
        f"- **{title}**, tried once, with {outcome.labels:,} labels: error {percent(outcome.error)} (softmax "
        f"{percent(outcome.softmax_error)}), fit {_seconds(outcome.fit_seconds)}, prediction "
        f"{_seconds(outcome.predict_seconds)}, {memory} of memory."
    )
