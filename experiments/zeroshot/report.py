"""Tables, figure and text of the experiment on a zero-shot classifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.plotting import save
from experiments.runs import provenance
from experiments.zeroshot.figure import draw
from experiments.zeroshot.measure import LABELS, Outcome
from experiments.zeroshot.methods import HEADS, LINES, TOLD_LESS
from experiments.zeroshot.results import Mean, Results, promise, standing

TEMPLATE = Path(__file__).with_suffix(".md")


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables, figure, verdict and report to ``out``; return the errors and the verdict as text."""
    results = Results(outcomes)
    parts = {
        "summary": error_table(results),
        "standings": standings_table(results),
        "told_less": told_less_table(results),
        "promises": promises_table(results),
        "cost": cost_table(results),
        "verdict": verdict(results),
    }
    for name, text in parts.items():
        write_text(out / f"{name}.md", text)
    save(draw(results), out / "error")
    quick = "" if results.labels[-1] == LABELS[-1] else " --quick"
    made = provenance.sentence(out)
    text = TEMPLATE.read_text().format(quick=quick, draws=results.draws, made_by=made, **parts)
    write_text(out / "report.md", text)
    return f"{parts['summary']}\n{parts['verdict']}"


def _heads(results: Results) -> list[str]:
    return [name for name in HEADS if name in results.lines]


def _label_heads(results: Results) -> list[str]:
    return [f"{labels:,} labels" for labels in results.labels]


# ---- tables ----------------------------------------------------------------------------------------------------------


def error_table(results: Results) -> str:
    """Mean errors on test.csv with half their 95 % intervals, a line for each method."""
    lines = [
        [_bold(name), *(_error(results.error(name, labels)) for labels in results.labels)] for name in results.lines
    ]
    return table(["line", *_label_heads(results)], lines, texts=1)


def _bold(name: str) -> str:
    return f"**{LINES[name].title}**" if name in HEADS else LINES[name].title


def _error(mean: Mean) -> str:
    half = (mean.high - mean.low) / 2
    return percent(mean.value) + (f" ± {100 * half:.1f}" if half > 0 else "")


def standings_table(results: Results) -> str:
    """AutoHead against the best other line that sees as much, with each number of labels."""
    lines = []
    for name in ("auto", "auto_features"):
        for labels in results.labels if name in results.lines else []:
            best = results.best_rival(name, labels)
            gap = results.difference(name, best, labels)
            ends = "" if np.isnan(gap.low) else f" ({_points(gap.low)} to {_points(gap.high)})"
            errors = [percent(results.error(each, labels).value) for each in (name, best)]
            lines.append(
                [
                    LINES[name].title,
                    f"{labels:,}",
                    errors[0],
                    LINES[best].title,
                    errors[1],
                    _points(gap.value) + ends,
                    standing(gap),
                ]
            )
    heads = ["head", "labels", "its error", "best other line", "its error", "difference, points (95 %)", "AutoHead is"]
    return table(heads, lines, texts=1)


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def told_less_table(results: Results) -> str:
    """The errors that AutoHead removes, and how many of them it still removes when the service tells less."""
    lines = []
    for labels in results.labels:
        zero = results.error("zero_shot", labels).value
        whole = zero - results.error("auto", labels).value
        kept = [_kept(zero - results.error(name, labels).value, whole) for name in TOLD_LESS]
        told = [percent(results.group(name, labels)[0].told_error) for name in TOLD_LESS]
        lines.append([f"{labels:,}", percent(zero), signed(whole / zero), *kept, *told])
    titles = [LINES[name].title.removeprefix("AutoHead, ") for name in TOLD_LESS]
    heads = ["labels", "zero-shot error", "fewer errors, all scores", *(f"of these with {title}" for title in titles)]
    return table([*heads, *(f"argmax of {title}" for title in titles)], lines)


def _kept(gain: float, whole: float) -> str:
    return percent(gain / whole) if whole > 0 else "-"


