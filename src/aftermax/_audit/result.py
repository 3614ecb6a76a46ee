"""What an audit found: a record that has a verdict, prints, plots and turns into plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.text import aligned, fewer_count, p_value, percent, signed
from aftermax.auto.candidates import Candidates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from aftermax.plots import AuditDisplay

MOST_CLASSES, MOST_PAIRS, MOST_TANGLED = 15, 10, 5  # that are shown
MOST_IN_WORDS = 3  # classes that are better, and that are worse


class ClassCounts(NamedTuple):
    """What a head changes for the rows that are truly of one class."""

    name: Any
    rows: int
    errors: int  # softmax's
    wins: int
    losses: int

    @property
    def net(self) -> int:
        """By how many the errors drop."""
        return self.wins - self.losses

    @property
    def recall(self) -> tuple[float, float]:
        """The share of the rows that is found, before and after; nan where there are no rows."""
        right = self.rows - self.errors
        return (right / self.rows, (right + self.net) / self.rows) if self.rows else (math.nan, math.nan)


class PairCounts(NamedTuple):
    """Rows of one class that are taken for another: how many by softmax, and how many by the head."""

    true: Any
    taken_for: Any
    before: int
    after: int


@dataclass(frozen=True, repr=False)
class Audit:
    """What :func:`~aftermax.audit` found. Print it for the verdict and its tables.

    Attributes
    ----------
    rows : int
        How many labelled rows there are.
    classes : tuple
        The class of each column.
    error_before, error_after : float
        The share of rows that softmax gets wrong, and that the head gets wrong without having seen them. Of an
        :class:`~aftermax.AutoHead` it is the best candidate, also where that was not enough and softmax stays.
    gain : float
        Relative reduction of softmax's error: 0.1 is one error in ten.
    gain_interval : tuple of float
        Where the gain on as many new rows will lie (95 %).
    wins, losses : int
        Rows that only the head gets right, and rows that only softmax gets right.
    p_value : float
        How likely wins and losses would differ as much by chance: the exact McNemar test, two-sided.
    head_p_value : float or None
        The head's own ``p_value_``, by which it keeps softmax or not, if it has one.
    chosen : str
        What the head answers with: "softmax" if it keeps softmax.
    by_class : tuple of ClassCounts
        For each class: name, rows, errors of softmax, wins and losses. Rows count at their true class. ``recall`` of
        each is the share of its rows that is answered right, before and after.
    pairs : tuple of PairCounts
        Which classes are untangled: the true class, the one it is taken for, how often before and how often after.
        The ten pairs with the largest drop, if there are as many with a drop.
    tangled : tuple of PairCounts
        The pairs that are confused more often than before: the five with the largest rise, if there are as many.
    weighted : bool
        Whether the head was told to weigh its classes. Here every row counts the same.
    rows_needed : int or None
        How many labelled rows it takes to prove a gain of this size by McNemar's test at 5 %, four times out of five.
        None where there is no gain.
    warnings : tuple of str
        What was warned of, each once, in words for those who only see what was found.
    candidates : Candidates or None
        All that an :class:`~aftermax.AutoHead` tried.
    head : classifier
        The head, fitted on all rows and ready to predict.
    """

    rows: int
    classes: tuple[Any, ...]
    error_before: float
    error_after: float
    gain: float
    gain_interval: tuple[float, float]
    wins: int
    losses: int
    p_value: float
    head_p_value: float | None
    chosen: str
    by_class: tuple[ClassCounts, ...]
    pairs: tuple[PairCounts, ...]
    rows_needed: int | None
    tangled: tuple[PairCounts, ...]
    weighted: bool
    warnings: tuple[str, ...]
    candidates: Candidates | None = field(compare=False)
    head: Any = field(compare=False)

    @property
    def errors(self) -> tuple[int, int]:
        """How many rows are wrong, before and after."""
        before = sum(one.errors for one in self.by_class)
        return before, before - self.wins + self.losses

    # ---- the verdict -------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """One sentence: is the head worth it?"""
        before, after = self.errors
        if before == 0:
            more = f" and the head makes {after:,}" if after else ""
            kept = f"; yet {self._passed}" if self._kept_by_own_test else ""
            right = f"softmax makes no errors on these {self.rows:,} rows{more}, so there is nothing to gain"
            return f"{self._no}: {right}{kept}; if the model was trained on these rows, pass others."
        low, high = self.gain_interval if self.gain >= 0 else (-self.gain_interval[1], -self.gain_interval[0])
        counts = (
            f"({before:,} before, {after:,} after, on {self.rows:,} rows that the head had not seen; "
            f"95 % interval: {_hundredths(low)} to {_hundredths(high)} of 100; p {p_value(self.p_value)})"
        )
        return self._of_a_gain(counts) if self.gain > 0 else self._of_no_gain(counts)

    def _of_a_gain(self, counts: str) -> str:
        number = min(round(100 * self.gain), 99 if self.gain < 1 else 100)
        gone = f"{number or 'fewer than 1'} of 100 errors {'are' if number > 1 else 'is'} gone {counts}"
        needed = f"about {_rounded_up(self.rows_needed or 0):,} labelled rows would be needed to be sure"
        if self.p_value < ALPHA and self._kept:
            return f"Yes: {gone}."
        if self.p_value < ALPHA:
            return f"Not taken: {gone}, which is hardly chance, but the head itself keeps softmax{self._own_p}."
        if self._kept_by_own_test:
            return f"Probably: {gone}; by errors alone that could be chance, and {needed}, but {self._passed}."
        return f"Not proven: {gone}, but that could be chance; if it is not, {needed}."

    def _of_no_gain(self, counts: str) -> str:
        end = "stay with softmax" if self._kept else "softmax stays"
        if self._kept_by_own_test:
            end = f"yet {self._passed}"
        if self.wins + self.losses == 0:
            errors = f"{self.errors[0]:,} errors" if self.errors[0] > 1 else "only error"
            none = "none of softmax's" if self.errors[0] > 1 else "softmax's"
            put = "is put right" if self.errors[0] > 1 else "is not put right"
            return f"{self._no}: {none} {errors} on these {self.rows:,} rows {put}; {end}."
        if self.gain == 0:
            return f"{self._no}: {self.wins:,} rows get better and as many get worse {counts}; {end}."
        number = round(-100 * self.gain)
        added = f"the head would add {number or 'fewer than 1'} to every 100 errors {counts}"
        chance = "which is hardly chance" if self.p_value < ALPHA else "though that could be chance"
        return f"{self._no}: {added}, {chance}; {end}."

    @property
    def _no(self) -> str:
        return "No fewer errors" if self._kept_by_own_test else "No"

    @property
    def _kept(self) -> bool:
        return self.chosen != "softmax"

    @property
    def _kept_by_own_test(self) -> bool:
        return self._kept and self.head_p_value is not None

    @property
    def _own_p(self) -> str:
        return "" if self.head_p_value is None else f" (its own test: p {p_value(self.head_p_value)})"

    @property
    def _passed(self) -> str:
        what = "errors and probabilities together" if self.chosen == "combination" else "its own measure"
        if self.weighted:
            what = "its own measure, in which rows or classes count unequally,"
        return f"by {what} the head is better and is kept{self._own_p}"

    # ---- tables ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        parts = [self.verdict, self._remarks(), self._summary(), self._class_table()]
        if self.pairs or self.tangled:
            parts.append(self._pair_table())
        if self.candidates is not None:
            parts.append(f"What was tried\n{self.candidates!r}")
        return "\n\n".join(part for part in parts if part)

    def _remarks(self) -> str:
        return "\n".join([*(f"Mind: {words}" for words in self.warnings), better_and_worse(self)]).rstrip()

    def _summary(self) -> str:
        low, high = map(signed, self.gain_interval)
        gain = f"{signed(self.gain)} (95 % interval: {low} to {high})" if self.errors[0] else "no errors to take"
        lines = [
            ["rows, classes", f"{self.rows:,}, {len(self.classes):,}"],
            ["error before, after", f"{percent(self.error_before)}, {percent(self.error_after)}"],
            ["fewer errors", gain],
            ["wins, losses", f"{self.wins:,}, {self.losses:,}"],
            ["McNemar's test", f"p {p_value(self.p_value)}"],
            ["the head's own test", "none" if self.head_p_value is None else f"p {p_value(self.head_p_value)}"],
            ["chosen", self.chosen],
            ["labelled rows to be sure", rows_to_be_sure(self)],
        ]
        return aligned(lines[0], lines[1:], texts=2)

    def _class_table(self) -> str:
        shown, rest = most_changed(self.by_class)
        lines = [[str(one.name), *(f"{count:,}" for count in one[1:]), f"{one.net:+,}"] for one in [*shown, *rest]]
        return aligned(["class", "rows", "errors", "wins", "losses", "net"], lines, texts=1)

    def _pair_table(self) -> str:
        shown = [*self.pairs, *self.tangled]
        lines = [[f"{one.true}", f"{one.taken_for}", f"{one.before:,}", f"{one.after:,}"] for one in shown]
        others = self.other_errors
        if any(others):
            lines.append(["all other errors", "", *(f"{count:,}" for count in others)])
        return aligned(["class", "taken for", "before", "after"], lines, texts=2)

    @property
    def other_errors(self) -> tuple[int, int]:
        """Errors before and after that are in none of the pairs shown."""
        shown, (before, after) = [*self.pairs, *self.tangled], self.errors
        return before - sum(one.before for one in shown), after - sum(one.after for one in shown)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the head as plain numbers and strings, as for JSON; what is not finite is None."""
        found = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "head"}
        if self.candidates is not None:
            found["candidates"] = self.candidates.to_dict()
        return {"verdict": self.verdict} | {name: _plain(value) for name, value in found.items()}

    def plot(self, *, ax: Sequence[Axes] | NDArray[Any] | None = None) -> AuditDisplay:
        """Draw wins and losses by class, and the pairs of classes before and after, in two Axes or in a new figure."""
        from aftermax.plots import AuditDisplay

        return AuditDisplay.from_audit(self, ax=ax)


