"""The experiment on CIFAR: every method in every case. ``python -m experiments cifar``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead, SPHClassifierCV
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from aftermax.sph.grid import DEFAULTS, default_grid, grid_blocks
from aftermax.sph.response_array import ResponseArray
from experiments.benchmark.measure import choice_of, in_double, single_threaded
from experiments.benchmark.peers import StructuredMatrixScaling
from experiments.cifar.cases import ALL, Case
from experiments.networks.cifar_networks import VALIDATION_SAMPLES, Cifar, train_missing
from experiments.networks.cifar_recipes import EVERYTHING
from experiments.networks.samples import Samples
from experiments.paper.best_on_test import best_on_test
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment

USE_TEST_LABELS = {"sph_best_on_test"}


@dataclass(frozen=True)
class Outcome:
    """One method in one case. The gain is the relative reduction of softmax's error on the test samples."""

    part: str
    data: str
    network: str
    variant: str
    draw: int
    classes: int
    method: str
    looks_at_test_labels: bool
    validation_samples: int
    test_samples: int
    separation: float  # of D: the median over classes and units, on all validation samples
    softmax_accuracy: float
    accuracy: float
    gain: float
    wins: int
    losses: int
    p_value: float
    chosen: str
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The key of its case."""
        return self.part, self.data, self.network, self.variant, self.draw

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05


@dataclass(frozen=True)
class CifarExperiment(Experiment[Case, Outcome]):
    """The networks' data, where their scores are kept, and the methods."""

    name = "cifar"
    record = Outcome
    seeds = "each network's seed is in experiments/networks/cifar_recipes.py"
    code = (
        "benchmark/measure.py",
        "benchmark/peers.py",
        "cifar/cases.py",
        "cifar/measure.py",
        "networks/cifar_networks.py",
        "networks/cifar_recipes.py",
        "networks/cifar_training.py",
        "paper/best_on_test.py",
    )
    every_method = False

    cifar: Cifar
    kept: Path
    methods: Sequence[str] = ALL

    def settings(self) -> dict[str, Any]:
        return {
            "methods": list(self.methods),
            "hyperparameter_grid": digest(repr(grid_blocks(default_grid())).encode()),
            "networks": {name: recipe.digest for name, recipe in EVERYTHING.items()},
            "validation_samples": VALIDATION_SAMPLES,
        }

    def packages(self) -> Sequence[str]:
        return ["probmetrics"]

    def prepare(self, tasks: Sequence[Case]) -> None:
        """Train the networks of these cases whose scores are not kept yet."""
        needed = {task.network for task in tasks}
        train_missing({name: recipe for name, recipe in EVERYTHING.items() if name in needed}, self.cifar, self.kept)

    def effort(self, task: Case) -> int:
        return {"cifar10": 1, "cifar20": 2, "cifar100": 10}[task.data] if task.part != "classes" else 1

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        with single_threaded():
            validation, test = map(in_double, task.load())
            suits = [name for name in methods if name in task.methods and _suits(name, validation)]
            return [_outcome(task, name, validation, test) for name in suits]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(
            f"{o.method.replace('_', ' ')}{' (by its labels)' if o.looks_at_test_labels else ''} {signed(o.gain)}"
            for o in records
            if o.method != "softmax"
        )
        where = " ".join(filter(None, [first.part, first.data, first.network, first.variant]))
        return f"{where}: softmax accuracy {percent(first.softmax_accuracy)}; fewer errors by {gains}"


def _suits(method: str, validation: Samples) -> bool:
    return method != "auto_features" or validation.features is not None


def _outcome(case: Case, method: str, validation: Samples, test: Samples) -> Outcome:
    begun = perf_counter()
    predictions, chosen = METHODS[method](validation, test)
    before, after = test.logits.argmax(axis=1) == test.labels, predictions == test.labels
    wins, losses, errors = wins_and_losses(before, after)
    return Outcome(
        *case.key,
        classes=test.logits.shape[1],
        method=method,
        looks_at_test_labels=method in USE_TEST_LABELS,
        validation_samples=len(validation.labels),
        test_samples=len(test.labels),
        separation=round(separation_of(validation), 4),
        softmax_accuracy=float(np.mean(before)),
        accuracy=float(np.mean(after)),
        gain=float(relative_gain(wins, losses, errors)),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        chosen=chosen,
        seconds=round(perf_counter() - begun, 2),
    )


def separation_of(validation: Samples) -> float:
    """How far D separates the classes: the median of f over classes and units."""
    array = ResponseArray.fit(validation.logits, validation.labels, classes=np.arange(validation.logits.shape[1]))
    return float(np.nanmedian(array.separation()))


# ---- methods ---------------------------------------------------------------------------------------------------------

# The predicted labels of the test samples, and what was chosen.
Predictions = tuple[NDArray[np.int64], str]


def softmax(validation: Samples, test: Samples) -> Predictions:
    return test.logits.argmax(axis=1), ""


def sph_best_on_test(validation: Samples, test: Samples) -> Predictions:
    """The paper's protocol: the hyperparameters with the best score on the test samples, by their labels."""
    predictions, hyperparameters = best_on_test(
        validation.logits, validation.labels, test.logits, test.labels, n_jobs=1
    )
    changed = {name: value for name, value in hyperparameters.items() if value != DEFAULTS[name]}
    return predictions, json.dumps(changed)


def sph_chosen(validation: Samples, test: Samples) -> Predictions:
    """Hyperparameters chosen on the validation samples alone; the folds are drawn once, for time."""
    head = SPHClassifierCV(classes=np.arange(validation.logits.shape[1]), n_repeats=1, n_jobs=1, progress=False)
    return head.fit(validation.logits, validation.labels).predict(test.logits), choice_of(head)


def auto(validation: Samples, test: Samples) -> Predictions:
    head = AutoHead(classes=np.arange(validation.logits.shape[1]), n_jobs=1, progress=False)
    return head.fit(validation.logits, validation.labels).predict(test.logits), head.chosen_


def auto_features(validation: Samples, test: Samples) -> Predictions:
    head = AutoHead(classes=np.arange(validation.logits.shape[1]), n_jobs=1, progress=False)
    head.fit(validation.logits, validation.labels, validation.features)
    return head.predict(test.logits, test.features), head.chosen_


def sms(validation: Samples, test: Samples) -> Predictions:
    """probmetrics' structured matrix scaling."""
    logits, others = validation.logits.astype(np.float64), test.logits.astype(np.float64)
    return StructuredMatrixScaling().fit(logits, validation.labels).predict(others), ""


METHODS: dict[str, Callable[[Samples, Samples], Predictions]] = {
    method.__name__: method for method in (softmax, sph_best_on_test, sph_chosen, auto, auto_features, sms)
}
