"""Every method on shipped models: ``python -m experiments vendor``.

For each draw, the pieces of a model are put in random order. The first are the labelled ones, and those after the
largest number of labels are the test samples, which are the same for all numbers of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from experiments.benchmark.measure import choice_of, single_threaded
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment
from experiments.vendor.methods import METHODS
from experiments.vendor.models import MODELS, Scores, load
from experiments.vendor.packages import FOLDER

LABELS = (300, 1_000, 4_000)
DRAWS = {"py3langid": 10, "lingua": 4, "magika": 4}  # of each setting
MOST_TEST_SAMPLES = 8_000


@dataclass(frozen=True)
class Outcome:
    """One method on one draw. The gain is the relative reduction of softmax's error on the test samples."""

    model: str
    length: int  # of the pieces, in words or in lines
    labels: int
    draw: int
    method: str
    classes: int
    test_samples: int
    softmax_error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    expected_gain: float  # nan where the method has no such estimate
    expected_low: float
    expected_high: float
    head_p_value: float
    chosen: str
    fit_seconds: float

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.model, self.length, self.labels, self.draw

    @property
    def case(self) -> tuple[str, int, int]:
        """The key without the draw."""
        return self.model, self.length, self.labels


class Task(NamedTuple):
    """A model, the length of its pieces, a number of labels and a draw, whose number is its seed."""

    model: str
    length: int
    labels: int
    draw: int

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self[:4]


def tasks(quick: bool = False) -> list[Task]:
    """Every setting of one draw before the next draw; quick: two draws of one setting."""
    if quick:
        return [Task("py3langid", 3, LABELS[0], draw) for draw in range(2)]
    return [
        Task(name, length, labels, draw)
        for draw in range(max(DRAWS.values()))
        for name, model in MODELS.items()
        for length in model.lengths
        for labels in LABELS
        if draw < DRAWS[name]
    ]


class Draw(NamedTuple):
    """Labelled samples, and others to test on."""

    labelled: Scores
    test: Scores


def drawn(scores: Scores, labels: int, draw: int) -> Draw:
    """One draw: the test samples are after the largest number of labels."""
    order = np.random.default_rng(draw).permutation(len(scores.labels))
    parts = order[:labels], order[LABELS[-1] :][:MOST_TEST_SAMPLES]
    # Double precision, as some peers would otherwise choose by rounding.
    return Draw(*(Scores(scores.logits[part].astype(np.float64), scores.labels[part]) for part in parts))


@dataclass(frozen=True)
class VendorExperiment(Experiment[Task, Outcome]):
    """Models that others ship, and the folder where their scores are kept."""

    name = "vendor"
    record = Outcome
    seeds = "of the labelled and test samples: the number of the draw, in outcomes.csv"
    code = (
        "benchmark/methods.py",
        "benchmark/peers.py",
        "vendor/measure.py",
        "vendor/methods.py",
        "vendor/models.py",
        "vendor/pieces.py",
        "vendor/source_files.py",
        "vendor/texts.py",
        "vendor/with_lingua.py",
        "vendor/with_magika.py",
        "vendor/with_py3langid.py",
    )
    of_the_processor = ("scores",)

    models: Sequence[tuple[str, int]]  # each with a length of pieces
    folder: Path = FOLDER
    methods: Sequence[str] = tuple(METHODS)

    def settings(self) -> dict[str, Any]:
        scores = {f"{model}, {length}": load(model, length, self.folder) for model, length in self.models}
        return {
            "methods": list(self.methods),
            "labels": list(LABELS),
            "most_test_samples": MOST_TEST_SAMPLES,
            "scores": {name: digest(kept.logits.tobytes(), kept.labels.tobytes()) for name, kept in scores.items()},
        }

    def packages(self) -> Sequence[str]:
        return [*{MODELS[model].package: None for model, _ in self.models}, "onnxruntime", "probmetrics"]

    def effort(self, task: Task) -> int:
        return 1_000 + task.labels

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Fit every method on the labelled samples, and predict the test samples, on one core."""
        draw = drawn(load(task.model, task.length, self.folder), task.labels, task.draw)
        with single_threaded():
            return [outcome_of(task, method, draw) for method in methods]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(f"{o.method} {signed(o.gain)}" for o in records if o.method != "softmax")
        return (
            f"{first.model}, {first.length} {MODELS[first.model].unit}, {first.labels:,} labels, draw {first.draw}: "
            f"softmax error {percent(first.softmax_error)}; fewer errors by {gains}; "
            f"{sum(o.fit_seconds for o in records):.0f} s"
        )


def outcome_of(task: Task, method: str, draw: Draw) -> Outcome:
    """Fit one method, and count its wins and losses against softmax."""
    labelled, test = draw
    classes = labelled.logits.shape[1]
    begun = perf_counter()
    head = METHODS[method](classes).fit(labelled.logits, labelled.labels)
    seconds = perf_counter() - begun
    right = head.predict(test.logits) == test.labels
    wins, losses, errors = wins_and_losses(test.logits.argmax(axis=1) == test.labels, right)
    low, high = getattr(head, "gain_interval_", (np.nan, np.nan))
    return Outcome(
        *task,
        method=method,
        classes=classes,
        test_samples=len(test.labels),
        softmax_error=errors / len(test.labels),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        expected_gain=float(getattr(head, "gain_", np.nan)),
        expected_low=float(low),
        expected_high=float(high),
        head_p_value=float(getattr(head, "p_value_", np.nan)),
        chosen=choice_of(head),
        fit_seconds=round(seconds, 3),
    )
