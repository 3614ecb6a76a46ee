"""The results of an experiment on networks of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.networks.mnist_networks import Case


@dataclass(frozen=True)
class Outcome:
    """One method on one network's test samples. The gain is the relative reduction of softmax's error."""

    trained_on: int
    network: int
    seed: int
    method: str
    looks_at_test_labels: bool
    validation_accuracy: float  # of softmax
    softmax_accuracy: float
    accuracy: float
    gain: float
    wins: int
    losses: int
    p_value: float
    settings: str  # as JSON: the hyperparameters of SPH that are not the defaults, or what AutoHead chose
    seconds: float

    @property
    def key(self) -> Case:
        """The network it is about."""
        return Case(self.trained_on, self.network)


class Results:
    """Outcomes by method and size."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.sizes = sorted({outcome.trained_on for outcome in outcomes})

    def of(self, method: str, size: int | None = None) -> list[Outcome]:
        """The outcomes of a method, on all networks or on those of one size."""
        return [o for o in self.outcomes if o.method == method and size in (None, o.trained_on)]

    def errors(self, method: str) -> dict[int, list[float]]:
        """The networks' errors at each size."""
        return {size: [1 - o.accuracy for o in self.of(method, size)] for size in self.sizes}

    def accuracies(self, method: str = "softmax") -> NDArray[np.float64]:
        """The mean accuracy at each size."""
        return np.array([1 - np.mean(errors) for errors in self.errors(method).values()])

    def gains(self, method: str, over: Callable[..., Any] = np.mean) -> NDArray[np.float64]:
        """The gain at each size, in per cent: its mean, or another statistic, over networks."""
        return np.array([over([100 * o.gain for o in self.of(method, size)]) for size in self.sizes])
