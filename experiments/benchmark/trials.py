"""A trial: the labelled rows that a head may be fitted on, and the rows on which it is judged; and which there are.

Those of worlds that have moved are in ``shift.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from aftermax.data import DAMAGE, load_scores
from experiments.networks import mnist_networks as networks
from experiments.data.mnist import MNIST
from experiments.networks.recipes import MAIN

KEPT = Path("build/money")  # where the networks' scores and hidden layers are kept
VALIDATION_ROWS = (4_000, 400)
NETWORKS = 3
SHIFTED_ROWS = (100, 500, 2_000)  # of score files with features, besides all rows


class Rows(NamedTuple):
    """What a network says about some rows, their labels, and its last hidden layer where that is known."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]
    features: NDArray[np.float32] | None = None

    def first(self, count: int) -> Rows:
        """The first rows only."""
        return Rows(self.logits[:count], self.labels[:count], None if self.features is None else self.features[:count])


@dataclass(frozen=True)
class Trial:
    """A network, a number of labelled rows, and the world that the rows are from."""

    family: str  # "vmnist", "shift-mnist", "shift-cifar10" or "files"
    name: str  # within its family: what the network was trained on, a shift and its strength, or a file
    network: int
    rows: int  # to fit on: the first so many validation rows
    load: Callable[[], tuple[Rows, Rows]]  # all validation rows and the test rows

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What tells it from all others."""
        return self.family, self.name, self.network, self.rows

    def split(self) -> tuple[Rows, Rows]:
        """The rows to fit on, and the test rows."""
        validation, test = self.load()
        return validation.first(self.rows), test


def vmnist_trials(mnist: MNIST, kept: Path = KEPT, quick: bool = False) -> list[Trial]:
    """Networks of every size, with many and with few labelled rows; the many first, as they take longer."""
    everything = networks.SIZES, NETWORKS, VALIDATION_ROWS
    sizes, numbers, counts = (networks.QUICK_SIZES, 1, VALIDATION_ROWS[1:]) if quick else everything
    return [
        Trial("vmnist", str(size), number, rows, partial(network_rows, mnist, size, number, kept))
        for rows in counts
        for size in sizes
        for number in range(numbers)
    ]


def network_rows(mnist: MNIST, size: int, number: int, kept: Path) -> tuple[Rows, Rows]:
    """A network's scores and last hidden layer, found in the folder ``kept`` or trained now."""
    path = networks.kept_path(size, number, MAIN, kept)
    if not path.is_file():
        from experiments.networks import models

        network = networks.train_network(mnist, size, number, MAIN)
        draws = networks.draw_rows(mnist, size, number)
        scores = networks.scores_of(network, mnist, draws)
        hidden = models.logits(network[:-1], mnist.test_images).astype(np.float16)
        features = {"val_features": hidden[draws.validation], "test_features": hidden[draws.test]}
        with write_atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez_compressed(file, **(scores._asdict() | features))
    return load_rows(path)


def file_trials(folder: Path) -> list[Trial]:
    """Every score file of a folder, with all its validation rows; those with features with fewer rows, too."""
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no score files (*.npz).")
    trials = []
    for path in paths:
        validation, _ = load_rows(path)
        everything = len(validation.labels)
        fewer = [] if validation.features is None else [rows for rows in SHIFTED_ROWS if rows < everything]
        trials += [Trial("files", path.stem, 0, rows, partial(load_rows, path)) for rows in (*fewer, everything)]
    return trials


def load_rows(path: Path) -> tuple[Rows, Rows]:
    """The validation and test rows of a score file, with ``val_features`` and ``test_features`` if it has them."""
    scores = load_scores(path)
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            features = [
                arrays[name].astype(np.float32) if name in arrays else None
                for name in ("val_features", "test_features")
            ]
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged or no score file ({error}): remove it or make it anew.") from error
    return Rows(scores.val_logits, scores.val_labels, features[0]), Rows(*scores[2:], features[1])
