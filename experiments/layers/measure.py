"""Do inner layers help? ``python -m experiments layers``.

The paper's second avenue is to look at the inner layers of a network. AutoHead is fitted on the same labelled samples
with the logits only, with the last hidden layer, with an earlier one, and with both side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from aftermax import AutoHead
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from experiments.benchmark.measure import single_threaded
from experiments.data.corruptions import AMOUNTS
from experiments.layers.networks import (
    CIFAR_LAYERS,
    CIFAR_RECIPE,
    CLEAN,
    MNIST_LAYERS,
    NOISE,
    STRENGTH,
    Network,
    Networks,
    Responses,
)
from experiments.networks.recipes import MAIN, RECIPES
from experiments.runs.runner import Experiment

LAYERS = ("logits", "last", "earlier", "both")
MNIST_SIZES = (100, 1_000, 5_000)
MNIST_NETWORKS = {400: 2, 4_000: 1}  # by the number of labelled samples
CIFAR_TRAINED_ON = 50_000
CIFAR_SAMPLES = (500, 2_000)


@dataclass(frozen=True)
class Outcome:
    """AutoHead with some layers, on one network's test samples. The gain is over softmax."""

    data: str
    trained_on: int
    network: int
    images: str
    samples: int  # labelled
    layers: str
    features: int  # columns
    test_samples: int
    softmax_error: float
    error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    wins_over_last: int  # against AutoHead with the last hidden layer
    losses_to_last: int
    p_value_to_last: float
    promised: float  # the gain that the head expects, from the labelled samples only
    proven: bool
    chosen: str
    trust: float
    log_loss: float
    seconds: float  # of the fit

    @property
    def key(self) -> Task:
        return Task(self.data, self.trained_on, self.network, self.images, self.samples)


class Task(NamedTuple):
    """So many labelled samples of a network's images."""

    data: str
    trained_on: int
    network: int
    images: str
    samples: int

    @property
    def key(self) -> Task:
        return self


def tasks(*, cifar: bool, quick: bool = False) -> list[Task]:
    """Every number of labelled samples of every network; those of one network follow each other."""
    if quick:
        return [Task("vmnist", 100, 0, CLEAN, 400)]
    found = [
        Task("vmnist", size, number, CLEAN, samples)
        for number in range(max(MNIST_NETWORKS.values()))
        for size in MNIST_SIZES
        for samples, networks in MNIST_NETWORKS.items()
        if number < networks
    ]
    if cifar:
        found += [
            Task("cifar10", CIFAR_TRAINED_ON, 0, images, samples)
            for images in (CLEAN, NOISE)
            for samples in CIFAR_SAMPLES
        ]
    return found


@dataclass(frozen=True)
class LayersExperiment(Experiment[Task, Outcome]):
    """AutoHead with its defaults, and with each choice of layers."""

    name = "layers"
    record = Outcome
    seeds = "of vMNIST's networks and draws: those of the vmnist experiment; of CIFAR-10's network, draw and noise: 0"
    code = (
        "data/cifar10.py",
        "data/cifar_batches.py",
        "data/corruptions.py",
        "data/mnist.py",
        "layers/measure.py",
        "layers/networks.py",
        "networks",
    )

    networks: Networks

    def settings(self) -> dict[str, Any]:
        return {
            "layers": {"vmnist": MNIST_LAYERS, "cifar10": CIFAR_LAYERS},
            "vmnist": {"name": MAIN, **asdict(RECIPES[MAIN])},
            "cifar10": asdict(CIFAR_RECIPE),
            "noise": AMOUNTS["cifar10"][NOISE][STRENGTH - 1],
        }

    def effort(self, task: Task) -> int:
        return 300 + task.samples

    def measure(self, task: Task, methods: Sequence[str]) -> list[Outcome]:
        """Train the network, unless it was the last one, and fit a head with every choice of layers, on one core."""
        validation, test = self.networks.samples(Network(*task[:4]))
        with single_threaded():
            found = {layers: fitted(validation, test, task.samples, layers) for layers in LAYERS}
        return [outcome_of(task, layers, found, test) for layers in LAYERS]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(f"{one.layers} {signed(one.gain)}" for one in records)
        return (
            f"{first.data}, trained on {first.trained_on:,}, network {first.network}, {first.images}, "
            f"{first.samples:,} samples: error {percent(first.softmax_error)}; fewer errors with {gains}; "
            f"{sum(one.seconds for one in records):.0f} s"
        )


class Fitted(NamedTuple):
    """A head, and what it makes of the test samples."""

    head: AutoHead
    features: int
    right: NDArray[np.bool_]
    log_loss: float
    seconds: float


def features_of(responses: Responses, layers: str) -> list[NDArray[np.float32]] | None:
    """The features that a choice of layers has: none, one layer, or both of them."""
    return {
        "logits": None,
        "last": [responses.last],
        "earlier": [responses.earlier],
        "both": [responses.earlier, responses.last],
    }[layers]


def fitted(validation: Responses, test: Responses, samples: int, layers: str) -> Fitted:
    """AutoHead with some layers, fitted on the first so many validation samples."""
    labelled = validation.at(np.arange(samples))
    features = features_of(labelled, layers)
    begun = perf_counter()
    head = AutoHead(classes=np.arange(labelled.logits.shape[1]), n_jobs=1, progress=False)
    head.fit(labelled.logits, labelled.labels, features=features)
    seconds = perf_counter() - begun
    probabilities = head.predict_proba(test.logits, features_of(test, layers))
    right = head.predict(test.logits, features_of(test, layers)) == test.labels
    columns = sum(part.shape[1] for part in features or ())
    return Fitted(head, columns, right, float(log_loss(test.labels, probabilities, labels=head.classes_)), seconds)


def outcome_of(task: Task, layers: str, found: dict[str, Fitted], test: Responses) -> Outcome:
    """Which test samples a head gets right, compared with softmax and with the head that has the last layer."""
    one = found[layers]
    before = test.logits.argmax(axis=1) == test.labels
    wins, losses, errors = wins_and_losses(before, one.right)
    wins_over_last, losses_to_last, _ = wins_and_losses(found["last"].right, one.right)
    return Outcome(
        *task,
        layers=layers,
        features=one.features,
        test_samples=len(test.labels),
        softmax_error=errors / len(test.labels),
        error=float(np.mean(~one.right)),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        wins_over_last=wins_over_last,
        losses_to_last=losses_to_last,
        p_value_to_last=exact_mcnemar(wins_over_last, losses_to_last),
        promised=one.head.gain_,
        proven=one.head.proven_,
        chosen=one.head.chosen_,
        trust=one.head.trust_,
        log_loss=one.log_loss,
        seconds=round(one.seconds, 2),
    )
