"""Data sets for the experiments, from files in their usual formats."""

import gzip
import os
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MNIST_FILES = {
    "train_images": ("train-images-idx3-ubyte", (60_000, 28, 28)),
    "train_labels": ("train-labels-idx1-ubyte", (60_000,)),
    "test_images": ("t10k-images-idx3-ubyte", (10_000, 28, 28)),
    "test_labels": ("t10k-labels-idx1-ubyte", (10_000,)),
}


class MNIST(NamedTuple):
    """Images as rows of 784 values in [0, 1], float32; labels 0 to 9."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def data_folder(given: Path | None = None) -> Path:
    """Where data sets are: the folder given, or else the one that ``AFTERMAX_DATA`` names, or else ./data."""
    return given or Path(os.environ.get("AFTERMAX_DATA", "data"))


def load_mnist(folder: Path) -> MNIST:
    """MNIST from its four IDX files, gzipped or not, in ``folder`` or in ``folder/mnist``."""
    arrays = {}
    for part, (name, shape) in MNIST_FILES.items():
        places = [folder / f"{name}.gz", folder / name, folder / "mnist" / f"{name}.gz", folder / "mnist" / name]
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise FileNotFoundError(
                f"MNIST is not in {folder}: no file {name}[.gz] there or in {folder / 'mnist'}. Put the four original "
                "IDX files there (many mirrors have them, for example storage.googleapis.com/cvdf-datasets/mnist), and "
                "name the folder with --data or AFTERMAX_DATA."
            )
        array = read_idx(found)
        if array.shape != shape:
            raise ValueError(f"{found} holds an array of shape {array.shape} where MNIST has {shape}: get it anew.")
        arrays[part] = array
    return MNIST(
        _as_rows(arrays["train_images"]),
        arrays["train_labels"].astype(np.int64),
        _as_rows(arrays["test_images"]),
        arrays["test_labels"].astype(np.int64),
    )


def _as_rows(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    return (images.reshape(len(images), -1) / 255).astype(np.float32)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """An array of bytes from a file in the IDX format, gzipped or not."""
    content = path.read_bytes()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        zero, kind, dimensions = struct.unpack_from(">HBB", content)
        shape = struct.unpack_from(f">{dimensions}I", content, 4)
        if zero != 0 or kind != 8:
            raise ValueError("not an IDX file of bytes")
        return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    except (EOFError, OSError, ValueError, struct.error) as error:
        raise ValueError(f"{path} is damaged or not an IDX file ({error}): get it anew.") from error
