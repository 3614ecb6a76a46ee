"""The report of the simulated worlds: false alarms and harm without a gain, coverage and bias with one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.runs import provenance
from experiments.trust.measure import Outcome
from experiments.trust.worlds import GAIN_KINDS, NULL_KINDS

TEMPLATE = Path(__file__).with_suffix(".md")


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write tables and report to ``out``; return the tables as text."""
    nothing = [one for one in outcomes if one.kind in NULL_KINDS]
    something = [one for one in outcomes if one.kind in GAIN_KINDS]
    tables = {
        "null": null_table(nothing),
        "worlds": world_table(nothing),
        "gain": gain_table(something),
        "verdict": verdict(nothing, something),
    }
    for name, text in tables.items():
        write_text(out / f"{name}.md", text)
    write_text(out / "report.md", TEMPLATE.read_text().format(run=provenance.sentence(out), **tables))
    return "\n".join(tables.values())


def _order(one: Outcome) -> tuple[float, ...]:
    return (*NULL_KINDS, *GAIN_KINDS).index(one.kind), one.classes, one.error, one.samples, one.draw


def _groups(
    outcomes: Sequence[Outcome], key: Callable[[Outcome], tuple[object, ...]]
) -> dict[tuple[object, ...], list[Outcome]]:
    """The outcomes by a key, in the order of the worlds: a run that was interrupted has another one."""
    found: dict[tuple[object, ...], list[Outcome]] = {}
    for one in sorted(outcomes, key=_order):
        found.setdefault(key(one), []).append(one)
    return found


# ---- worlds without a gain -------------------------------------------------------------------------------------------


def harm(outcomes: Sequence[Outcome]) -> float:
    """The mean of the errors added, relative to softmax's."""
    return -float(np.mean([one.gain for one in outcomes]))


def null_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each kind of world without a gain and each number of samples."""
    lines = []
    for (kind, samples), some in _groups(outcomes, lambda one: (one.kind, one.samples)).items():
        claimed, changed = (np.mean([value(one) for one in some]) for value in (_is_claimed, _is_changed))
        by_world = [harm(same) for same in _groups(some, lambda one: one.key[:3]).values()]
        change = float(np.mean([one.log_loss_change for one in some]))
        lines.append(
            [
                str(kind),
                f"{samples:,}",
                f"{len(some):,}",
                percent(float(claimed)),
                percent(float(changed)),
                f"{100 * harm(some):+.2f} %",
                f"{100 * max(by_world):+.2f} %",
                f"{change:+.4f}",
            ]
        )
    heads = ["world without a gain", "samples", "draws", "false alarms", "predictions changed", "harm", "worst world"]
    return table([*heads, "log loss"], lines, texts=1)


def world_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each world without a gain."""
    lines = [
        [
            str(kind),
            str(classes),
            f"{error} %",
            f"{len(some):,}",
            percent(float(np.mean([one.proven for one in some]))),
            f"{100 * harm(some):+.2f} %",
        ]
        for (kind, classes, error), some in _groups(outcomes, lambda one: one.key[:3]).items()
    ]
    return table(["world", "classes", "error", "draws", "false alarms", "harm"], lines, texts=1)


def _is_claimed(one: Outcome) -> bool:
    return one.proven


def _is_changed(one: Outcome) -> bool:
    return one.chosen != "softmax"


# ---- worlds with a gain ----------------------------------------------------------------------------------------------


def gain_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each kind of world with a gain and each number of samples."""
    lines = []
    for (kind, samples), some in _groups(outcomes, lambda one: (one.kind, one.samples)).items():
        taken = [one for one in some if one.chosen != "softmax"]
        lines.append(
            [
                str(kind),
                f"{samples:,}",
                f"{len(some):,}",
                percent(float(np.mean([one.proven for one in some]))),
                percent(len(taken) / len(some)),
                signed(float(np.mean([one.gain for one in some]))),
                _bias(taken),
                _covered(taken),
            ]
        )
    heads = ["world with a gain", "samples", "draws", "proven", "head predicts", "true gain", "promised less true"]
    return table([*heads, "covered"], lines, texts=1)


def _bias(taken: Sequence[Outcome]) -> str:
    if not taken:
        return "-"
    return f"{100 * float(np.mean([one.promised - one.gain for one in taken])):+.1f} points"


def _covered(taken: Sequence[Outcome]) -> str:
    return percent(float(np.mean([one.low <= one.gain <= one.high for one in taken]))) if taken else "-"


# ---- in words --------------------------------------------------------------------------------------------------------


def verdict(nothing: Sequence[Outcome], something: Sequence[Outcome]) -> str:
    """The promises, one a line, with what was found."""
    taken = [one for one in something if one.chosen != "softmax"]
    worst = max((harm(some), key) for key, some in _groups(nothing, lambda one: one.key[:3]).items())
    lines = [
        f"- False alarms: {sum(one.proven for one in nothing):,} of {len(nothing):,} fits without a gain claimed one "
        f"({percent(float(np.mean([one.proven for one in nothing])))}); predictions were changed in "
        f"{percent(float(np.mean([one.chosen != 'softmax' for one in nothing])))}.",
        f"- Harm: {100 * harm(nothing):+.2f} % more errors in the mean; in the worst world "
        f"({worst[1][0]}, {worst[1][1]} classes, error {worst[1][2]} %) {100 * worst[0]:+.2f} %.",
        f"- Coverage of the true gain where a head predicts: "
        f"{percent(float(np.mean([one.low <= one.gain <= one.high for one in taken])))} of {len(taken):,} fits.",
        f"- Promised less true gain: {_bias(taken)} in the mean.",
    ]
    return "\n".join(lines) + "\n"
