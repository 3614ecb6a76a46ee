"""Decider(max_error=...) in every world: ``python -m experiments abstention``."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead, Decider, SoftmaxClassifier
from aftermax._abstention.bounds import binomial_p_values
from aftermax._abstention.record import Abstention
from aftermax._abstention.threshold import CONFIDENCE, choose_threshold, rounded_down
from aftermax._utils.groups import joined_groups
from experiments.abstention.worlds import Drawn, World, draw
from experiments.benchmark.measure import single_threaded
from experiments.runs.runner import Experiment

MAX_ERRORS = (0.02, 0.05, 0.1)
TEST_SAMPLES = 50_000
SOFTMAX, AUTO = "SoftmaxClassifier", "AutoHead"
DRAWS = {SOFTMAX: {100: 84, 400: 84, 2_000: 84}, AUTO: {100: 5, 400: 3, 2_000: 1}}  # of each world
WORLDS = (
    World("calibrated", 2, 5),
    World("calibrated", 3, 20),
    World("calibrated", 10, 10),
    World("calibrated", 3, 40),
    World("overconfident", 2, 20),
    World("overconfident", 10, 20),
    World("skewed classes", 3, 20),
    World("skewed classes", 10, 10),
    World("rounded", 3, 10),
    World("wrong labels", 10, 5),
    World("biased", 10, 10),
    World("patients", 3, 10),
)
QUICK_WORLDS = (World("calibrated", 3, 10), World("patients", 3, 5))


@dataclass(frozen=True)
class Outcome:
    """One largest error in one draw of a world: what was promised, and what is true of the head that is shipped."""

    head: str
    kind: str
    classes: int
    error: int
    samples: int
    max_error: float
    draw: int
    share: float  # of the labelled samples, that the head decides alone
    hindsight: float  # the largest share of these whose own bound is low enough, were it the only one; NaN with groups
    true_share: float
    true_error: float  # of the samples that the head decides alone; 0 if there are none
    best_share: float  # the largest share of true error below the limit, for someone who knows the truth

    @property
    def key(self) -> tuple[str, str, int, int, int]:
        return self.head, self.kind, self.classes, self.error, self.samples

    @property
    def broken(self) -> bool:
        """Whether the true error is above the largest acceptable one."""
        return self.true_error > self.max_error


class Task(NamedTuple):
    """All draws of a world, of one number of labelled samples, for one head."""

    head: str
    world: World
    samples: int
    draws: int

    @property
    def key(self) -> tuple[str, str, int, int, int]:
        return self.head, self.world.kind, self.world.classes, self.world.error, self.samples

    def seed(self, number: int) -> int:
        """Of one draw."""
        return int(hashlib.sha256(repr((self.key, number)).encode()).hexdigest()[:8], 16)


def tasks(quick: bool = False) -> list[Task]:
    """Every world with every head and number of samples."""
    if quick:
        return [Task(SOFTMAX, world, samples, 3) for world in QUICK_WORLDS for samples in (100, 400)]
    return [
        Task(head, world, samples, draws)
        for head, by_samples in DRAWS.items()
        for samples, draws in by_samples.items()
        for world in WORLDS
    ]


@dataclass(frozen=True)
class AbstentionExperiment(Experiment[Task, Outcome]):
    """The whole pipeline: a head is fitted, a threshold chosen, and the head's true error measured on other samples."""

    name = "abstention"
    record = Outcome
    seeds = "the hash of a task's head, world, number of samples and draw"
    code = ("abstention/measure.py", "abstention/worlds.py")

    def settings(self) -> dict[str, Any]:
        return {"test_samples": TEST_SAMPLES, "max_errors": list(MAX_ERRORS), "confidence": CONFIDENCE}

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        test = draw(task.world, TEST_SAMPLES, np.random.default_rng(task.seed(-1)))
        with single_threaded():
            return [one for number in range(task.draws) for one in _outcomes(task, number, test)]

    def effort(self, task: Task) -> int:
        return task.draws * (1 if task.head == SOFTMAX else 4 + task.samples // 100)

    def describe(self, records: Sequence[Outcome]) -> str:
        one, broken = records[0], np.mean([record.broken for record in records])
        return f"{one.head}, {one.kind}, {one.classes} classes, {one.samples:,} samples: promise broken in {broken:.1%}"


def _outcomes(task: Task, number: int, test: Drawn) -> list[Outcome]:
    drawn = draw(task.world, task.samples, np.random.default_rng(task.seed(number)))
    decider = _fitted(task, drawn)
    order, errors, certainty = _truth(decider, test)
    held_out = decider.held_out_proba_[decider.held_out_mask_]
    labels = drawn.labels[decider.held_out_mask_]
    sure, right = rounded_down(held_out.max(axis=1)), held_out.argmax(axis=1) == labels
    groups = joined_groups(drawn.groups, drawn.logits, drawn.labels)
    found = []
    for max_error in MAX_ERRORS:
        promised = choose_threshold(
            sure, right, max_error, groups=None if groups is None else groups[decider.held_out_mask_]
        )
        if max_error == decider.max_error:
            assert decider.abstention_ == promised, "the experiment judges what Decider promises"
        kept = int(np.searchsorted(-certainty, -promised.threshold, side="right"))
        found.append(
            Outcome(
                *task.key,
                max_error=max_error,
                draw=number,
                share=promised.share,
                hindsight=_hindsight(sure, right, promised) if groups is None else np.nan,
                true_share=kept / len(order),
                true_error=float(errors[kept - 1]) if kept else 0.0,
                best_share=_largest(certainty, errors <= max_error),
            )
        )
    return found


def _fitted(task: Task, drawn: Drawn) -> Decider:
    classes = np.arange(task.world.classes)
    head = SoftmaxClassifier() if task.head == SOFTMAX else AutoHead(n_jobs=1, progress=False)
    decider = Decider(head, max_error=MAX_ERRORS[1], classes=classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes and copies, which are part of the worlds
        return decider.fit(drawn.logits, drawn.labels, groups=drawn.groups)


def _truth(decider: Decider, test: Drawn) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """The test samples in the order of certainty, the true error of the first of them, and their certainty."""
    probabilities = decider.predict_proba(test.logits)
    predicted, certainty = probabilities.argmax(axis=1), probabilities.max(axis=1)
    order = np.argsort(-certainty, kind="stable")
    wrong = 1 - test.truth[np.arange(len(order)), predicted]
    return order, np.cumsum(wrong[order]) / np.arange(1, len(order) + 1), certainty[order]


def _largest(certainty: NDArray[np.float64], passes: NDArray[np.bool_]) -> float:
    """The largest share of samples, from the most certain on, that passes; equals are kept together."""
    found = np.flatnonzero(passes & np.append(np.diff(certainty) < 0, True))
    return float((found[-1] + 1) / len(certainty)) if len(found) else 0.0


def _hindsight(certainty: NDArray[np.float64], right: NDArray[np.bool_], promised: Abstention) -> float:
    """The largest share whose own bound is low enough, as if it cost nothing to look at all of them."""
    order = np.argsort(-certainty, kind="stable")
    errors, sizes = np.cumsum(~right[order]), np.arange(1, len(order) + 1)
    p_values = binomial_p_values(errors, sizes, promised.max_error)
    return _largest(certainty[order], p_values <= 1 - promised.confidence)
