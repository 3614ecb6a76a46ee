"""Error against labels, after a recogniser of 6,623 characters: ``python -m experiments characters``.

For each draw, the images of a font are put in random order. The first are labelled, whatever their classes are, and
those after the largest number of labels are the test samples, which are the same for all numbers of labels. Each method
is fitted in a process of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import exact_mcnemar, wins_and_losses
from aftermax._utils.text import percent
from experiments.benchmark.measure import choice_of, single_threaded
from experiments.characters.fonts import FONTS, PART, SAMPLES, SCAN, load
from experiments.characters.methods import METHODS
from experiments.characters.packages import FOLDER
from experiments.runs.alone import Stopped, alone, forget_peak, peak_gigabytes
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment

PER_CLASS = (1, 3, 10)  # labels for each column, in the mean
DRAWS = 3  # one with the most labels
MOST_TEST_SAMPLES = 8_000
MOST_SECONDS = 180.0  # of the methods that are limited
QUICK_FONT, QUICK_SAMPLES = "smiley", 9_280
NOTHING = float("nan")


@dataclass(frozen=True)
class Outcome:
    """One method in one draw. The gain is the relative reduction of softmax's error on the test samples."""

    font: str
    per_class: int
    draw: int
    method: str
    classes: int  # columns
    labels: int
    labelled_classes: int  # those that have labelled samples
    test_samples: int
    softmax_error: float
    error: float  # nan, as all that follows from it, if the method was stopped
    wins: int
    losses: int
    p_value: float
    gain: float
    gain_low: float  # 95 % interval, as the test samples are finitely many
    gain_high: float
    expected_gain: float  # nan where the method has no such estimate
    expected_low: float  # gain_interval_
    expected_high: float
    chosen: str
    fit_seconds: float  # of a processor; if the method was stopped, those until then
    predict_seconds: float  # all test samples
    fit_gigabytes: float  # the largest memory of the process, with the logits
    predict_gigabytes: float

    @property
    def key(self) -> tuple[str, int, int]:
        return self.font, self.per_class, self.draw

    @property
    def stopped(self) -> bool:
        return bool(np.isnan(self.error))

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


class Task(NamedTuple):
    """A font, a number of labels for each column in the mean, and a draw, whose number is its seed."""

    font: str
    per_class: int
    draw: int

    @property
    def key(self) -> tuple[str, int, int]:
        return self[:3]


