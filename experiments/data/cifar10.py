"""CIFAR-10, from the pickled batches that its authors publish ("CIFAR-10 python version")."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data.cifar_batches import BatchFormat, data_folder, read_batch

FOLDER = "cifar-10-batches-py"
TRAIN_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_BATCH = "test_batch"
BATCH_SIZE = 10_000
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FORMAT = BatchFormat("CIFAR-10", "cifar-10-python.tar.gz", {b"labels": len(CLASSES)})


class CIFAR10(NamedTuple):
    """Images as N x 3 x 32 x 32 values in [0, 1], float32; labels 0 to 9."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load_cifar10(folder: Path | None = None) -> CIFAR10 | None:
    """CIFAR-10, or None where it is not; a damaged file is an error.

    Parameters
    ----------
    folder : Path, default=None
        Where its folder ``cifar-10-batches-py`` is. If None, the folder that ``AFTERMAX_DATA`` names; if there is no
        such variable, ./data.
    """
    batches = data_folder(folder) / FOLDER
    if not batches.is_dir():
        return None
    train = [read_batch(batches / name, FORMAT, BATCH_SIZE) for name in TRAIN_BATCHES]
    test = read_batch(batches / TEST_BATCH, FORMAT, BATCH_SIZE)
    return CIFAR10(
        np.concatenate([batch.images for batch in train]),
        np.concatenate([batch.labels[0] for batch in train]),
        test.images,
        test.labels[0],
    )
