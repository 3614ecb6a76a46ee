"""Networks on flattened MNIST, trained on few and on many samples: the paper's main experiment.

Each network has its own random draws: training rows from MNIST's training set; validation and test rows, disjoint,
from its test set. What it says about them is kept, so that an interrupted run goes on where it stopped.
"""

import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax.experiments.datasets import MNIST

SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
NETWORKS = 9
ROWS = 4_000


class Scores(NamedTuple):
    """A network's logits on its validation and test rows, and their labels."""

    val_logits: NDArray[np.float32]
    val_labels: NDArray[np.int64]
    test_logits: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def network_scores(mnist: MNIST, size: int, number: int, kept: Path) -> Scores:
    """Scores of network ``number`` trained on ``size`` samples, trained now or found in the folder ``kept``."""
    path = kept / f"vmnist-{size}-{number}.npz"
    if not path.is_file():
        scores = _train(mnist, size, number)
        kept.mkdir(parents=True, exist_ok=True)
        half_written = path.with_suffix(".partial")
        with half_written.open("wb") as file:
            np.savez(file, **scores._asdict())
        os.replace(half_written, path)
    return load_scores(path)


def load_scores(path: Path) -> Scores:
    """Scores from an .npz file with ``val_logits``, ``val_labels``, ``test_logits`` and ``test_labels``."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return Scores(*(arrays[name] for name in Scores._fields))
    except (EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged or no score file ({error}): remove it or make it anew.") from error


def _train(mnist: MNIST, size: int, number: int) -> Scores:
    try:
        import torch
    except ImportError as error:
        raise ImportError("Training networks needs PyTorch: pip install 'aftermax[experiments]'") from error
    from aftermax.experiments import models

    torch.set_num_threads(1)  # sums over several threads depend on how many there are
    seed = 1_000 * SIZES.index(size) + number
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    rows = rng.permutation(len(mnist.train_labels))[:size]
    network = models.dense_network(784, 10)
    models.train(network, mnist.train_images[rows], mnist.train_labels[rows])
    val, test = rng.permutation(len(mnist.test_labels))[: 2 * ROWS].reshape(2, ROWS)
    answers = models.logits(network, mnist.test_images)
    return Scores(answers[val], mnist.test_labels[val], answers[test], mnist.test_labels[test])
