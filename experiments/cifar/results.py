"""The outcomes of the experiment on CIFAR, by part, data set and method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.cifar.measure import Outcome

HONEST = ("sph_chosen", "auto", "auto_features")


class Results:
    """Selections from the outcomes."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes

    def of(self, method: str, part: str = "networks", data: str | None = None, **equal: str) -> list[Outcome]:
        """The outcomes of a method in a part; on one data set, and with these attributes, if they are named."""
        return [
            outcome
            for outcome in self.outcomes
            if (outcome.method, outcome.part) == (method, part)
            and data in (None, outcome.data)
            and all(getattr(outcome, name) == value for name, value in equal.items())
        ]

    def has(self, part: str) -> bool:
        return any(outcome.part == part for outcome in self.outcomes)

    def significantly_worse(self) -> list[Outcome]:
        """The outcomes of honest methods that are significantly worse than softmax (McNemar, p < 0.05)."""
        return [outcome for outcome in self.outcomes if outcome.method in HONEST and outcome.significantly_worse]


def gains(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    """In per cent."""
    return np.array([100 * outcome.gain for outcome in outcomes])


def accuracies(outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
    """Softmax's, in per cent."""
    return np.array([100 * outcome.softmax_accuracy for outcome in outcomes])
