"""The shift experiment's data: networks that were trained on clean images meet a world that has changed.

The test images of MNIST, and of CIFAR-10 where it is at hand, are corrupted in five ways at three strengths each. Those
images are divided at random: the validation rows stand for labelled rows of the new world, of which a trial takes the
first 100, 500 or 2,000; the test rows judge. What the networks say, and their last hidden layers, are kept.
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
from aftermax.plots._style import new_figure
from experiments.data.cifar10 import CIFAR10, CLASSES
from experiments.data.corruptions import AMOUNTS, SHIFTS, STRENGTHS, UNITS, Images, corrupted
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import import_torch, train_network
from experiments.networks.recipes import MAIN, RECIPES
from experiments.benchmark.trials import Rows, Trial, load_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch import nn

KEPT = Path("build/shift")  # where the networks' scores are kept unless told otherwise
ROWS = (100, 500, 2_000)
VALIDATION_SHARE = 0.4  # of the test images; the others are the test rows
MNIST_NETWORKS, MNIST_TRAINED_ON = 1, 20_000  # the first of those that the vMNIST experiment trains on so many images
SHOWN, GAP = 3, 0.07  # images of each data set in the picture, and the room between them, of an image's side


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
class PhotoRecipe:
    """The network on CIFAR-10, see :func:`~experiments.models.small_resnet`, and its training."""

    widths: tuple[int, ...] = (32, 64, 128)
    epochs: int = 7
    batch: int = 128
    rate: float = 0.1
    threads: int = 2  # sums over several threads depend on how many there are, so it is always as many
    seed: int = 0


PHOTO_RECIPE = PhotoRecipe()


# ---- worlds ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A data set's test images, the networks that were trained on its clean training images, and how they were."""

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

    def draw_rows(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of the test images are a network's validation rows, and which its test rows."""
        order = np.random.default_rng(number).permutation(len(self.labels))
        validation, test = np.split(order, [int(VALIDATION_SHARE * len(order))])
        return validation, test

    def path(self, number: int, case: Case, kept: Path) -> Path:
        """Where the scores of a network are kept; a recipe or an amount that has changed has other files."""
        made_by = f"{self.recipe} {self.amount(case)} {VALIDATION_SHARE}"
        digest = hashlib.sha256(made_by.encode()).hexdigest()[:6]
        return kept / f"{self.name}-{digest}-{number}-{case.shift}-{case.strength}.npz"

    def load(self, number: int, case: Case, kept: Path, cases: Sequence[Case] = CASES) -> tuple[Rows, Rows]:
        """A network's validation and test rows, found in the folder ``kept``.

        If they are not there, the network is trained now, and what it says of all these ``cases`` is kept.
        """
        path = self.path(number, case, kept)
        if not path.is_file():
            self.keep(number, kept, cases=[case, *cases])
        return load_rows(path)

    def loader(
        self, number: int, case: Case, kept: Path, cases: Sequence[Case] = CASES
    ) -> Callable[[], tuple[Rows, Rows]]:
        """What loads these rows; without the images, if they are kept already."""
        path = self.path(number, case, kept)
        return partial(load_rows, path) if path.is_file() else partial(self.load, number, case, kept, cases)

    def keep(self, number: int, kept: Path, cases: Sequence[Case] = CASES) -> None:
        """Write what a network says of these cases and of the clean images, where that is not kept yet.

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
            for part, rows in zip(("val", "test"), self.draw_rows(number), strict=True):
                arrays[f"{part}_logits"] = logits[rows]
                arrays[f"{part}_labels"] = self.labels[rows]
                arrays[f"{part}_features"] = hidden[rows].astype(np.float16)
            with write_atomically(self.path(number, case, kept)) as unfinished, unfinished.open("wb") as file:
                np.savez_compressed(file, **arrays)


def mnist_world(mnist: MNIST) -> World:
    """Dense networks, each trained on 20,000 of MNIST's training images."""
    images = mnist.test_images.reshape(-1, 28, 28)
    recipe = f"{RECIPES[MAIN].digest} {MNIST_TRAINED_ON}"
    return World("mnist", images, mnist.test_labels, recipe, MNIST_NETWORKS, partial(_train_on_digits, mnist))


def cifar10_world(cifar10: CIFAR10, recipe: PhotoRecipe = PHOTO_RECIPE) -> World:
    """One small residual network, trained on all of CIFAR-10's training images."""
    train = partial(_train_on_photos, cifar10, recipe)
    return World("cifar10", cifar10.test_images, cifar10.test_labels, repr(recipe), 1, train)


def _train_on_digits(mnist: MNIST, number: int) -> nn.Sequential:
    network = train_network(mnist, MNIST_TRAINED_ON, number, MAIN)
    from torch import nn

    return nn.Sequential(nn.Flatten(), *network)


def _train_on_photos(cifar10: CIFAR10, recipe: PhotoRecipe, number: int) -> nn.Sequential:
    torch = import_torch()
    from experiments.networks import models

    print("Training the network on CIFAR-10, which takes five to ten minutes and is done once ...", file=sys.stderr)
    threads = torch.get_num_threads()
    torch.set_num_threads(recipe.threads)
    try:
        torch.manual_seed(recipe.seed + number)
        network = models.small_resnet(recipe.widths, len(CLASSES))
        images, labels = cifar10.train_images, cifar10.train_labels
        models.train_on_photos(network, images, labels, recipe.epochs, recipe.batch, recipe.rate)
    finally:
        torch.set_num_threads(threads)
    return network


# ---- trials ----------------------------------------------------------------------------------------------------------


def trials(mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = KEPT, quick: bool = False) -> list[Trial]:
    """Every network under every shift, with few and with many labelled rows of the new world.

    For a taste, one network on MNIST under two shifts. A network whose scores are not kept yet is trained when a trial
    of it is loaded; :func:`prepare` trains them all beforehand.
    """
    return [
        Trial(f"shift-{world.name}", case.name, number, rows, world.loader(number, case, kept, cases))
        for world, numbers, cases in _plan(mnist, cifar10, quick)
        for number in numbers
        for case in cases
        for rows in ROWS
    ]


def prepare(mnist: MNIST, cifar10: CIFAR10 | None, kept: Path = KEPT, quick: bool = False) -> None:
    """Train all networks of :func:`trials` whose scores are not kept yet, one after the other.

    Trials that are made afterwards hold no images, so they are light to send to other processes.
    """
    for world, numbers, cases in _plan(mnist, cifar10, quick):
        for number in numbers:
            world.keep(number, kept, cases)


def _plan(mnist: MNIST, cifar10: CIFAR10 | None, quick: bool) -> list[tuple[World, range, tuple[Case, ...]]]:
    """Worlds, the numbers of their networks, and what these meet."""
    if quick:
        return [(mnist_world(mnist), range(1), QUICK_CASES)]
    worlds = [mnist_world(mnist), *([cifar10_world(cifar10)] if cifar10 else [])]
    return [(world, range(world.networks), CASES) for world in worlds]


# ---- a picture of the shifts -----------------------------------------------------------------------------------------


def draw_examples(mnist: MNIST, cifar10: CIFAR10 | None, path: Path) -> None:
    """Write a picture of a few images under every shift at every strength, as .png and as .pdf."""
    from experiments.paper.figures import save

    worlds = [mnist_world(mnist), *([cifar10_world(cifar10)] if cifar10 else [])]
    columns = [[CLEAN], *([Case(shift, strength) for strength in STRENGTHS] for shift in SHIFTS)]
    figure = new_figure(10.5, 0.5 + 2.1 * len(worlds))
    widths = [len(cases) + (len(cases) - 1) * GAP for cases in columns]
    grid = figure.subplots(len(worlds), len(columns), squeeze=False, width_ratios=widths)
    for world, line in zip(worlds, grid, strict=True):
        for cases, axes in zip(columns, line, strict=True):
            _draw_tiles(axes, world, cases)
    for cases, above, below in zip(columns, grid[0], grid[-1], strict=True):
        above.set_title(cases[0].shift, fontsize="medium")
        below.set_xlabel(UNITS.get(cases[0].shift, ""), fontsize="small")
    save(figure, path)


def _draw_tiles(axes: Axes, world: World, cases: Sequence[Case]) -> None:
    """Images of different classes below each other, cases side by side."""
    shown = [int(np.flatnonzero(world.labels == label)[0]) for label in np.unique(world.labels)[1 : 2 * SHOWN : 2]]
    few = World(world.name, world.images[shown], world.labels[shown], world.recipe, 0, world.train)
    side = world.images.shape[-1]
    gap = round(GAP * side)
    tiles = np.ones((len(shown) * (side + gap) - gap, len(cases) * (side + gap) - gap, 3), dtype=np.float32)
    for across, case in enumerate(cases):
        for down, image in enumerate(few.corrupted(case)):
            coloured = np.moveaxis(np.broadcast_to(image, (3, side, side)), 0, -1)
            top, left = down * (side + gap), across * (side + gap)
            tiles[top : top + side, left : left + side] = coloured
    axes.imshow(tiles, interpolation="nearest")
    axes.set_yticks([])
    middles = [across * (side + gap) + side / 2 - 0.5 for across in range(len(cases))]
    words = [f"{world.amount(case):g}" if case.strength else "" for case in cases]
    axes.set_xticks(middles, words, fontsize="small")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
