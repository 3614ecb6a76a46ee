"""The audit's sentences: the verdict, which classes gain and lose, how many samples a proof needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftermax._audit.counts import ClassCounts
from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.text import fewer_count, p_value, percent, rounded_up

if TYPE_CHECKING:
    from aftermax._audit.result import Audit
    from aftermax.auto.candidates import Candidate

MAX_CLASSES_NAMED = 3  # of those with fewer errors, and of those with more
LEAST_SELECTED = 0.1  # of the gain that is counted, to be told
MAX_SHARES_NAMED = 5  # classes, of the class proportions
TRUSTED = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters"}


def verdict(audit: Audit) -> str:
    """Say in one sentence whether the head is worth it, in what was asked for."""
    if audit.outcome is not None:
        return audit.outcome.verdict
    if audit.errors[0] == 0:
        return _nothing_to_gain(audit)
    if audit.chosen == "softmax":
        return _softmax_kept(audit)
    return _gain(audit) if audit.gain > 0 or audit.proven is not None else _no_gain(audit)


def _nothing_to_gain(audit: Audit) -> str:
    errors = audit.errors[1]
    head = f" and the head makes {errors:,}" if errors else ""
    return (
        f"No: softmax makes no errors on these {audit.rows:,} samples{head}, so there is nothing to gain; if the model "
        "was trained on these samples, pass others."
    )


def _softmax_kept(audit: Audit) -> str:
    best = _best_candidate(audit)
    errors = f"softmax's {audit.errors[0]:,} errors on {audit.rows:,} samples"
    if audit.candidates is None and audit.p_value <= 0.5:
        return (
            f"Not proven: fewer than {errors} would be left, out-of-fold (p {p_value(audit.p_value)}), but that is not "
            "enough of a proof for the head: softmax is kept."
        )
    if best is None or best.wins + best.losses == 0 or best.gain <= 0:
        return f"No: of {errors}, no candidate corrects more, out-of-fold, than it adds; softmax is kept."
    changed = f"{best.wins:,} of {errors} would be gone, and {best.losses:,} would be new"
    return (
        f"Not proven: by the best candidate ({best.name}), {changed}, out-of-fold (p {p_value(audit.p_value)}). That "
        f"could be chance: softmax is kept.{_needed(audit)}"
    )


def _best_candidate(audit: Audit) -> Candidate | None:
    if audit.candidates is None:
        return None
    others = [one for one in audit.candidates.values() if one.name != "softmax"]
    return max(others, key=lambda one: (one.wins - one.losses) / max(one.wins + one.losses, 1) ** 0.5, default=None)


def _gain(audit: Audit) -> str:
    gone = _gone(audit)
    if audit.proven or (audit.proven is None and audit.p_value < ALPHA and audit.gain_interval[0] > 0):
        return f"Yes: {gone} {_numbers(audit)}."
    if audit.proven is None:
        return f"Not proven: {gone} {_numbers(audit)}, but that could be chance.{_needed(audit)}"
    start = "Errors unproven" if audit.chosen == "sph" else "Probabilities are better, errors unproven"
    trusted = f", so the head trusts {TRUSTED[audit.trust]} of its correction" if audit.trust in TRUSTED else ""
    return f"{start}: {gone} {_numbers(audit)}, which could be chance{trusted}.{_needed(audit)}"


def _gone(audit: Audit) -> str:
    """The gain to expect, which is that of the counts, or less where the head was selected for it."""
    number = min(round(100 * audit.gain), 99 if audit.gain < 1 else 100)
    kind = "weighted errors" if audit.weighted else "errors"
    return f"{number or 'fewer than 1'} of 100 {kind} {'are' if number > 1 else 'is'} gone"


def _no_gain(audit: Audit) -> str:
    if audit.wins + audit.losses == 0:
        errors = audit.errors[0]
        subject = f"none of softmax's {errors:,} errors" if errors > 1 else "softmax's only error"
        corrected = "is corrected" if errors > 1 else "is not corrected"
        return f"No: {subject} on these {audit.rows:,} samples {corrected}; stay with softmax."
    if audit.gain == 0:
        return f"No: {audit.wins:,} samples get better and as many get worse {_numbers(audit)}; stay with softmax."
    number = round(-100 * audit.gain)
    added = f"the head would add {number or 'fewer than 1'} to every 100 errors {_numbers(audit)}"
    chance = "which is hardly chance" if audit.gain_interval[1] < 0 else "though that could be chance"
    return f"No: {added}, {chance}; stay with softmax."


def _numbers(audit: Audit) -> str:
    """Errors, interval and p-value. Of a loss, the interval is that of the errors added."""
    before, after = (percent(audit.error_before), percent(audit.error_after)) if audit.weighted else audit.errors
    if not audit.weighted:
        before, after = f"{before:,}", f"{after:,}"
    low, high = audit.gain_interval if audit.gain >= 0 else (-audit.gain_interval[1], -audit.gain_interval[0])
    counted = f"{audit.rows:,} samples" + ("" if audit.groups is None else f" in {audit.groups:,} groups")
    counted += _selected(audit)
    return (
        f"({before} before, {after} after, out-of-fold on {counted}; 95 % interval: {_hundredths(low)} to "
        f"{_hundredths(high)} of 100; p {p_value(audit.p_value)})"
    )


def _selected(audit: Audit) -> str:
    """Where the counts promise more than the gain to expect, of which the head's selection is taken off: say so."""
    counted = 1 - audit.error_after / audit.error_before
    if audit.gain < 0 or counted - audit.gain < LEAST_SELECTED * counted:
        return ""
    return f": {_hundredths(counted)} of 100, but less is to be expected of a head that was chosen on them"


