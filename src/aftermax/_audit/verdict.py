"""The audit's sentences: the verdict, which classes gain and lose, how many samples a proof needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftermax._audit.counts import ClassCounts
from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.text import fewer_count, p_value

if TYPE_CHECKING:
    from aftermax._audit.result import Audit

MAX_CLASSES_NAMED = 3  # of those with fewer errors, and of those with more


def verdict(audit: Audit) -> str:
    """Say in one sentence whether the head is worth it."""
    if audit.errors[0] == 0:
        return _nothing_to_gain(audit)
    return _gain(audit) if audit.gain > 0 else _no_gain(audit)


def _nothing_to_gain(audit: Audit) -> str:
    errors = audit.errors[1]
    head = f" and the head makes {errors:,}" if errors else ""
    kept = f"; yet {_passed(audit)}" if _passed_own_test(audit) else ""
    return (
        f"{_no(audit)}: softmax makes no errors on these {audit.rows:,} samples{head}, so there is nothing to gain"
        f"{kept}; if the model was trained on these samples, pass others."
    )


def _gain(audit: Audit) -> str:
    number = min(round(100 * audit.gain), 99 if audit.gain < 1 else 100)
    gone = f"{number or 'fewer than 1'} of 100 errors {'are' if number > 1 else 'is'} gone {_numbers(audit)}"
    needed = f"about {_rounded_up(audit.rows_needed or 0):,} labelled samples would be needed to be sure"
    if audit.p_value < ALPHA and _kept(audit):
        return f"Yes: {gone}."
    if audit.p_value < ALPHA:
        return f"Not taken: {gone}, which is hardly chance, but the head itself keeps softmax{_own_p_value(audit)}."
    if _passed_own_test(audit):
        return f"Probably: {gone}; by errors alone that could be chance, and {needed}, but {_passed(audit)}."
    return f"Not proven: {gone}, but that could be chance; if it is not, {needed}."


def _no_gain(audit: Audit) -> str:
    end = "stay with softmax" if _kept(audit) else "softmax stays"
    if _passed_own_test(audit):
        end = f"yet {_passed(audit)}"
    if audit.wins + audit.losses == 0:
        errors = audit.errors[0]
        subject = f"none of softmax's {errors:,} errors" if errors > 1 else "softmax's only error"
        corrected = "is corrected" if errors > 1 else "is not corrected"
        return f"{_no(audit)}: {subject} on these {audit.rows:,} samples {corrected}; {end}."
    if audit.gain == 0:
        return f"{_no(audit)}: {audit.wins:,} samples get better and as many get worse {_numbers(audit)}; {end}."
    number = round(-100 * audit.gain)
    added = f"the head would add {number or 'fewer than 1'} to every 100 errors {_numbers(audit)}"
    chance = "which is hardly chance" if audit.p_value < ALPHA else "though that could be chance"
    return f"{_no(audit)}: {added}, {chance}; {end}."


def _numbers(audit: Audit) -> str:
    """Errors, interval and p-value. Of a loss, the interval is that of the errors added."""
    before, after = audit.errors
    low, high = audit.gain_interval if audit.gain >= 0 else (-audit.gain_interval[1], -audit.gain_interval[0])
    return (
        f"({before:,} before, {after:,} after, out-of-fold on {audit.rows:,} samples; "
        f"95 % interval: {round(100 * low)} to {round(100 * high)} of 100; p {p_value(audit.p_value)})"
    )


def _no(audit: Audit) -> str:
    return "No fewer errors" if _passed_own_test(audit) else "No"


def _kept(audit: Audit) -> bool:
    return audit.chosen != "softmax"


def _passed_own_test(audit: Audit) -> bool:
    return _kept(audit) and audit.head_p_value is not None


def _own_p_value(audit: Audit) -> str:
    return "" if audit.head_p_value is None else f" (its own test: p {p_value(audit.head_p_value)})"


def _passed(audit: Audit) -> str:
    measure = "errors and probabilities together" if audit.chosen == "combination" else "its own measure"
    if audit.weighted:
        measure = "its own measure, in which samples or classes are weighted,"
    return f"by {measure} the head is better and is kept{_own_p_value(audit)}"


def _rounded_up(number: int) -> int:
    """Round up to two significant digits."""
    unit = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // unit) * unit


def better_and_worse(audit: Audit) -> str:
    """Say which classes have fewer errors and which have more, the largest changes first; empty if none changes."""
    order = sorted(audit.by_class, key=lambda one: -abs(one.net))
    better, worse = ([one for one in order if sign * one.net > 0] for sign in (1, -1))
    if not better and not worse:
        return ""
    start = "Better for" if _kept(audit) else "Would be better for"
    return f"{start}: {_named(better)}; worse for: {_named(worse)}."


def _named(classes: list[ClassCounts]) -> str:
    """Name the first few classes with their change, and sum the others."""
    most = len(classes) if len(classes) <= MAX_CLASSES_NAMED + 1 else MAX_CLASSES_NAMED
    changes = [(f"{one.name}", one.net) for one in classes[:most]]
    if others := classes[most:]:
        changes.append((f"and {len(others):,} others", sum(one.net for one in others)))
    texts = [f"{name} ({fewer_count(net)})" for name, net in changes]
    if texts:
        texts[0] = texts[0][:-1] + (" error)" if abs(changes[0][1]) == 1 else " errors)")
    return ", ".join(texts) or "none"


def samples_to_be_sure(audit: Audit) -> str:
    """Say how many labelled samples a proof of the gain needs, or would have needed."""
    if audit.rows_needed is None:
        return "no gain to prove"
    if audit.p_value >= ALPHA:
        return f"about {_rounded_up(audit.rows_needed):,}"
    enough = audit.rows_needed <= audit.rows
    return f"about {_rounded_up(audit.rows_needed):,} would have been enough" if enough else "these are enough"
