"""CIFAR-100, from the pickled files that its authors publish ("CIFAR-100 python version").

Its 100 fine classes belong to 20 coarse ones, five to each. With the coarse labels it is called CIFAR-20.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data.cifar_batches import BatchFormat, data_folder, read_batch

FOLDER = "cifar-100-python"
TRAIN_FILE, TEST_FILE = "train", "test"
TRAIN_SIZE, TEST_SIZE = 50_000, 10_000
FINE, COARSE = 100, 20  # classes
FORMAT = BatchFormat("CIFAR-100", "cifar-100-python.tar.gz", {b"fine_labels": FINE, b"coarse_labels": COARSE})


class CIFAR100(NamedTuple):
    """Images as N x 3 x 32 x 32 values in [0, 1], float32; fine labels 0 to 99, coarse labels 0 to 19."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    train_coarse_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]
    test_coarse_labels: NDArray[np.int64]


def load_cifar100(folder: Path | None = None) -> CIFAR100 | None:
    """CIFAR-100, or None where it is not; a damaged file is an error.

    Parameters
    ----------
    folder : Path, default=None
        Where its folder ``cifar-100-python`` is. If None, the folder that ``AFTERMAX_DATA`` names; if there is no such
        variable, ./data.
    """
    files = data_folder(folder) / FOLDER
    if not files.is_dir():
        return None
    train, test = read_batch(files / TRAIN_FILE, FORMAT, TRAIN_SIZE), read_batch(files / TEST_FILE, FORMAT, TEST_SIZE)
    (train_fine, train_coarse), (test_fine, test_coarse) = train.labels, test.labels
    return CIFAR100(train.images, train_fine, train_coarse, test.images, test_fine, test_coarse)