def _hundredths(share: float) -> str:
    """A whole number, but with a digit more rather than a 0 that is none."""
    number = round(100 * share)
    return f"{number}" if number or abs(share) < 0.0005 else f"{100 * share:.1f}"


def _needed(audit: Audit) -> str:
    text = samples_to_be_sure(audit)
    return f" To prove it, {text} labelled samples would be needed." if audit.rows_needed is not None else ""


def abstention(audit: Audit) -> str:
    """Say which share of the samples the head decides alone; empty if it decides all of them."""
    if audit.abstention is None:
        return ""
    text = audit.abstention.sentence
    return f"{text[:1].upper()}{text[1:]}."


def better_and_worse(audit: Audit) -> str:
    """Say which classes have fewer errors and which have more, the largest changes first; empty if none changes."""
    order = sorted(audit.by_class, key=lambda one: -abs(one.net))
    better, worse = ([one for one in order if sign * one.net > 0] for sign in (1, -1))
    return f"Better for: {_named(better)}; worse for: {_named(worse)}." if better or worse else ""


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


def class_mix(audit: Audit) -> str:
    """Say which class proportions the result assumes, as a head learns them; empty where softmax is kept."""
    if audit.chosen == "softmax":
        return ""
    order = sorted(zip(audit.class_shares, audit.classes, strict=True), key=lambda one: -one[0])
    named = ", ".join(f"{name} {percent(share)}" for share, name in order[:MAX_SHARES_NAMED])
    others = f", and {len(order) - MAX_SHARES_NAMED:,} others" if len(order) > MAX_SHARES_NAMED else ""
    told = getattr(getattr(audit.head, "head_", audit.head), "class_prior", None) is not None
    source = (
        "class_prior (--class-prior on the command line) says"
        if told
        else "the weights say"
        if audit.weighted
        else "here"
    )
    text = f"This assumes that classes will be as frequent as {source}: {named}{others}."
    if not told:
        text += " If they will not be, pass their true shares as class_prior (--class-prior on the command line)."
    if audit.weighted:
        text += " The probabilities are for these shares, too."
    return text


def samples_to_be_sure(audit: Audit) -> str:
    """Say how many labelled samples a proof of the gain needs, or would have needed."""
    if audit.proven or (audit.proven is None and audit.p_value < ALPHA and audit.gain > 0):
        return "these are enough"
    if audit.rows_needed is None:
        return "cannot be told"
    low, high = (rounded_up(number) for number in audit.rows_needed)
    return f"about {low:,} to {high:,}"
