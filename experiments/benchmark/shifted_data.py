"""The data of the shift experiment: networks that were trained on clean images, tested on corrupted ones.

The test images of MNIST, and of CIFAR-10 where it is available, are corrupted in five ways at three strengths each.
These images are divided at random into validation samples, of which a trial takes the first 100, 500 or 2,000, and test
samples. The logits of the networks and the outputs of their last hidden layers are kept.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from experiments.benchmark.trials import Trial, load_samples
from experiments.data.cifar10 import CIFAR10, CLASSES
from experiments.data.corruptions import AMOUNTS, SHIFTS, STRENGTHS, Images, corrupted
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import import_torch, train_network
from experiments.networks.recipes import MAIN, RECIPES
from experiments.networks.samples import Samples

if TYPE_CHECKING:
    from torch import nn

SCORES_FOLDER = Path("build/shift")  # where the networks' scores are kept by default
LABELLED_SAMPLES = (100, 500, 2_000)
VALIDATION_SHARE = 0.4  # of the test images; the others are the test samples
MNIST_NETWORKS, MNIST_TRAINED_ON = 1, 20_000  # the first of those that the vMNIST experiment trains on so many images


class Case(NamedTuple):
    """A shift and its strength, 1 to 3; or the clean images, at strength 0."""

    shift: str
    strength: int

    @property
    def name(self) -> str:
        return f"{self.shift} {self.strength}" if self.strength else self.shift


CLEAN = Case("clean", 0)
CASES = tuple(Case(shift, strength) for shift in SHIFTS for strength in STRENGTHS)
QUICK_CASES = (Case("noise", 2), Case("rotation", 2))


@dataclass(frozen=True)
class ResNetRecipe:
    """The network on CIFAR-10, see :func:`~experiments.networks.models.small_resnet`, and its training."""

    widths: tuple[int, ...] = (32, 64, 128)
    epochs: int = 7
    batch: int = 128
    rate: float = 0.1
    threads: int = 2  # sums over several threads depend on how many there are, so it is always as many
    seed: int = 0


RESNET_RECIPE = ResNetRecipe()


# ---- data sets -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShiftedData:
    """A data set's test images, and the networks that were trained on its clean training images."""

    name: str  # "mnist" or "cifar10"
    images: Images
    labels: NDArray[np.int64]
    recipe: str
    networks: int
    train: Callable[[int], nn.Sequential]  # gives a network that takes these images

    def amount(self, case: Case) -> float:
        return AMOUNTS[self.name][case.shift][case.strength - 1] if case.strength else 0.0

    def corrupted(self, case: Case) -> Images:
        """The test images after a shift, the same for all networks."""
        return corrupted(self.images, case.shift, self.amount(case)) if case.strength else self.images

    def draw_samples(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The indices of the test images that are a network's validation samples, and its test samples."""
        order = np.random.default_rng(number).permutation(len(self.labels))
        validation, test = np.split(order, [int(VALIDATION_SHARE * len(order))])
        return validation, test

    def path(self, number: int, case: Case, kept: Path) -> Path:
        """Where the scores of a network are kept; a recipe or an amount that has changed has other files."""
        made_by = f"{self.recipe} {self.amount(case)} {VALIDATION_SHARE}"
        digest = hashlib.sha256(made_by.encode()).hexdigest()[:6]
        return kept / f"{self.name}-{digest}-{number}-{case.shift}-{case.strength}.npz"

    def load(self, number: int, case: Case, kept: Path, cases: Sequence[Case] = CASES) -> tuple[Samples, Samples]:
        """A network's validation and test samples, from the folder ``kept``.

        If they are not there, the network is trained now, and its outputs for all these ``cases`` are kept.
        """
        path = self.path(number, case, kept)
        if not path.is_file():
            self.keep(number, kept, cases=[case, *cases])
        return load_samples(path)

    def loader(
        self, number: int, case: Case, kept: Path, cases: Sequence[Case] = CASES
    ) -> Callable[[], tuple[Samples, Samples]]:
        """A function that loads these samples. It does not hold the images if the samples are kept already."""
        path = self.path(number, case, kept)
        return partial(load_samples, path) if path.is_file() else partial(self.load, number, case, kept, cases)

    def keep(self, number: int, kept: Path, cases: Sequence[Case] = CASES) -> None:
        """Write a network's outputs for these cases and for the clean images, where they are not kept yet.

        Each file is written whole or not at all.
        """
        missing = [case for case in (CLEAN, *cases) if not self.path(number, case, kept).is_file()]
        if not missing:
            return
        import_torch()
        from experiments.networks import models

        network = self.train(number)
        for case in dict.fromkeys(missing):
            hidden, logits = models.hidden_and_logits(network, self.corrupted(case))
            arrays: dict[str, Any] = {}
            for part, indices in zip(("val", "test"), self.draw_samples(number), strict=True):
                arrays[f"{part}_logits"] = logits[indices]
                arrays[f"{part}_labels"] = self.labels[indices]
                arrays[f"{part}_features"] = hidden[indices].astype(np.float16)
            with write_atomically(self.path(number, case, kept)) as unfinished, unfinished.open("wb") as file:
                np.savez_compressed(file, **arrays)


def shifted_mnist(mnist: MNIST) -> ShiftedData:
    """Dense networks, each trained on 20,000 of MNIST's training images."""
    images = mnist.test_images.reshape(-1, 28, 28)
    recipe = f"{RECIPES[MAIN].digest} {MNIST_TRAINED_ON}"
    return ShiftedData("mnist", images, mnist.test_labels, recipe, MNIST_NETWORKS, partial(_train_on_mnist, mnist))


def shifted_cifar10(cifar10: CIFAR10, recipe: ResNetRecipe = RESNET_RECIPE) -> ShiftedData:
    """One small residual network, trained on all of CIFAR-10's training images."""
    train = partial(_train_on_cifar10, cifar10, recipe)
    return ShiftedData("cifar10", cifar10.test_images, cifar10.test_labels, repr(recipe), 1, train)


def _train_on_mnist(mnist: MNIST, number: int) -> nn.Sequential:
    network = train_network(mnist, MNIST_TRAINED_ON, number, MAIN)
    from torch import nn

    return nn.Sequential(nn.Flatten(), *network)


def _train_on_cifar10(cifar10: CIFAR10, recipe: ResNetRecipe, number: int) -> nn.Sequential:
    torch = import_torch()
    from experiments.networks import models, training

    print("Training the network on CIFAR-10, which takes five to ten minutes and is done once ...", file=sys.stderr)
    threads = torch.get_num_threads()
    torch.set_num_threads(recipe.threads)
    try:
        torch.manual_seed(recipe.seed + number)
        network = models.small_resnet(recipe.widths, len(CLASSES))
        images, labels = cifar10.train_images, cifar10.train_labels
        training.train_with_augmentation(network, images, labels, recipe.epochs, recipe.batch, recipe.rate)
    finally:
        torch.set_num_threads(threads)
    return network


# ---- trials ----------------------------------------------------------------------------------------------------------


def trials(mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = SCORES_FOLDER, quick: bool = False) -> list[Trial]:
    """Every network under every shift, with few and with many labelled samples of the shifted data.

    If ``quick``, one network on MNIST under two shifts. A network whose scores are not kept yet is trained when a trial
    of it is loaded; :func:`prepare` trains them all beforehand.
    """
    return [
        Trial(f"shift-{data.name}", case.name, number, count, data.loader(number, case, kept, cases))
        for data, numbers, cases in _plan(mnist, cifar10, quick)
        for number in numbers
        for case in cases
        for count in LABELLED_SAMPLES
    ]


def prepare(mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = SCORES_FOLDER, quick: bool = False) -> None:
    """Train all networks of :func:`trials` whose scores are not kept yet, one after the other.

    Trials that are made afterwards hold no images, so they are light to send to other processes.
    """
    for data, numbers, cases in _plan(mnist, cifar10, quick):
        for number in numbers:
            data.keep(number, kept, cases)


def _plan(mnist: MNIST, cifar10: CIFAR10 | None, quick: bool) -> list[tuple[ShiftedData, range, tuple[Case, ...]]]:
    """Data sets, the numbers of their networks, and the shifts."""
    if quick:
        return [(shifted_mnist(mnist), range(1), QUICK_CASES)]
    return [(data, range(data.networks), CASES) for data in data_sets(mnist, cifar10)]


def data_sets(mnist: MNIST, cifar10: CIFAR10 | None) -> list[ShiftedData]:
    """MNIST, and CIFAR-10 if it is available."""
    return [shifted_mnist(mnist), *([shifted_cifar10(cifar10)] if cifar10 else [])]
