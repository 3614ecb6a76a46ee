"""Every method on every model: ``python -m experiments models``.

Each model is trained on few and on many samples of each data set. Heads are fitted on its responses to validation
samples, and predict test samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from aftermax.data import Scores
from aftermax.sph.grid import grid_blocks
from experiments.benchmark.measure import single_threaded
from experiments.other_models.data_sets import DataSet
from experiments.other_models.methods import GRID, METHODS, USE_TEST_LABELS
from experiments.other_models.models import MODELS, responses
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment


@dataclass(frozen=True)
class Outcome:
    """One method on one trained model. The gain is the relative reduction of the argmax's error on the test samples."""

    data: str
    trained_on: int
    model: str
    draw: int
    method: str
    looks_at_test_labels: bool
    validation_samples: int
    test_samples: int
    argmax_error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    chosen: str
    seconds: float  # of argmax: the training of the model

    @property
    def key(self) -> tuple[str, int, str, int]:
        return self.data, self.trained_on, self.model, self.draw

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


class Task(NamedTuple):
    """A model to be trained on a draw of so many samples of a data set. The number of the draw is the seed as well."""

    data: str
    trained_on: int
    model: str
    draw: int

    @property
    def key(self) -> tuple[str, int, str, int]:
        return self[:4]


def tasks(data_sets: Sequence[DataSet], draws: int) -> list[Task]:
    """Every model on few and on many samples of every data set; all models of one draw before the next draw."""
    return [
        Task(data.name, size, model, number)
        for number in range(draws)
        for data in data_sets
        for size in data.sizes
        for model in MODELS
    ]


@dataclass(frozen=True)
class OtherModels(Experiment[Task, Outcome]):
    """The data sets by name, and the methods."""

    name = "models"
    record = Outcome
    seeds = "of the samples, of the models and of the Hebbian projection: the number of the draw, in outcomes.csv"
    code = (
        "data/mnist.py",
        "networks/models.py",
        "networks/recipes.py",
        "other_models/data_sets.py",
        "other_models/hebbian.py",
        "other_models/measure.py",
        "other_models/methods.py",
        "other_models/models.py",
        "paper/best_on_test.py",
        "other_models/networks.py",
    )

    data_sets: Mapping[str, DataSet]
    methods: Sequence[str] = tuple(METHODS)

    def settings(self) -> dict[str, Any]:
        from experiments.other_models.networks import RECIPE

        return {
            "methods": list(self.methods),
            "hyperparameter_grid": digest(repr(grid_blocks(GRID)).encode()),
            "networks": asdict(RECIPE),
        }

    def packages(self) -> Sequence[str]:
        return ["river"] if "segments" in self.data_sets else []

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Train the model, and let every method predict its test samples, on one core."""
        with single_threaded():
            begun = perf_counter()
            draw = self.data_sets[task.data].draw(task.trained_on, task.draw)
            scores = responses(task.model, draw, task.draw)
            outcomes = []
            for method in methods:
                predictions, chosen = METHODS[method](scores)
                seconds, begun = perf_counter() - begun, perf_counter()
                outcomes.append(outcome_of(task, method, scores, predictions == scores.test_labels, chosen, seconds))
            return outcomes

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(
            f"{o.method.replace('_', ' ')}{' (by its labels)' if o.looks_at_test_labels else ''} {signed(o.gain)}"
            for o in records
            if o.method != "argmax"
        )
        return (
            f"{first.data}, trained on {first.trained_on:,}, {first.model}, draw {first.draw}: error "
            f"{percent(first.argmax_error)}; fewer errors by {gains}; {sum(o.seconds for o in records):.0f} s"
        )


def outcome_of(task: Task, method: str, scores: Scores, right: Any, chosen: str, seconds: float) -> Outcome:
    """Which test samples a method gets right, against those that the argmax gets right."""
    before = scores.test_logits.argmax(axis=1) == scores.test_labels
    wins, losses, errors = wins_and_losses(before, np.asarray(right))
    return Outcome(
        *task,
        method=method,
        looks_at_test_labels=method in USE_TEST_LABELS,
        validation_samples=len(scores.val_labels),
        test_samples=len(scores.test_labels),
        argmax_error=errors / len(scores.test_labels),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        chosen=chosen,
        seconds=round(seconds, 2),
    )
