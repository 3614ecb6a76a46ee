"""The report of the experiment with few labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aftermax._utils.files import write_text
from aftermax._utils.text import percent, signed, table
from experiments.benchmark.few_labels import Outcome
from experiments.runs import provenance
from experiments.runs.csv_records import read_records

TITLES = {"shift-mnist": "MNIST, 15 shifts", "vmnist": "vMNIST, 9 networks", "files": "score files"}
BEFORE = "before.csv"  # the same draws with the guard as it was, at commit 46d9921


def write(outcomes: Sequence[Outcome], out: Path) -> str:
    """Write table and report to ``out``; return the table as text."""
    before = {one.key: one for one in read_records(Outcome, out / BEFORE) if one.method == "auto"}
    text = case_table([one for one in outcomes if one.method == "auto"], before)
    write_text(out / "table.md", text)
    notes = (
        "# Few labels\n\nAutoHead on draws of 100 and 500 labelled samples, on logits alone. *Before* is the guard as "
        "it was at commit 46d9921, on the same draws (`before.csv`, made by this code in a checkout of that commit). "
        f"{provenance.sentence(out)}\n\n"
    )
    write_text(out / "report.md", notes + text)
    return text


def case_table(found: Sequence[Outcome], before: dict[tuple[str, str, int, int], Outcome]) -> str:
    """A line for each family of networks and number of labels, and one for all of them."""
    lines = []
    keys = [*sorted({(one.family, one.labels) for one in found}), ("all", 100), ("all", 500)]
    for family, labels in keys:
        some = [one for one in found if one.labels == labels and family in (one.family, "all")]
        if not some:
            continue
        same = [before[one.key] for one in some if one.key in before]
        taken = [one for one in some if one.chosen != "softmax"]
        lines.append(
            [
                TITLES.get(family, family),
                f"{labels}",
                f"{len(some):,}",
                signed(_mean(some)) if some else "-",
                signed(_mean(same)) if len(same) == len(some) else "-",
                signed(min(_by_case(some))),
                f"{_worse(some)} ({_worse(same)})",
                signed(float(np.mean([one.expected_gain - one.gain for one in taken]))) if taken else "-",
                percent(float(np.mean([one.expected_low <= one.gain <= one.expected_high for one in taken]))),
            ]
        )
    heads = ["networks", "labels", "draws", "fewer errors", "before", "worst network", "significantly worse (before)"]
    return table([*heads, "promised less true", "interval covers"], lines, texts=1)


def _mean(some: Sequence[Outcome]) -> float:
    return float(np.mean([one.gain for one in some]))


def _by_case(some: Sequence[Outcome]) -> list[float]:
    """The mean gain of each network."""
    names = {(one.family, one.name) for one in some}
    return [_mean([one for one in some if (one.family, one.name) == name]) for name in names]


def _worse(some: Sequence[Outcome]) -> int:
    """Draws on which the head is significantly worse than softmax (McNemar's test, two-sided, 5 %)."""
    return sum(one.losses > one.wins and one.p_value < 0.05 for one in some)