def samples_for(most_labels: int, columns: int = 6_624) -> int:
    """How many samples of a font are needed for up to so many labels for each column, and to test on."""
    return -(-(most_labels * columns + MOST_TEST_SAMPLES) // PART) * PART


def tasks(draws: int = DRAWS, quick: bool = False, most_labels: int = PER_CLASS[-1]) -> list[Task]:
    """Every font and number of labels of one draw before the next; quick: one font with the fewest labels."""
    if quick:
        return [Task(QUICK_FONT, PER_CLASS[0], 0)]
    return [
        Task(font, per_class, draw)
        for draw in range(draws)
        for per_class in PER_CLASS
        for font in FONTS
        if per_class <= most_labels
        if draw == 0 or per_class < PER_CLASS[-1]
    ]


# ---- a draw ----------------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Logits in single precision, which holds what was kept exactly; labels are column numbers."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]


class Draw(NamedTuple):
    """Labelled samples, and others to test on."""

    labelled: Samples
    test: Samples


def drawn(task: Task, folder: Path, samples: int) -> Draw:
    """One draw, from the folder where the scores are kept: the test samples are after the largest number of labels."""
    scores = load(task.font, folder, samples)
    classes = scores.logits.shape[1]
    order = np.random.default_rng(task.draw).permutation(samples)
    most = max(count for count in PER_CLASS if count * classes < samples)
    parts = order[: task.per_class * classes], order[most * classes :][:MOST_TEST_SAMPLES]
    return Draw(*(Samples(scores.logits[part].astype(np.float32), scores.labels[part]) for part in parts))


# ---- the run ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CharactersExperiment(Experiment[Task, Outcome]):
    """Fonts, the folder where their scores are kept, and how many of them are used."""

    name = "characters"
    record = Outcome
    seeds = "of the images: each font's own; of the labelled and test samples: the number of the draw, in outcomes.csv"
    code = (
        "benchmark/methods.py",
        "benchmark/peers.py",
        "characters/components.py",
        "characters/fonts.py",
        "characters/measure.py",
        "characters/methods.py",
        "characters/packages.py",
        "characters/peers.py",
        "characters/recogniser.py",
        "characters/rendering.py",
    )

    fonts: Sequence[str]
    folder: Path = FOLDER
    samples: int = SAMPLES
    methods: Sequence[str] = tuple(METHODS)

    def settings(self) -> dict[str, Any]:
        kept = {font: load(font, self.folder, self.samples) for font in self.fonts}
        return {
            "methods": list(self.methods),
            "labels_per_class": list(PER_CLASS),
            "most_test_samples": MOST_TEST_SAMPLES,
            "most_seconds": MOST_SECONDS,
            "scan": vars(SCAN),
            "scores": {font: digest(scores.logits.tobytes(), scores.labels.tobytes()) for font, scores in kept.items()},
        }

    def packages(self) -> Sequence[str]:
        return ["onnxruntime", "pillow", "probmetrics"]

    def effort(self, task: Task) -> int:
        return 1 + task.per_class

    def suits(self, method: str, records: Sequence[Outcome]) -> bool:
        return is_tried(method, Task(*records[0].key))

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Fit every method on the labelled samples, and predict the test samples, each in a process of its own."""
        return [self._outcome(task, method) for method in methods if is_tried(method, task)]

    def _outcome(self, task: Task, method: str) -> Outcome:
        limit = MOST_SECONDS if METHODS[method].limited else float("inf")
        found = alone(outcome_of, task, method, self.folder, self.samples, most_seconds=limit)
        if not isinstance(found, Stopped):
            return cast(Outcome, found)
        softmax = cast(Outcome, alone(outcome_of, task, "softmax", self.folder, self.samples))
        return stopped_outcome(softmax, method, found)

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        errors = ", ".join(f"{one.method} {percent(one.error)}" for one in records)
        seconds = sum(one.fit_seconds for one in records)
        return f"{first.font}, {first.labels:,} labels, draw {first.draw}: error of {errors}; {seconds:.0f} s"


def is_tried(method: str, task: Task) -> bool:
    """Whether a method is measured in a task: those that are limited only in one draw, with the fewest labels."""
    return not METHODS[method].limited or task == Task(next(iter(FONTS)), PER_CLASS[0], 0)


# ---- one method ------------------------------------------------------------------------------------------------------


def outcome_of(task: Task, method: str, folder: Path, samples: int) -> Outcome:
    """Fit one method, and compare its predictions with softmax's; on one core."""
    labelled, test = drawn(task, folder, samples)
    by_softmax = test.logits.argmax(axis=1) == test.labels
    classes = test.logits.shape[1]
    with single_threaded(), warnings.catch_warnings(action="ignore", category=UserWarning):
        warm_up(method)
        head = METHODS[method].make(classes)
        fit = cost_of(lambda: head.fit(labelled.logits, labelled.labels))
        predict = cost_of(lambda: head.predict(test.logits))
    right = predict.result == test.labels
    wins, losses, errors = wins_and_losses(by_softmax, right)
    comparison = Comparison.of(by_softmax, right)
    low, high = getattr(head, "gain_interval_", (NOTHING, NOTHING))
    return Outcome(
        *task,
        method=method,
        classes=classes,
        labels=len(labelled.labels),
        labelled_classes=len(np.unique(labelled.labels)),
        test_samples=len(test.labels),
        softmax_error=errors / len(test.labels),
        error=float(np.mean(~right)),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        gain=comparison.gain,
        gain_low=comparison.intervals()[0][0],
        gain_high=comparison.intervals()[0][1],
        expected_gain=float(getattr(head, "gain_", NOTHING)),
        expected_low=float(low),
        expected_high=float(high),
        chosen=choice_of(head),
        fit_seconds=round(fit.seconds, 2),
        predict_seconds=round(predict.seconds, 2),
        fit_gigabytes=round(fit.gigabytes, 3),
        predict_gigabytes=round(predict.gigabytes, 3),
    )


def stopped_outcome(softmax: Outcome, method: str, stopped: Stopped) -> Outcome:
    """The outcome of a method that was stopped: nothing but what it cost until then."""
    return replace(
        softmax,
        method=method,
        error=NOTHING,
        gain=NOTHING,
        gain_low=NOTHING,
        gain_high=NOTHING,
        fit_seconds=round(stopped.seconds, 2),
        predict_seconds=NOTHING,
        fit_gigabytes=round(stopped.gigabytes, 3),
        predict_gigabytes=NOTHING,
    )


class Cost(NamedTuple):
    """What some work returned, its processor seconds, and the largest memory of the process meanwhile."""

    result: Any
    seconds: float
    gigabytes: float


def cost_of(work: Callable[[], Any]) -> Cost:
    """Do the work, and measure it."""
    forget_peak()
    begun = process_time()
    result = work()
    return Cost(result, process_time() - begun, peak_gigabytes())


def warm_up(method: str) -> None:
    """Let a method import and compile what it needs, so that its time does not have it."""
    labels = np.arange(300) % 30
    logits = np.random.default_rng(0).normal(size=(300, 30)) + 2 * np.eye(30)[labels]
    METHODS[method].make(30).fit(logits.astype(np.float32), labels).predict(logits.astype(np.float32))
