"""The networks of the experiment on layers: trained now, and run once over all test images.

Of each network two layers are collected, the last hidden one and an earlier one:

- vMNIST has two hidden layers, and both are taken, after their ReLU.
- Of the convolutional network on CIFAR-10 the earlier layer is the output of its last residual block but one,
  averaged over the image: one feature for each of its channels. The last hidden layer is the average of the last block.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data.cifar10 import CIFAR10
from experiments.data.corruptions import AMOUNTS, corrupted
from experiments.data.mnist import MNIST
from experiments.networks import cifar_networks, mnist_networks
from experiments.networks.cifar_recipes import CifarRecipe
from experiments.networks.mnist_networks import import_torch
from experiments.networks.recipes import MAIN, RECIPES

if TYPE_CHECKING:
    from torch import nn

CLEAN, NOISE = "clean", "noise"
STRENGTH = 2  # of the noise, of 3
BUILD = Path("build/layers")  # where the convolutional network is kept after each epoch
CIFAR_RECIPE = CifarRecipe("cifar10", (16, 32, 64), 5)
MNIST_LAYERS = ("1", "4")  # the ReLU of the first hidden layer, and that of the last
CIFAR_LAYERS = ("3", "8")  # the residual block before the last one; of the last layer, its input is taken
CHUNK = 500  # images at a time


class Network(NamedTuple):
    """A network to be trained, and the images that it is tried on."""

    data: str  # "vmnist" or "cifar10"
    trained_on: int
    number: int
    images: str = CLEAN


class Responses(NamedTuple):
    """A network's logits, its two layers, and the labels of some images."""

    logits: NDArray[np.float32]
    earlier: NDArray[np.float32]
    last: NDArray[np.float32]
    labels: NDArray[np.int64]

    def at(self, indices: NDArray[np.int64]) -> Responses:
        """Those of some images only."""
        return Responses(self.logits[indices], self.earlier[indices], self.last[indices], self.labels[indices])


class Networks:
    """Trains networks when they are needed, and remembers the responses of the last one."""

    def __init__(self, mnist: MNIST, cifar10: CIFAR10 | None, build: Path = BUILD) -> None:
        self._mnist, self._cifar10, self._build = mnist, cifar10, build
        self._last: tuple[Network, tuple[Responses, Responses]] | None = None

    def samples(self, network: Network) -> tuple[Responses, Responses]:
        """A network's responses to its validation and to its test samples, which are disjoint."""
        if self._last is None or self._last[0] != network:
            find = self._vmnist if network.data == "vmnist" else self._cifar
            self._last = network, find(network)
        return self._last[1]

    def _vmnist(self, network: Network) -> tuple[Responses, Responses]:
        draws = mnist_networks.draw_samples(self._mnist, network.trained_on, network.number)
        trained = mnist_networks.train_network(self._mnist, network.trained_on, network.number, MAIN)
        found = responses(trained, self._mnist.test_images, self._mnist.test_labels, MNIST_LAYERS, RECIPES[MAIN].hidden)
        return found.at(draws.validation), found.at(draws.test)

    def _cifar(self, network: Network) -> tuple[Responses, Responses]:
        if self._cifar10 is None:
            raise FileNotFoundError("CIFAR-10 is needed for its network: name the folder that it is in with --data.")
        images, labels = self._cifar10.test_images, self._cifar10.test_labels
        if network.images != CLEAN:
            images = corrupted(images, network.images, AMOUNTS["cifar10"][network.images][STRENGTH - 1])
        found = responses(self._trained(self._cifar10), images, labels, CIFAR_LAYERS, CIFAR_RECIPE.widths[-2:])
        validation, test = cifar_networks.draw_samples(len(labels))
        return found.at(validation), found.at(test)

    def _trained(self, cifar10: CIFAR10) -> nn.Sequential:
        """The convolutional network, from the file that is written after each epoch or trained now."""
        import_torch()
        from experiments.networks import cifar_training

        return cifar_training.train(
            CIFAR_RECIPE,
            cifar10.train_images,
            cifar10.train_labels,
            self._build / f"cifar10-{CIFAR_RECIPE.digest}.pt",
            lambda *_checkpoint: None,
            partial(_report, CIFAR_RECIPE.epochs),
        )


def responses(
    network: nn.Module,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    layers: Sequence[str],
    widths: Sequence[int],
) -> Responses:
    """Run a frozen network over images, and collect its logits, an earlier layer and the last hidden one.

    ``widths`` are the numbers of features of the two layers. Of a convolutional layer that is its number of channels:
    each is averaged over the image.
    """
    torch = import_torch()
    from aftermax.bridges.torch import collect_logits

    collected = collect_logits(network, torch.from_numpy(images).split(CHUNK), layer=list(layers), progress=False)
    features: Any = collected.features
    earlier, last = features[:, : -widths[1]], features[:, -widths[1] :]
    averaged = earlier.reshape(len(earlier), widths[0], -1).mean(axis=2)
    return Responses(collected.logits, averaged, last, labels)


def _report(epochs: int, done: int) -> None:
    print(f"The network on CIFAR-10: epoch {done} of {epochs}", flush=True)
