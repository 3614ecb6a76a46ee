"""A trial: the labelled samples that a head may be fitted on, and the samples on which it is tested.

Those on shifted data are in ``shifted_data.py``, those on texts in ``text_trials.py``, those on letters in
``letters_trials.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from aftermax._utils.files import write_atomically
from aftermax.data import DAMAGE, load_scores
from experiments.data.mnist import MNIST
from experiments.networks import mnist_networks
from experiments.networks.recipes import MAIN
from experiments.networks.samples import Samples

SCORES_FOLDER = Path("build/money")  # where the networks' scores and hidden layers are kept
VALIDATION_SAMPLES = (4_000, 400)
NETWORKS = 3
FEWER_SAMPLES = (100, 500, 2_000)  # of score files with features, besides all validation samples


@dataclass(frozen=True)
class Trial:
    """A network, a number of labelled samples, and the data set that the samples are from."""

    family: str  # "vmnist", "letters", "text", "shift-mnist", "shift-cifar10" or "files"
    name: str  # within its family: what the network was trained on, a shift and its strength, or a file
    network: int
    samples: int  # to fit on: the first so many validation samples
    load: Callable[[], tuple[Samples, Samples]]  # all validation samples and the test samples

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.family, self.name, self.network, self.samples

    def split(self) -> tuple[Samples, Samples]:
        """The samples to fit on, and the test samples."""
        validation, test = self.load()
        return validation.first(self.samples), test


def vmnist_trials(mnist: MNIST, kept: Path = SCORES_FOLDER, quick: bool = False) -> list[Trial]:
    """Networks of every size, with many and with few labelled samples; the many first, as they take longer."""
    everything = mnist_networks.SIZES, NETWORKS, VALIDATION_SAMPLES
    sizes, numbers, counts = (mnist_networks.QUICK_SIZES, 1, VALIDATION_SAMPLES[1:]) if quick else everything
    return [
        Trial("vmnist", str(size), number, count, partial(network_samples, mnist, size, number, kept))
        for count in counts
        for size in sizes
        for number in range(numbers)
    ]


def network_samples(mnist: MNIST, size: int, number: int, kept: Path) -> tuple[Samples, Samples]:
    """A network's scores and last hidden layer, from the folder ``kept`` or trained now."""
    path = mnist_networks.kept_path(size, number, MAIN, kept)
    if not path.is_file():
        from experiments.networks import models

        network = mnist_networks.train_network(mnist, size, number, MAIN)
        draws = mnist_networks.draw_samples(mnist, size, number)
        scores = mnist_networks.scores_of(network, mnist, draws)
        hidden = models.logits(network[:-1], mnist.test_images)
        validation, test = Samples(*scores[:2], hidden[draws.validation]), Samples(*scores[2:], hidden[draws.test])
        keep_samples(path, validation, test)
    return load_samples(path)


def keep_samples(path: Path, validation: Samples, test: Samples) -> None:
    """Write a score file with features, whole or not at all."""
    arrays: dict[str, Any] = {}
    for part, samples in (("val", validation), ("test", test)):
        arrays |= {f"{part}_logits": samples.logits, f"{part}_labels": samples.labels}
        arrays[f"{part}_features"] = np.asarray(samples.features).astype(np.float16)
    with write_atomically(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)


def file_trials(folder: Path) -> list[Trial]:
    """Every score file of a folder, with all its validation samples; those with features also with fewer."""
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no score files (*.npz).")
    trials = []
    for path in paths:
        validation, _ = load_samples(path)
        everything = len(validation.labels)
        fewer = [] if validation.features is None else [count for count in FEWER_SAMPLES if count < everything]
        trials += [Trial("files", path.stem, 0, count, partial(load_samples, path)) for count in (*fewer, everything)]
    return trials


def load_samples(path: Path) -> tuple[Samples, Samples]:
    """The validation and test samples of a score file, with ``val_features`` and ``test_features`` if it has them."""
    scores = load_scores(path)
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            features = [
                arrays[name].astype(np.float32) if name in arrays else None
                for name in ("val_features", "test_features")
            ]
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged or no score file ({error}): remove it or make it again.") from error
    return Samples(scores.val_logits, scores.val_labels, features[0]), Samples(*scores[2:], features[1])
