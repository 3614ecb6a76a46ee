"""The audit as text: the verdict, warnings, a summary, and tables by class and by pair of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftermax._audit.counts import most_changed
from aftermax._audit.verdict import abstention, better_and_worse, class_mix, samples_to_be_sure
from aftermax._utils.text import aligned, p_value, percent, signed, visible

if TYPE_CHECKING:
    from aftermax._audit.result import Audit


def as_text(audit: Audit) -> str:
    """Return all that is printed of an audit."""
    warned = [f"Warning: {message}" for message in audit.warnings]
    sentences = [*warned, abstention(audit), better_and_worse(audit), class_mix(audit)]
    remarks = "\n".join(visible(text) for text in sentences if text)
    parts = [audit.verdict, remarks, _summary(audit), _class_table(audit)]
    if audit.pairs or audit.tangled:
        parts.append(_pair_table(audit))
    if audit.candidates is not None:
        parts.append(f"Candidates\n{audit.candidates!r}")
    return "\n\n".join(part for part in parts if part)


def _summary(audit: Audit) -> str:
    low, high = map(signed, audit.gain_interval)
    new_low, new_high = map(signed, audit.gain_prediction_interval)
    gain = f"{signed(audit.gain)} (95 % interval: {low} to {high})" if audit.errors[0] else "no errors to correct"
    error = "weighted error" if audit.weighted else "error"
    lines = [
        ["samples, classes", f"{audit.rows:,}, {len(audit.classes):,}"],
        *([] if audit.groups is None else [["groups", f"{audit.groups:,}"]]),
        *([] if audit.outcome is None else audit.outcome.lines),
        [f"{error} before, after", f"{percent(audit.error_before)}, {percent(audit.error_after)}"],
        ["fewer errors to expect", gain],
        ["range on as many new samples", f"{new_low} to {new_high}"],
        ["wins, losses", f"{audit.wins:,}, {audit.losses:,}"],
        ["test of fewer errors", f"p {p_value(audit.p_value)}"],
        ["chosen", _chosen(audit)],
        *([] if audit.outcome is not None else [["labelled samples needed", samples_to_be_sure(audit)]]),
    ]
    return aligned(lines[0], lines[1:], texts=2)


def _chosen(audit: Audit) -> str:
    return audit.chosen if audit.trust in (None, 0.0, 1.0) else f"{audit.chosen}, {audit.trust:.0%} of its correction"


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
