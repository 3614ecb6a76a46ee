"""The outcomes by case (a data set, a number of training samples, a model) and by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.other_models.measure import Outcome
from experiments.other_models.models import MODELS, REFERENCE

TITLES = {"digits": "digits", "segments": "image segments", "mnist": "MNIST"}
HEADINGS = {
    "sph_best_on_test": "SPH, best on test (*looks at the test labels: the paper's protocol*)",
    "sph_chosen": "**SPH, chosen honestly**",
    "sph_chosen_scaled": "SPH, chosen honestly, after temperature scaling",
    "auto": "AutoHead",
    "full_d": "full D (naive Bayes on the responses)",
}

Case = tuple[str, int, str]  # data set, number of training samples, model


class Cell(NamedTuple):
    """One method in one case: its mean gain over draws, and in how many draws it is significantly better and worse."""

    gain: float
    better: int
    worse: int
    draws: int


class Results:
    """Outcomes by case and method. Cases are in the order of data sets, sizes and models."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        found = {(outcome.data, outcome.trained_on, outcome.model) for outcome in outcomes}
        data, models = list(TITLES), list(MODELS)
        self.cases: list[Case] = sorted(found, key=lambda case: (data.index(case[0]), case[1], models.index(case[2])))
        self._outcomes: dict[tuple[str, Case], list[Outcome]] = {}
        for outcome in outcomes:
            case = outcome.data, outcome.trained_on, outcome.model
            self._outcomes.setdefault((outcome.method, case), []).append(outcome)

    @property
    def others(self) -> list[Case]:
        """The cases of models that are not softmax networks."""
        return [case for case in self.cases if case[2] != REFERENCE]

    @property
    def by_model(self) -> dict[str, list[Case]]:
        """The cases of each model that is not a softmax network."""
        return {name: cases for name in MODELS if (cases := [case for case in self.others if case[2] == name])}

    @staticmethod
    def title(case: Case) -> str:
        """The data set and the number of training samples."""
        return f"{TITLES[case[0]]}, {case[1]:,}"

    def error(self, case: Case) -> float:
        """The mean error of the argmax."""
        return float(np.mean([outcome.argmax_error for outcome in self._outcomes["argmax", case]]))

    def cell(self, method: str, case: Case) -> Cell:
        group = self._outcomes[method, case]
        return Cell(
            float(np.mean([outcome.gain for outcome in group])),
            sum(outcome.significantly_better for outcome in group),
            sum(outcome.significantly_worse for outcome in group),
            len(group),
        )
