"""Scores and penultimate features of the networks on CIFAR, kept so that nobody has to train them again.

A network is trained on all training images. The test images are divided at random into 5,000 validation and 5,000 test
samples, the same for all networks. Logits are kept as float16. Features are kept as bytes, a scale for each: all are
outputs of a ReLU, so none is negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from experiments.data.cifar10 import load_cifar10
from experiments.data.cifar100 import load_cifar100
from experiments.data.corruptions import AMOUNTS, corrupted
from experiments.networks.cifar_recipes import EVERYTHING, NETWORKS, CifarRecipe
from experiments.networks.mnist_networks import import_torch
from experiments.networks.samples import Samples

if TYPE_CHECKING:
    from torch import nn

SCORES_FOLDER = Path("results/cifar/scores")
CHECKPOINTS_FOLDER = Path("build/cifar")
VALIDATION_SAMPLES = 5_000
SHIFTS = ("noise", "blur", "contrast")
STRENGTH = 2  # of the shifts, of 3
SHIFTED_VALIDATION_SAMPLES = 2_000
SHIFTED = ("cifar10-48", "cifar20-48", "cifar100-48")  # the networks that are also tried on shifted images


class ImageData(NamedTuple):
    """The images that a network is trained on, and the others."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


class Cifar:
    """CIFAR-10, CIFAR-20 and CIFAR-100 from a folder, read when they are needed."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def images(self, name: str) -> ImageData:
        """The data set called "cifar10", "cifar20" or "cifar100"."""
        if name == "cifar10":
            return self._cifar10
        return self._cifar100[name == "cifar20"]

    @cached_property
    def _cifar10(self) -> ImageData:
        found = load_cifar10(self._folder)
        if found is None:
            raise FileNotFoundError(_missing("CIFAR-10", "cifar-10-batches-py", "cifar-10-python.tar.gz"))
        return ImageData(*found)

    @cached_property
    def _cifar100(self) -> tuple[ImageData, ImageData]:
        """With fine and with coarse labels."""
        found = load_cifar100(self._folder)
        if found is None:
            raise FileNotFoundError(_missing("CIFAR-100", "cifar-100-python", "cifar-100-python.tar.gz"))
        train, train_fine, train_coarse, test, test_fine, test_coarse = found
        return ImageData(train, train_fine, test, test_fine), ImageData(train, train_coarse, test, test_coarse)


def _missing(name: str, folder: str, archive: str) -> str:
    return (
        f"{name} is needed to train its networks, and there is no folder {folder}: get {archive} "
        "(https://www.cs.toronto.edu/~kriz/cifar.html), unpack it, and name the folder that it is in with --data."
    )


# ---- files -----------------------------------------------------------------------------------------------------------


def kept_path(name: str, kept: Path = SCORES_FOLDER, *, epochs: float | None = None, shift: str = "") -> Path:
    """Where the scores of a network are kept: at the end, after so many epochs, or on shifted images."""
    part = f"-{shift}-{STRENGTH}" if shift else "" if epochs is None else f"-{epochs:g}"
    return kept / f"{name}{part}-{EVERYTHING[name].digest}.npz"


def load_samples(path: Path) -> tuple[Samples, Samples]:
    """Validation and test samples from a file that :func:`keep` wrote."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: python -m experiments cifar --data FOLDER trains its network.")
    with path.open("rb") as file, np.load(file) as arrays:
        scale = arrays.get("features_scale")
        validation, test = (
            Samples(
                arrays[f"{part}_logits"].astype(np.float32),
                arrays[f"{part}_labels"].astype(np.int64),
                None if scale is None else arrays[f"{part}_features"] * scale,
            )
            for part in ("val", "test")
        )
    return validation, test


def keep(
    path: Path,
    logits: NDArray[np.float32],
    labels: NDArray[np.int64],
    features: NDArray[np.float32] | None = None,
    validation_samples: int = VALIDATION_SAMPLES,
) -> None:
    """Write the scores of all test images, divided into validation and test samples."""
    arrays: dict[str, Any] = {}
    validation, test = draw_samples(len(labels))
    for part, indices in (("val", validation[:validation_samples]), ("test", test)):
        arrays[f"{part}_logits"] = logits[indices].astype(np.float16)
        arrays[f"{part}_labels"] = labels[indices].astype(np.uint8)
        if features is not None:
            scale = np.maximum(features.max(axis=0), np.float32(1e-6)) / np.float32(255)
            arrays[f"{part}_features"] = np.rint(features[indices] / scale).astype(np.uint8)
            arrays["features_scale"] = scale
    with write_atomically(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)


def draw_samples(images: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The indices of the test images that are validation samples, and of those that are test samples."""
    order = np.random.default_rng(0).permutation(images)
    return order[:VALIDATION_SAMPLES], order[VALIDATION_SAMPLES:]


# ---- networks --------------------------------------------------------------------------------------------------------


def train_missing(
    networks: Mapping[str, CifarRecipe], cifar: Cifar, kept: Path = SCORES_FOLDER, build: Path = CHECKPOINTS_FOLDER
) -> None:
    """Train the networks whose scores are not kept yet, one after the other, and keep their scores."""
    for name, recipe in networks.items():
        if not all(path.is_file() for path in wanted_files(name, recipe, kept)):
            import_torch()
            _train_and_keep(name, recipe, cifar, kept, build)


def wanted_files(name: str, recipe: CifarRecipe, kept: Path) -> list[Path]:
    """The files that a network's scores are kept in."""
    ends = [kept_path(name, kept, epochs=epochs) for epochs in recipe.checkpoints] or [kept_path(name, kept)]
    return ends + [kept_path(name, kept, shift=shift) for shift in SHIFTS if name in SHIFTED]


def _train_and_keep(name: str, recipe: CifarRecipe, cifar: Cifar, kept: Path, build: Path) -> None:
    from experiments.networks import cifar_training

    data = cifar.images(recipe.data)
    used = slice(recipe.samples or None)
    network = cifar_training.train(
        recipe,
        data.train_images[used],
        data.train_labels[used],
        build / f"{name}-{recipe.digest}.pt",
        partial(_keep_checkpoint, name, data, kept),
        partial(_report, name, recipe),
    )
    if recipe.checkpoints:
        return
    features, logits = _outputs(network, data.test_images)
    keep(kept_path(name, kept), logits, data.test_labels, features if name in NETWORKS else None)
    for shift in SHIFTS if name in SHIFTED else ():
        shifted = corrupted(data.test_images, shift, AMOUNTS["cifar10"][shift][STRENGTH - 1])
        _, logits = _outputs(network, shifted)
        path = kept_path(name, kept, shift=shift)
        keep(path, logits, data.test_labels, validation_samples=SHIFTED_VALIDATION_SAMPLES)


def _keep_checkpoint(name: str, data: ImageData, kept: Path, network: nn.Sequential, epochs: float) -> None:
    _, logits = _outputs(network, data.test_images)
    keep(kept_path(name, kept, epochs=epochs), logits, data.test_labels)


def _outputs(network: nn.Sequential, images: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    from experiments.networks import models

    return models.hidden_and_logits(network, images)


def _report(name: str, recipe: CifarRecipe, done: int) -> None:
    print(f"{name}: epoch {done} of {recipe.epochs}", flush=True)
