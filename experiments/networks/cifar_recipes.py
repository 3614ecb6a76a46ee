"""The networks on CIFAR: how they are built, and how they are trained on a processor with two cores.

The paper took its networks from templates for Keras and says only how good they were: 59 to 89 % on CIFAR-10, 51 to
71 % on CIFAR-20 (the coarse classes of CIFAR-100), 40 to 60 % on CIFAR-100. These reach about that, each in at most
half an hour on one core. Two more runs keep checkpoints on the way: a convolutional and a dense network, without
augmentation, until they know their training images by heart. And a convolutional and a dense network are trained on few
and on many images, as the paper did on MNIST.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

DATA_SETS = {"cifar10": "CIFAR-10", "cifar20": "CIFAR-20", "cifar100": "CIFAR-100"}
CLASSES = {"cifar10": 10, "cifar20": 20, "cifar100": 100}


@dataclass(frozen=True)
class CifarRecipe:
    """A network on CIFAR and its training.

    A convolutional one is a small residual network, see :func:`~experiments.networks.models.small_resnet`: stochastic
    gradient descent and a one-cycle schedule. A dense one has two hidden layers: Adam.
    """

    data: str  # "cifar10", "cifar20" or "cifar100"
    widths: tuple[int, ...]
    epochs: int
    dense: bool = False
    augmented: bool = True  # shifted and flipped images
    constant_rate: bool = False  # rather than one cycle
    rate: float = 0.1
    batch: int = 128
    checkpoints: tuple[float, ...] = ()  # epochs after which the scores are kept too
    seed: int = 0
    samples: int = field(default=0, repr=False)  # to train on, the first so many; 0 for all

    @property
    def digest(self) -> str:
        """A few characters that change with the recipe."""
        text = f"{self!r} on {self.samples}" if self.samples else repr(self)
        return hashlib.sha256(text.encode()).hexdigest()[:6]


CHECKPOINTS = (0.25, 0.5, 1, 2, 3, 5, 8, 12, 16)
NETWORKS: dict[str, CifarRecipe] = {
    "cifar10-8": CifarRecipe("cifar10", (8, 16, 32), 2),
    "cifar10-16": CifarRecipe("cifar10", (16, 32, 64), 3),
    "cifar10-32": CifarRecipe("cifar10", (32, 64, 128), 5),
    "cifar10-48": CifarRecipe("cifar10", (48, 96, 192), 9),
    "cifar20-16": CifarRecipe("cifar20", (16, 32, 64), 6),
    "cifar20-32": CifarRecipe("cifar20", (32, 64, 128), 4),
    "cifar20-48": CifarRecipe("cifar20", (48, 96, 192), 7),
    "cifar100-16": CifarRecipe("cifar100", (16, 32, 64), 8),
    "cifar100-32": CifarRecipe("cifar100", (32, 64, 128), 6),
    "cifar100-48": CifarRecipe("cifar100", (48, 96, 192), 11),
}
RUNS: dict[str, CifarRecipe] = {
    "run-convolutional": CifarRecipe(
        "cifar10", (16, 32, 64), 16, augmented=False, constant_rate=True, rate=0.02, checkpoints=CHECKPOINTS
    ),
    "run-dense": CifarRecipe(
        "cifar10", (1024, 512), 16, dense=True, augmented=False, constant_rate=True, rate=3e-4, checkpoints=CHECKPOINTS
    ),
}
SAMPLES = {500: 120, 2_000: 50, 10_000: 20, 50_000: 5}  # training images, and epochs
CONVOLUTIONAL = {
    f"convolutional-{samples}": CifarRecipe("cifar10", (16, 32, 64), epochs, samples=samples)
    for samples, epochs in SAMPLES.items()
}
DENSE = {
    f"dense-{samples}": CifarRecipe(
        "cifar10", (1024, 512), epochs, dense=True, augmented=False, constant_rate=True, rate=3e-4, samples=samples
    )
    for samples, epochs in SAMPLES.items()
}
EVERYTHING = NETWORKS | RUNS | CONVOLUTIONAL | DENSE
