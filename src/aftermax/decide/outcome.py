"""What decisions cost or score, out-of-fold, in words."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.text import aligned, p_value
from aftermax.decide.choice import Choice
from aftermax.decide.comparison import Judged, better_p_value, interval
from aftermax.decide.objectives import Objective


@dataclass(frozen=True, repr=False)
class Outcome:
    """What the decisions of a :class:`~aftermax.Decider` cost or score, out-of-fold. Print it.

    Attributes
    ----------
    objective : str
        What is asked for: "expected cost", "balanced accuracy", "macro-F1" or the name of a callable.
    is_cost : bool
        Whether lower is better.
    softmax, plain, decided : float
        The cost of a sample, or the metric: of softmax, of the plain predictions of the head, and of the decisions.
    improvement : float
        By how much the decisions are better than softmax: cost saved, or metric gained.
    improvement_interval : tuple of float
        Its paired 95 % interval.
    p_value : float
        One-sided, of the claim that the decisions are better than softmax.
    improvement_over_plain, improvement_over_plain_interval, p_value_over_plain
        The same, compared with the plain predictions of the head.
    rule : str
        What decides: "lowest expected cost", "recalibrated" (the same, with fitted biases of the classes), "tuned" or
        "half tuned" (the same, with tuned weights of the classes), or "plain predictions".
    candidates : dict
        The out-of-fold cost or metric of each rule.
    rows : int
        Number of labelled samples.
    groups : int or None
        Number of independent groups that they are in; None if each stands for itself.
    """

    objective: str
    is_cost: bool
    softmax: float
    plain: float
    decided: float
    improvement: float
    improvement_interval: tuple[float, float]
    p_value: float
    improvement_over_plain: float
    improvement_over_plain_interval: tuple[float, float]
    p_value_over_plain: float
    rule: str
    candidates: dict[str, float]
    rows: int
    groups: int | None

    @property
    def proven(self) -> bool:
        """Whether the decisions are proven to be better than softmax, at the level of every claim of aftermax."""
        return self.p_value < ALPHA and self.improvement_interval[0] > 0

    @property
    def verdict(self) -> str:
        """One sentence: are the decisions better than softmax's, in what was asked for?"""
        if self.proven:
            return f"Yes: {self._change()}."
        if self.improvement > 0:
            return f"Not proven: {self._change()}, which could be chance."
        if self.softmax == self.decided:
            return f"No: {self.objective} stays at {number(self.softmax)}{self._unit}, out-of-fold on {self._counted}."
        chance = "which is hardly chance" if self.improvement_interval[1] < 0 else "though that could be chance"
        return f"No: {self._change()}, {chance}."

    def _change(self) -> str:
        low, high = map(number, self.improvement_interval)
        what = "saved" if self.is_cost else "gained"
        return (
            f"{self.objective} {number(self.softmax)} -> {number(self.decided)}{self._unit} ({what}: "
            f"{number(self.improvement)}, 95 % interval: {low} to {high}; p {p_value(self.p_value)}; out-of-fold on "
            f"{self._counted})"
        )

    @property
    def _unit(self) -> str:
        return " a sample" if self.is_cost else ""

    @property
    def _counted(self) -> str:
        return f"{self.rows:,} samples" + ("" if self.groups is None else f" in {self.groups:,} groups")

    @property
    def lines(self) -> list[list[str]]:
        """A table of two columns: the softmax, the plain and the decided value, and which rule decides."""
        low, high = map(number, self.improvement_over_plain_interval)
        return [
            [f"{self.objective} of softmax", number(self.softmax)],
            ["of the head's plain predictions", number(self.plain)],
            ["of its decisions", number(self.decided)],
            [
                f"{'saved' if self.is_cost else 'gained'} over plain predictions",
                f"{number(self.improvement_over_plain)} (95 % interval: {low} to {high}; p "
                f"{p_value(self.p_value_over_plain)})",
            ],
            ["rule", self.rule],
        ]

    def __repr__(self) -> str:
        return f"{self.verdict}\n\n{aligned(self.lines[0], self.lines[1:], texts=2)}"

    def to_dict(self) -> dict[str, Any]:
        """All attributes and the verdict, as plain values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"verdict": self.verdict, "proven": self.proven} | values


def outcome_of(
    objective: Objective,
    judged: Judged,
    softmax: NDArray[np.int64],
    plain: NDArray[np.int64],
    choice: Choice,
) -> Outcome:
    """Compare the out-of-fold decisions of a choice with those of softmax and of the plain predictions."""
    decided, sign = choice.decisions, objective.sign
    values = {name: judged.value(objective, some) for name, some in (("s", softmax), ("p", plain), ("d", decided))}
    return Outcome(
        objective=objective.name,
        is_cost=objective.costs is not None,
        softmax=sign * values["s"],
        plain=sign * values["p"],
        decided=sign * values["d"],
        improvement=values["d"] - values["s"],
        improvement_interval=interval(objective, judged, softmax, decided),
        p_value=better_p_value(objective, judged, softmax, decided),
        improvement_over_plain=values["d"] - values["p"],
        improvement_over_plain_interval=interval(objective, judged, plain, decided),
        p_value_over_plain=better_p_value(objective, judged, plain, decided),
        rule=choice.name,
        candidates={name: sign * value for name, value in choice.values.items()},
        rows=len(judged.codes),
        groups=None if judged.groups is None else int(judged.groups.max()) + 1,
    )


def number(value: float) -> str:
    """A cost or a metric with three digits that count.

    Examples
    --------
    >>> from aftermax.decide.outcome import number
    >>> number(0.4136), number(12.345), number(1234.5), number(-0.0)
    ('0.414', '12.3', '1,234', '0')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value + 0.0:.3g}"