def most_changed(by_class: tuple[ClassCounts, ...]) -> tuple[list[ClassCounts], list[ClassCounts]]:
    """The classes to show, from the largest drop of errors to the largest rise, and the rest as one, if there is any.

    Examples
    --------
    >>> from aftermax._audit.result import ClassCounts, most_changed
    >>> most_changed((ClassCounts("cat", 9, 3, 0, 1), ClassCounts("dog", 9, 5, 4, 1)))[0][0].name
    'dog'
    """
    order = sorted(by_class, key=lambda one: (-abs(one.net), -one.wins - one.losses, -one.errors))
    most = len(order) if len(order) <= MOST_CLASSES + 1 else MOST_CLASSES
    shown, others = sorted(order[:most], key=lambda one: (-one.net, one.losses, -one.errors)), order[most:]
    if not others:
        return shown, []
    counts = (sum(column) for column in zip(*(one[1:] for one in others), strict=True))
    return shown, [ClassCounts(f"{len(others):,} others", *counts)]


# ---- words -----------------------------------------------------------------------------------------------------------


def better_and_worse(audit: Audit) -> str:
    """Which classes have fewer errors and which have more, those that change most first; nothing where none changes."""
    order = sorted(audit.by_class, key=lambda one: -abs(one.net))
    better, worse = ([one for one in order if sign * one.net > 0] for sign in (1, -1))
    if not better and not worse:
        return ""
    start = "Would be better for" if audit.chosen == "softmax" else "Better for"
    return f"{start}: {_some(better)}; worse for: {_some(worse)}."


