"""The audit as text: the verdict, warnings, a summary, and tables by class and by pair of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftermax._audit.counts import most_changed
from aftermax._audit.verdict import better_and_worse, samples_to_be_sure
from aftermax._utils.text import aligned, p_value, percent, signed

if TYPE_CHECKING:
    from aftermax._audit.result import Audit


def as_text(audit: Audit) -> str:
    """Return all that is printed of an audit."""
    warned = [f"Warning: {message}" for message in audit.warnings]
    remarks = "\n".join([*warned, better_and_worse(audit)]).rstrip()
    parts = [audit.verdict, remarks, _summary(audit), _class_table(audit)]
    if audit.pairs or audit.tangled:
        parts.append(_pair_table(audit))
    if audit.candidates is not None:
        parts.append(f"Candidates\n{audit.candidates!r}")
    return "\n\n".join(part for part in parts if part)


def _summary(audit: Audit) -> str:
    low, high = map(signed, audit.gain_interval)
    gain = f"{signed(audit.gain)} (95 % interval: {low} to {high})" if audit.errors[0] else "no errors to correct"
    lines = [
        ["samples, classes", f"{audit.rows:,}, {len(audit.classes):,}"],
        ["error before, after", f"{percent(audit.error_before)}, {percent(audit.error_after)}"],
        ["fewer errors", gain],
        ["wins, losses", f"{audit.wins:,}, {audit.losses:,}"],
        ["McNemar's test", f"p {p_value(audit.p_value)}"],
        ["the head's own test", "none" if audit.head_p_value is None else f"p {p_value(audit.head_p_value)}"],
        ["chosen", audit.chosen],
        ["labelled samples needed", samples_to_be_sure(audit)],
    ]
    return aligned(lines[0], lines[1:], texts=2)


def _class_table(audit: Audit) -> str:
    shown, others = most_changed(audit.by_class)
    lines = [[str(one.name), *(f"{count:,}" for count in one[1:]), f"{one.net:+,}"] for one in [*shown, *others]]
    return aligned(["class", "samples", "errors", "wins", "losses", "net"], lines, texts=1)


def _pair_table(audit: Audit) -> str:
    shown = [*audit.pairs, *audit.tangled]
    lines = [[f"{one.true}", f"{one.taken_for}", f"{one.before:,}", f"{one.after:,}"] for one in shown]
    if any(audit.other_errors):
        lines.append(["all other errors", "", *(f"{count:,}" for count in audit.other_errors)])
    return aligned(["true class", "predicted", "before", "after"], lines, texts=2)
