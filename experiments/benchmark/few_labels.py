"""Few labels: AutoHead on many draws of 100 and 500 labelled samples. ``python -m experiments few-labels``.

The networks are those of the benchmark (MNIST's under every shift, the first of each size of vMNIST, and score files).
The labelled samples are drawn from their validation samples, again and again; all test samples are predicted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import signed
from experiments.benchmark import shifted_data, trials
from experiments.benchmark.measure import in_double, single_threaded
from experiments.benchmark.methods import METHODS
from experiments.data.mnist import MNIST
from experiments.networks import mnist_networks
from experiments.networks.samples import Samples
from experiments.runs.runner import Experiment

DRAWS = {100: 10, 500: 2}
PEERS, PEER_DRAWS = ("qda", "sms"), 2  # the peers that do best with few labels, on the first draws only
MOST_CLASSES = 20


@dataclass(frozen=True)
class Outcome:
    """One method on one draw. The gain is the relative reduction of softmax's error on the test samples."""

    family: str
    name: str
    labels: int
    draw: int
    method: str
    softmax_error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    expected_gain: float
    expected_low: float
    expected_high: float
    chosen: str
    trust: float
    seconds: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.family, self.name, self.labels, self.draw


@dataclass(frozen=True)
class Task:
    """A network and a draw of so many labelled samples."""

    family: str
    name: str
    labels: int
    draw: int
    load: Callable[[], tuple[Samples, Samples]]

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.family, self.name, self.labels, self.draw


def tasks(mnist: MNIST, scores: Path | None) -> list[Task]:
    """Every network; the first draws of all before the second ones."""
    shifted = shifted_data.shifted_mnist(mnist)
    kept = shifted_data.SCORES_FOLDER
    shifted.keep(0, kept)
    sources = [("shift-mnist", case.name, shifted.loader(0, case, kept)) for case in shifted_data.CASES]
    sources += [
        ("vmnist", str(size), partial(trials.network_samples, mnist, size, 0, trials.SCORES_FOLDER))
        for size in mnist_networks.SIZES
    ]
    for path in sorted(scores.glob("*.npz")) if scores else []:
        load = partial(trials.load_samples, path)
        if load()[0].logits.shape[1] <= MOST_CLASSES:
            sources.append(("files", path.stem, load))
    return [
        Task(*source[:2], labels, draw, source[2])
        for draw in range(max(DRAWS.values()))
        for source in sources
        for labels, draws in DRAWS.items()
        if draw < draws
    ]


@dataclass(frozen=True)
class FewLabels(Experiment[Task, Outcome]):
    """AutoHead, and the peers on the first draws."""

    name = "few-labels"
    record = Outcome
    seeds = "of the labelled samples: the number of the draw"
    code = ("benchmark/few_labels.py", "benchmark/methods.py", "benchmark/peers.py", "benchmark/shifted_data.py")

    def settings(self) -> dict[str, Any]:
        return {"draws": {str(labels): draws for labels, draws in DRAWS.items()}, "peers": list(PEERS)}

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        validation, test = map(in_double, task.load())
        chosen = np.random.default_rng(task.draw).permutation(len(validation.labels))[: task.labels]
        samples = Samples(validation.logits[chosen], validation.labels[chosen])
        peers = PEERS if task.draw < PEER_DRAWS else ()
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some peers warn of few samples
            return [_outcome(task, name, samples, test) for name in ("auto", *peers)]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(f"{one.method} {signed(one.gain)}" for one in records)
        return f"{first.family} {first.name}, {first.labels} labels, draw {first.draw}: fewer errors by {gains}"


def _outcome(task: Task, name: str, samples: Samples, test: Samples) -> Outcome:
    begun = perf_counter()
    head = METHODS[name].make(samples.logits.shape[1]).fit(samples.logits, samples.labels)
    seconds = perf_counter() - begun
    before, after = test.logits.argmax(axis=1) == test.labels, head.predict(test.logits) == test.labels
    wins, losses, errors = wins_and_losses(before, after)
    low, high = getattr(head, "gain_interval_", (np.nan, np.nan))
    return Outcome(
        *task.key,
        method=name,
        softmax_error=errors / len(test.labels),
        gain=float(relative_gain(wins, losses, errors)),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        expected_gain=float(getattr(head, "gain_", np.nan)),
        expected_low=low,
        expected_high=high,
        chosen=str(getattr(head, "chosen_", "")),
        trust=float(getattr(head, "trust_", np.nan)),
        seconds=round(seconds, 2),
    )
