"""Networks on flattened MNIST, trained on few and on many samples.

Each network has its own random draws: training samples from MNIST's training set; validation and test samples,
disjoint, from its test set. All of it follows from the network's seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from aftermax.data import Scores, load_scores
from experiments.data.mnist import MNIST
from experiments.networks.recipes import RECIPES

if TYPE_CHECKING:
    from torch import nn

SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
NETWORKS = 9
QUICK_SIZES, QUICK_NETWORKS = (100, 1_000), 2
HELD_OUT = 4_000  # validation samples, and as many test samples


class Case(NamedTuple):
    """A network to be trained."""

    size: int
    number: int

    @property
    def key(self) -> tuple[int, int]:
        return self.size, self.number


def cases(quick: bool = False, networks: int = NETWORKS) -> list[Case]:
    """All networks of the experiments; if ``quick``, two of two sizes."""
    sizes, networks = (QUICK_SIZES, QUICK_NETWORKS) if quick else (SIZES, networks)
    return [Case(size, number) for size in sizes for number in range(networks)]


class Draws(NamedTuple):
    """Indices into MNIST's training set, and twice into its test set."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def import_torch() -> Any:
    """PyTorch, or an error that says how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("Training networks needs PyTorch: pip install --editable '.[experiments]'") from error
    return torch


def seed_of(size: int, number: int) -> int:
    """The seed of network ``number`` among those trained on ``size`` samples."""
    return 1_000 * SIZES.index(size) + number


def draw_samples(mnist: MNIST, size: int, number: int) -> Draws:
    """The samples that a network is trained, validated and tested on."""
    rng = np.random.default_rng(seed_of(size, number))
    train = rng.permutation(len(mnist.train_labels))[:size]
    validation, test = rng.permutation(len(mnist.test_labels))[: 2 * HELD_OUT].reshape(2, HELD_OUT)
    return Draws(train, validation, test)


def train_network(
    mnist: MNIST, size: int, number: int, recipe: str, *, inserted: str = "", with_validation: bool = False
) -> nn.Sequential:
    """Train a network, or a variant of it from the same seed.

    With a layer ``inserted`` before softmax, see :func:`~experiments.networks.models.dense_network`; or on its
    validation samples as well.
    """
    torch = import_torch()
    from experiments.networks import models, training

    torch.set_num_threads(1)  # sums over several threads depend on how many there are
    torch.manual_seed(seed_of(size, number))
    draws = draw_samples(mnist, size, number)
    images, labels = mnist.train_images[draws.train], mnist.train_labels[draws.train]
    if with_validation:
        images = np.concatenate([images, mnist.test_images[draws.validation]])
        labels = np.concatenate([labels, mnist.test_labels[draws.validation]])
    network = models.dense_network(RECIPES[recipe], images.shape[1], 10, inserted)
    training.train(network, images, labels, RECIPES[recipe])
    return network


def network_scores(mnist: MNIST, size: int, number: int, recipe: str, kept: Path) -> Scores:
    """Scores of network ``number`` trained on ``size`` samples, from the folder ``kept`` or trained now."""
    path = kept_path(size, number, recipe, kept)
    if not path.is_file():
        network = train_network(mnist, size, number, recipe)
        keep_scores(scores_of(network, mnist, draw_samples(mnist, size, number)), size, number, recipe, kept)
    return load_scores(path)


def keep_scores(scores: Scores, size: int, number: int, recipe: str, kept: Path) -> None:
    """Write a network's scores to the folder ``kept``, whole or not at all."""
    with write_atomically(kept_path(size, number, recipe, kept)) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **scores._asdict())


def kept_path(size: int, number: int, recipe: str, kept: Path) -> Path:
    """Where the scores of a network are kept; a recipe that has changed has other files."""
    return kept / f"{recipe}-{RECIPES[recipe].digest}-{size}-{number}.npz"


def scores_of(network: nn.Sequential, mnist: MNIST, draws: Draws) -> Scores:
    """The outputs of a network for its validation and test samples."""
    from experiments.networks import models

    outputs = models.logits(network, mnist.test_images)
    return Scores(
        outputs[draws.validation],
        mnist.test_labels[draws.validation],
        outputs[draws.test],
        mnist.test_labels[draws.test],
    )
