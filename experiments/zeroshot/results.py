"""The outcomes by line and by number of labels, over the draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import hypot
from typing import NamedTuple

import numpy as np

from experiments.vendor.results import interval
from experiments.zeroshot.measure import Outcome
from experiments.zeroshot.methods import LINES, rivals


class Mean(NamedTuple):
    """A mean over draws, and its 95 % interval by Student's t; nan with one draw."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        return cls(float(np.mean(values)), *interval(values))


class Promise(NamedTuple):
    """What a head promised and did with so many labels, over the draws in which it does not keep softmax."""

    heads: int
    promised: float
    true: float  # the gain on test.csv
    rest: float  # the gain on the rest of train.csv
    held: float  # share of draws in which gain_interval_ holds the gain on test.csv
    covered: float  # the same, with the uncertainty of the gain on test.csv allowed for
    rest_covered: float  # and for the rest of train.csv


class Results:
    """Outcomes by line and number of labels; lines are in the order of ``LINES``."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.labels = sorted({one.labels for one in outcomes})
        self.lines = [name for name in LINES if any(one.method == name for one in outcomes)]
        self._groups: dict[tuple[str, int], list[Outcome]] = {}
        for one in sorted(outcomes, key=lambda one: one.draw):
            self._groups.setdefault((one.method, one.labels), []).append(one)

    @property
    def draws(self) -> int:
        return len({one.draw for one in self.outcomes})

    def group(self, line: str, labels: int) -> list[Outcome]:
        """One outcome for each draw, in their order."""
        return self._groups[line, labels]

    def every(self, line: str) -> list[Outcome]:
        return [one for one in self.outcomes if one.method == line]

    def error(self, line: str, labels: int) -> Mean:
        return Mean.of([one.error for one in self.group(line, labels)])

    def difference(self, line: str, other: str, labels: int) -> Mean:
        """By how much the error of a line is above that of another, in the same draws."""
        pairs = zip(self.group(line, labels), self.group(other, labels), strict=True)
        return Mean.of([one.error - two.error for one, two in pairs])

    def best_rival(self, head: str, labels: int) -> str:
        """The line with the least mean error of those that a head is compared with."""
        there = [name for name in rivals(head) if name in self.lines]
        return min(there, key=lambda name: self.error(name, labels).value)

    def standings(self, head: str) -> Counter[str]:
        """How often a head is ahead of, level with and behind one of the other lines with some number of labels."""
        there = [name for name in rivals(head) if name in self.lines]
        return Counter(standing(self.difference(head, name, labels)) for name in there for labels in self.labels)

    def behind(self, head: str) -> list[tuple[str, int]]:
        """The lines, each with a number of labels, that a head is behind."""
        there = [name for name in rivals(head) if name in self.lines]
        pairs = [(name, labels) for name in there for labels in self.labels]
        return [(name, labels) for name, labels in pairs if standing(self.difference(head, name, labels)) == "behind"]


def standing(difference: Mean) -> str:
    """Ahead or behind where the 95 % interval of the difference of errors is below or above 0, or else level."""
    return "ahead" if difference.high < 0 else "behind" if difference.low > 0 else "level"


# ---- promises --------------------------------------------------------------------------------------------------------


def promise(outcomes: Sequence[Outcome]) -> Promise | None:
    """What was promised in the draws in which softmax is not kept; None if it always is."""
    taken = [one for one in outcomes if one.chosen != "softmax"]
    if not taken:
        return None
    rows = [
        (
            one.expected_gain,
            one.gain,
            one.rest_gain,
            one.expected_low <= one.gain <= one.expected_high,
            agree((one.expected_low, one.expected_high), (one.gain_low, one.gain_high)),
            agree((one.expected_low, one.expected_high), (one.rest_low, one.rest_high)),
        )
        for one in taken
    ]
    return Promise(len(taken), *(float(value) for value in np.mean(rows, axis=0)))


def agree(promised: tuple[float, float], found: tuple[float, float]) -> bool:
    """Whether two independent estimates, given by their 95 % intervals, differ by no more than 95 % of chance allows.

    The half-widths add as standard deviations do.
    """
    (middle, half), (other, wide) = ((sum(ends) / 2, (ends[1] - ends[0]) / 2) for ends in (promised, found))
    return abs(middle - other) <= hypot(half, wide)