def promises_table(results: Results) -> str:
    """What AutoHead promised, chose and did, a line for each head and number of labels."""
    lines = []
    for name in _heads(results):
        for labels in results.labels:
            group = results.group(name, labels)
            counts = Counter(one.chosen for one in group)
            chosen = ", ".join(f"{tier} {count}" for tier, count in counts.most_common())
            harm = f"{_better(group)} / {_worse(group)}"
            lines.append([LINES[name].title, f"{labels:,}", *_promised(group), harm, chosen])
    heads = ["head", "labels", "promised", "true", "on the rest", "held", "covered", "covered, rest", "better / worse"]
    return table([*heads, "chosen"], lines, texts=1)


def _promised(group: Sequence[Outcome]) -> list[str]:
    found = promise(group)
    if found is None:
        return ["-"] * 6
    gains = [signed(gain) for gain in (found.promised, found.true, found.rest)]
    return [*gains, *(percent(share) for share in (found.held, found.covered, found.rest_covered))]


def _better(group: Sequence[Outcome]) -> int:
    return sum(one.significantly_better for one in group)


def _worse(group: Sequence[Outcome]) -> int:
    return sum(one.significantly_worse for one in group)


def cost_table(results: Results) -> str:
    """Median seconds of a fit by the number of labels, and of a prediction of all test samples with the most labels."""
    lines = []
    for name in results.lines:
        fits = [np.median([one.fit_seconds for one in results.group(name, labels)]) for labels in results.labels]
        predict = np.median([one.predict_seconds for one in results.group(name, results.labels[-1])])
        lines.append([LINES[name].title, *(_seconds(fit) for fit in fits), f"{1e3 * predict:.1f} ms"])
    tests = results.outcomes[0].test_samples
    heads = ["line", *(f"fit, {head}" for head in _label_heads(results)), f"predict {tests:,} texts"]
    return table(heads, lines, texts=1)


def _seconds(value: float | np.floating) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(results: Results) -> str:
    """The promises of the experiment, one a line, with what was found."""
    return "\n".join([*_standing_lines(results), _harm_line(results), _coverage_line(results), _told_line(results)])


def _standing_lines(results: Results) -> list[str]:
    lines = []
    for name in ("auto", "auto_features"):
        if name in results.lines:
            counts = results.standings(name)
            behind = "; ".join(f"{LINES[other].title} with {labels:,} labels" for other, labels in results.behind(name))
            lines.append(
                f"- **{LINES[name].title}**, compared with every other line that sees no more, with every number of "
                f"labels: ahead in {counts['ahead']}, level in {counts['level']}, behind in {counts['behind']} of "
                f"{counts.total()}{f' ({behind})' if behind else ''}."
            )
    return lines


def _harm_line(results: Results) -> str:
    names = [name for name in results.lines if name != "zero_shot"]
    counts = "; ".join(f"{LINES[name].title} in {_worse(results.every(name))}" for name in names)
    fits = len(results.every("zero_shot"))
    return (
        f"- **Significantly worse than zero-shot argmax** (McNemar's exact test, p < 0.05), of {fits} fits: {counts}."
    )


def _coverage_line(results: Results) -> str:
    found = promise([one for name in _heads(results) for one in results.every(name)])
    if found is None:
        return "- **Coverage**: softmax is kept in every draw."
    return (
        f"- **Coverage**, of {found.heads} fits in which a head predicts: `gain_interval_` holds the gain on test.csv "
        f"in {percent(found.held)}, and in {percent(found.covered)} if the uncertainty of that gain is allowed for. "
        f"With the same allowance, it holds the gain on the rest of train.csv in {percent(found.rest_covered)}. "
        f"Promised {signed(found.promised)}, true {signed(found.true)} on test.csv, {signed(found.rest)} on the rest."
    )


def _told_line(results: Results) -> str:
    zero, auto = (np.mean([one.error for one in results.every(name)]) for name in ("zero_shot", "auto"))
    parts = [
        f"{_kept(float(zero - np.mean([one.error for one in results.every(name)])), float(zero - auto))} with "
        f"{LINES[name].title.removeprefix('AutoHead, ')}"
        for name in TOLD_LESS
    ]
    return f"- **When the service tells less**, AutoHead keeps this share of its gain: {'; '.join(parts)}.\n"
