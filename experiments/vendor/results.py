"""The outcomes by case (a model, a length of pieces, a number of labels) and by method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from experiments.vendor.measure import Outcome
from experiments.vendor.models import MODELS

ALPHA = 0.05
Case = tuple[str, int, int]


class Cell(NamedTuple):
    """One method in one case, over its draws."""

    gain: float
    low: float  # 95 % interval of the mean gain
    high: float
    worst: float
    better: int  # draws that are significantly better, and worse, than softmax
    worse: int
    worse_after_holm: int
    promised: float  # nan where the method promises nothing
    chosen: Counter[str]


class Results:
    """Outcomes by case and method, the cases in the order of models, lengths and labels."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        order = list(MODELS)
        self.cases: list[Case] = sorted({o.case for o in outcomes}, key=lambda case: (order.index(case[0]), *case[1:]))
        self._groups: dict[tuple[str, Case], list[Outcome]] = {}
        for outcome in outcomes:
            self._groups.setdefault((outcome.method, outcome.case), []).append(outcome)

    @property
    def draws(self) -> dict[str, int]:
        """How many draws each model has."""
        by_model = {model: {o.draw for o in self.outcomes if o.model == model} for model in MODELS}
        return {model: len(draws) for model, draws in by_model.items() if draws}

    def group(self, method: str, case: Case) -> list[Outcome]:
        return self._groups[method, case]

    def error(self, case: Case) -> float:
        """The mean error of softmax."""
        return float(np.mean([outcome.softmax_error for outcome in self.group("softmax", case)]))

    def cell(self, method: str, case: Case) -> Cell:
        group = self.group(method, case)
        gains = [outcome.gain for outcome in group]
        harm = [outcome.p_value for outcome in group if outcome.losses > outcome.wins]
        return Cell(
            float(np.mean(gains)),
            *interval(gains),
            worst=min(gains),
            better=sum(outcome.wins > outcome.losses and outcome.p_value < ALPHA for outcome in group),
            worse=sum(value < ALPHA for value in harm),
            worse_after_holm=rejected_by_holm(harm, len(group)),
            promised=float(np.mean([promise(outcome) for outcome in group])),
            chosen=Counter(outcome.chosen for outcome in group),
        )


def promise(outcome: Outcome) -> float:
    """The gain that a fitted head promises: none where it keeps softmax."""
    return 0.0 if outcome.chosen == "softmax" else outcome.expected_gain


def interval(gains: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean, by Student's t; nan with one draw."""
    if len(gains) < 2:
        return float("nan"), float("nan")
    half = stats.t.ppf(0.975, len(gains) - 1) * np.std(gains, ddof=1) / np.sqrt(len(gains))
    return float(np.mean(gains) - half), float(np.mean(gains) + half)


def rejected_by_holm(p_values: Sequence[float], tests: int) -> int:
    """How many of so many tests are significant after Holm's correction; those not given have larger p-values."""
    for place, value in enumerate(sorted(p_values)):
        if value >= ALPHA / (tests - place):
            return place
    return len(p_values)
