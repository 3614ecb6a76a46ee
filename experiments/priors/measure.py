"""Worlds with other class proportions: ``python -m experiments priors``."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead, SoftmaxClassifier, adapt_priors
from experiments.benchmark.measure import single_threaded
from experiments.priors.cases import CASES, QUICK_CASES, TEST_SAMPLES, Case, Parts, Pool, divided, drawn, pool
from experiments.priors.peers import PACKAGES, PEERS
from experiments.runs.runner import Experiment

CONCENTRATIONS = (10.0, 1.0, 0.3)  # of Dirichlet's distribution
SAMPLES = (200, 1_000, 5_000)
DRAWS, DRAWS_OF_SLOW_CASES = 3, 1
GUARDED, UNGUARDED = "aftermax", "aftermax without guard"
METHODS = (GUARDED, UNGUARDED, *PEERS)
NOISE = {"noise": "cifar10-resnet20-noise", "low contrast": "cifar10-resnet20-contrast"}
UNCHANGED, MANY_CLASSES = "the same world", ("cifar100-resnet8",)


@dataclass(frozen=True)
class Outcome:
    """One method in one world."""

    case: str
    labelled: int
    head: str
    draw: int
    world: str  # "Dirichlet 10", "Dirichlet 1", "Dirichlet 0.3"; or another shift
    samples: int  # unlabelled
    method: str
    adapted: bool
    error_before: float
    error: float
    distance: float  # sum of absolute differences of the proportions from the true ones
    covered: float  # share of the classes whose interval holds the true proportion; NaN if there are no intervals
    p_moved: float
    p_label_shift: float

    @property
    def key(self) -> tuple[str, int, str, int]:
        return self.case, self.labelled, self.head, self.draw

    @property
    def is_worse(self) -> bool:
        return self.error > self.error_before


class Task(NamedTuple):
    """A draw of labelled samples, and the worlds that are drawn for it."""

    case: Case
    draw: int

    @property
    def key(self) -> tuple[str, int, str, int]:
        return *self.case, self.draw

    @property
    def seed(self) -> int:
        return int(hashlib.sha256(repr(self.key).encode()).hexdigest()[:8], 16)


def tasks(quick: bool = False) -> list[Task]:
    """Every draw of every case; the first draws of all cases before the second."""
    if quick:
        return [Task(case, 0) for case in QUICK_CASES]
    found = [Task(case, number) for case in CASES for number in range(_draws(case))]
    return sorted(found, key=lambda task: task.draw)


def _draws(case: Case) -> int:
    return DRAWS_OF_SLOW_CASES if case.head == "auto" or case.name in MANY_CLASSES else DRAWS


class World(NamedTuple):
    """Unlabelled samples of a new world, and test samples of it."""

    name: str
    shares: NDArray[np.float64]
    unlabelled: Pool
    test: Pool


@dataclass(frozen=True)
class PriorsExperiment(Experiment[Task, Outcome]):
    """adapt_priors with its defaults, and its peers without a guard."""

    scores: Path | None
    name = "priors"
    record = Outcome
    seeds = "the hash of a task's case and draw"
    code = ("priors/cases.py", "priors/measure.py", "priors/peers.py")

    def settings(self) -> dict[str, Any]:
        return {"test_samples": TEST_SAMPLES, "methods": list(METHODS)}

    def packages(self) -> Sequence[str]:
        return PACKAGES

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        rng = np.random.default_rng(task.seed)
        parts = divided(pool(task.case.name, self.scores), task.case.labelled, rng)
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rare classes, of peers that do not converge, and of other shifts
            head = _fitted(task.case, parts.labelled)
            worlds = [*_worlds(parts, len(head.classes_), rng), *_other_worlds(task.case, self.scores, rng)]
            return [one for world in worlds for one in _outcomes(task, head, parts.labelled, world)]

    def describe(self, records: Sequence[Outcome]) -> str:
        own = [one for one in records if one.method == GUARDED]
        before, after = (sum(getattr(one, name) for one in own) for name in ("error_before", "error"))
        return f"{own[0].case}, {own[0].labelled:,} labelled, {own[0].head}: errors {100 * (after / before - 1):+.1f} %"


def _fitted(case: Case, labelled: Pool) -> Any:
    head: Any = SoftmaxClassifier() if case.head == "softmax" else AutoHead(n_jobs=1, progress=False)
    n_classes = max(2, labelled.logits.shape[1])
    return head.set_params(classes=np.arange(n_classes)).fit(labelled.logits, labelled.labels)


def _worlds(parts: Parts, n_classes: int, rng: np.random.Generator) -> Iterator[World]:
    for concentration in CONCENTRATIONS:
        shares = rng.dirichlet(np.full(n_classes, concentration))
        test = drawn(parts.test, shares, TEST_SAMPLES, rng)
        for samples in SAMPLES:
            name = f"Dirichlet {concentration:g}"
            yield World(name, shares, drawn(parts.unlabelled, shares, samples, rng), test)
    everything = np.bincount(parts.unlabelled.labels, minlength=n_classes) / len(parts.unlabelled.labels)
    for samples in SAMPLES:
        yield World(UNCHANGED, everything, parts.unlabelled.take(_some(parts.unlabelled, samples, rng)), parts.test)


def _some(pool: Pool, samples: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.permutation(len(pool.labels))[:samples]


def _other_worlds(case: Case, scores: Path | None, rng: np.random.Generator) -> Iterator[World]:
    """Worlds in which the images have changed and the proportions have not."""
    if case.name != "cifar10-resnet20":
        return
    for name, file in NOISE.items():
        whole = pool(file, scores)
        shares = np.bincount(whole.labels, minlength=10) / len(whole.labels)
        parts = divided(whole, SAMPLES[1], rng)
        yield World(name, shares, parts.labelled, parts.test)


def _outcomes(task: Task, head: Any, labelled: Pool, world: World) -> Iterator[Outcome]:
    before = float((head.predict(world.test.logits) != world.test.labels).mean())
    fixed: dict[str, Any] = {"world": world.name, "samples": len(world.unlabelled.labels), "error_before": before}
    guarded = adapt_priors(head, world.unlabelled.logits)
    in_any_case = guarded if guarded.adaptation_.adapted else adapt_priors(head, world.unlabelled.logits, guard=False)
    for name, adapted in ((GUARDED, guarded), (UNGUARDED, in_any_case)):
        found = adapted.adaptation_
        low, high = np.array(found.intervals).T
        yield Outcome(
            *task.key,
            **fixed,
            method=name,
            adapted=found.adapted,
            error=float((adapted.predict(world.test.logits) != world.test.labels).mean()),
            distance=float(np.abs(np.array(found.shares) - world.shares).sum()),
            covered=float(((low <= world.shares) & (world.shares <= high)).mean()),
            p_moved=found.p_value,
            p_label_shift=found.p_value_label_shift,
        )
    unlabelled, test = head.predict_proba(world.unlabelled.logits), head.predict_proba(world.test.logits)
    for name, peer in PEERS.items():
        shares, adapt = peer(head.held_out_proba_, labelled.labels, unlabelled)
        yield Outcome(
            *task.key,
            **fixed,
            method=name,
            adapted=True,
            error=float((adapt(test).argmax(axis=1) != world.test.labels).mean()),
            distance=float(np.abs(shares - world.shares).sum()),
            covered=float("nan"),
            p_moved=float("nan"),
            p_label_shift=float("nan"),
        )
