"""AutoHead in every world: ``python -m experiments trust``."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead
from aftermax._utils.text import signed
from experiments.benchmark.measure import single_threaded
from experiments.runs.runner import Experiment
from experiments.trust.worlds import GAIN_KINDS, Drawn, World, draw

DRAWS = {100: 24, 400: 10, 2_000: 3}  # by the number of labelled samples
DRAWS_MANY_CLASSES = {400: 4, 2_000: 1}
MANY_CLASSES = 100

WORLDS = (
    *(World("calibrated", classes, error) for classes in (2, 3, 10) for error in (1, 5, 20, 40)),
    World("calibrated", MANY_CLASSES, 20),
    *(World("skewed classes", classes, error) for classes in (3, 10) for error in (5, 20)),
    *(World("overconfident", 10, error) for error in (5, 20)),
    *(World("temperature by class", classes, error) for classes in (3, 10) for error in (5, 20)),
    *(World("weighted", classes, 20) for classes in (2, 10)),
    *(World("two percent positive", 2, error) for error in (5, 20)),
    *(World("duplicated", classes, 20) for classes in (3, 10)),
    *(World("patients", classes, 20) for classes in (3, 10)),
    *(World(kind, classes, 20) for kind in ("useless features", "repeated features") for classes in (3, 10)),
    *(World(kind, classes, 10) for kind in GAIN_KINDS for classes in (3, 10)),
)
QUICK_WORLDS = (World("calibrated", 3, 20), World("biased", 3, 10))


@dataclass(frozen=True)
class Outcome:
    """One fit in one draw of a world. Gains are relative reductions of softmax's true error."""

    kind: str
    classes: int
    error: int
    samples: int
    draw: int
    chosen: str
    trust: float
    proven: bool
    p_value: float
    softmax_error: float  # the true one
    gain: float  # the true one, of the head that predicts
    promised: float
    low: float
    high: float
    new_low: float
    new_high: float
    combination_gain: float  # out-of-fold, of the full combination, whether it was chosen or not
    combination_low: float
    combination_high: float
    log_loss_change: float  # true log loss of the head's probabilities, less that of softmax without a temperature
    seconds: float

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        return self.kind, self.classes, self.error, self.samples, self.draw

    @property
    def world(self) -> World:
        return World(self.kind, self.classes, self.error)


class Task(NamedTuple):
    """A draw of labelled samples from a world."""

    world: World
    samples: int
    draw: int

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        return self.world.kind, self.world.classes, self.world.error, self.samples, self.draw

    @property
    def seed(self) -> int:
        return int(hashlib.sha256(repr(self.key).encode()).hexdigest()[:8], 16)


def tasks(quick: bool = False) -> list[Task]:
    """Every draw of every world; the first draws of all worlds before the second."""
    worlds, most = (QUICK_WORLDS, {100: 3}) if quick else (WORLDS, DRAWS)
    found = [
        Task(world, samples, number)
        for world in worlds
        for samples, draws in (DRAWS_MANY_CLASSES if world.classes == MANY_CLASSES else most).items()
        for number in range(draws)
    ]
    return sorted(found, key=lambda task: task.draw / most.get(task.samples, 1))


@dataclass(frozen=True)
class TrustExperiment(Experiment[Task, Outcome]):
    """AutoHead with its defaults."""

    name = "trust"
    record = Outcome
    seeds = "the hash of a task's world, number of samples and draw"
    code = ("trust/measure.py", "trust/worlds.py")

    def settings(self) -> dict[str, Any]:
        return {"test_samples": 20_000}

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        drawn = draw(task.world, task.samples, task.seed)
        with single_threaded():
            return [_outcome(task, drawn)]

    def describe(self, records: Sequence[Outcome]) -> str:
        one = records[0]
        return (
            f"{one.kind}, {one.classes} classes, error {one.error} %, {one.samples:,} samples: {one.chosen}"
            f"{' (proven)' if one.proven else ''}, true gain {signed(one.gain)}"
        )


def _outcome(task: Task, drawn: Drawn) -> Outcome:
    head = AutoHead(classes=np.arange(task.world.classes), n_jobs=1, progress=False)
    begun = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes and copies, which are part of the worlds
        head.fit(drawn.logits, drawn.labels, features=drawn.features, **drawn.metadata)
    seconds = perf_counter() - begun
    predicted = head.predict(drawn.test_logits, drawn.test_features)
    before, after = _error(drawn, drawn.test_logits.argmax(axis=1)), _error(drawn, predicted)
    combination = head.candidates_["combination"]
    return Outcome(
        *task.key,
        chosen=head.chosen_,
        trust=head.trust_,
        proven=head.proven_,
        p_value=head.p_value_,
        softmax_error=before,
        gain=1 - after / before,
        promised=head.gain_,
        low=head.gain_interval_[0],
        high=head.gain_interval_[1],
        new_low=head.gain_prediction_interval_[0],
        new_high=head.gain_prediction_interval_[1],
        combination_gain=combination.gain,
        combination_low=combination.gain_interval[0],
        combination_high=combination.gain_interval[1],
        log_loss_change=_log_loss_change(drawn, head),
        seconds=round(seconds, 2),
    )


def _error(drawn: Drawn, predicted: NDArray[np.int64]) -> float:
    """The true error, which needs no labels."""
    truth = drawn.test_truth
    right = truth[np.arange(len(truth)), predicted].sum()
    return float(1 - right / truth.sum())


def _log_loss_change(drawn: Drawn, head: AutoHead) -> float:
    truth = drawn.test_truth / drawn.test_truth.sum(axis=1, keepdims=True)
    logits = drawn.test_logits - drawn.test_logits.max(axis=1, keepdims=True)
    before = np.log(np.exp(logits).sum(axis=1, keepdims=True)) - logits
    after = -np.log(np.maximum(head.predict_proba(drawn.test_logits, drawn.test_features), 1e-12))
    return float(np.mean((truth * (after - np.minimum(before, -np.log(1e-12)))).sum(axis=1)))