def _some(classes: list[ClassCounts]) -> str:
    """The first few, and how many others there are."""
    most = len(classes) if len(classes) <= MOST_IN_WORDS + 1 else MOST_IN_WORDS
    named = [(f"{one.name}", one.net) for one in classes[:most]]
    if others := classes[most:]:
        named.append((f"and {len(others):,} others", sum(one.net for one in others)))
    words = [f"{name} ({fewer_count(net)})" for name, net in named]
    if words:
        words[0] = words[0][:-1] + (" error)" if abs(named[0][1]) == 1 else " errors)")
    return ", ".join(words) or "none"


def rows_to_be_sure(audit: Audit) -> str:
    """How many labelled rows it takes to prove the gain, or would have taken."""
    if audit.rows_needed is None:
        return "no gain to prove"
    if audit.p_value >= ALPHA:
        return f"about {audit.rows_needed:,}"
    enough = audit.rows_needed <= audit.rows
    return f"about {audit.rows_needed:,} would have been enough" if enough else "these are enough"


def _hundredths(share: float) -> str:
    return f"{round(100 * share)}"


def _rounded_up(number: int) -> int:
    """To two digits."""
    unit = int(10 ** max(len(str(number)) - 2, 0))
    return -(-number // unit) * unit


def _plain(value: Any) -> Any:
    """Plain lists, dicts and numbers; what is not finite is None."""
    if isinstance(value, ClassCounts | PairCounts):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
