"""How much ten outputs of an untrained network tell of the class: on MNIST, and on CIFAR-10.

Training puts into the outputs what softmax can use. What a head finds beyond that was in the images, and came through
the network. So a head is fitted on the outputs of networks that were never trained.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aftermax import AutoHead
from aftermax._utils.files import write_text
from aftermax._utils.text import percent, table
from experiments.benchmark.measure import single_threaded
from experiments.data.mnist import load_mnist
from experiments.networks.cifar_networks import Cifar
from experiments.networks.mnist_networks import HELD_OUT, import_torch
from experiments.networks.recipes import MAIN, RECIPES
from experiments.runs.runner import Experiment

NETWORKS = 3
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}


class Case(NamedTuple):
    """A data set and the number of an untrained network, which is its seed."""

    data: str
    network: int

    @property
    def key(self) -> tuple[str, int]:
        return self.data, self.network


@dataclass(frozen=True)
class Outcome:
    """Accuracies on the test samples."""

    data: str
    network: int
    argmax_accuracy: float
    accuracy: float  # of AutoHead, fitted on the validation samples
    chosen: str

    @property
    def key(self) -> tuple[str, int]:
        return self.data, self.network


@dataclass(frozen=True)
class UntrainedExperiment(Experiment[Case, Outcome]):
    """Where MNIST and CIFAR-10 are."""

    name = "cifar"
    record = Outcome
    seeds = "the number of the network"
    code = ("cifar/untrained.py", "networks/models.py", "networks/recipes.py")

    folder: Path | None

    def settings(self) -> dict[str, Any]:
        return {"recipe": MAIN, "validation_samples": HELD_OUT, "test_samples": HELD_OUT}

    def prepare(self, tasks: Sequence[Case]) -> None:
        """See that the data is there."""
        for data in {task.data: None for task in tasks}:
            self._images(data)

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        torch = import_torch()
        from experiments.networks import models

        images, labels = self._images(task.data)
        torch.set_num_threads(1)  # sums over several threads depend on how many there are
        torch.manual_seed(task.network)
        outputs = models.logits(models.dense_network(RECIPES[MAIN], images.shape[1], 10), images).astype(np.float64)
        drawn = np.random.default_rng(task.network).permutation(len(labels))[: 2 * HELD_OUT]
        validation, test = drawn.reshape(2, -1)
        with single_threaded():
            warnings.filterwarnings("ignore", ".*chance", UserWarning)  # which is what argmax is here
            head = AutoHead(classes=np.arange(10), n_jobs=1, progress=False).fit(
                outputs[validation], labels[validation]
            )
        before = np.mean(outputs[test].argmax(axis=1) == labels[test])
        after = np.mean(head.predict(outputs[test]) == labels[test])
        return [Outcome(*task, float(before), float(after), head.chosen_)]

    def _images(self, data: str) -> tuple[Any, Any]:
        """The test images, flattened, and their labels."""
        if data == "mnist":
            mnist = load_mnist(self.folder)
            return mnist.test_images, mnist.test_labels
        cifar10 = Cifar(self.folder).images("cifar10")
        return cifar10.test_images.reshape(len(cifar10.test_labels), -1), cifar10.test_labels

    def describe(self, records: Sequence[Outcome]) -> str:
        [one] = records
        return f"untrained network {one.network} on {TITLES[one.data]}: AutoHead's accuracy {percent(one.accuracy)}"


def run(data: Path | None, folder: Path, again: bool = False) -> None:
    """Measure what is not measured yet, and write untrained.md to the folder."""
    outcomes = UntrainedExperiment(data).run(cases(), folder / "untrained" / "outcomes.csv", again=again)
    write_text(folder / "untrained.md", untrained_table(outcomes))


def cases() -> list[Case]:
    return [Case(data, number) for data in TITLES for number in range(NETWORKS)]


def untrained_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each data set: means over the networks."""
    rows = []
    for data, title in TITLES.items():
        here = [o for o in outcomes if o.data == data]
        before, after = (
            float(np.mean(values)) for values in zip(*((o.argmax_accuracy, o.accuracy) for o in here), strict=True)
        )
        rows.append([title, percent(before), percent(after)])
    return table(["ten outputs of an untrained network", "accuracy of argmax", "accuracy of AutoHead"], rows, texts=1)
