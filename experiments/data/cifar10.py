"""CIFAR-10, from the pickled batches that its authors publish ("CIFAR-10 python version").

A pickle can run any code when it is read. This reader builds nothing but the arrays, lists and strings that the batches
consist of, and refuses a file that asks for more.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FOLDER = "cifar-10-batches-py"
TRAIN_BATCHES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_BATCH = "test_batch"
BATCH_SIZE = 10_000
SHAPE = (3, 32, 32)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
WHERE_TO_GET_IT = "get cifar-10-python.tar.gz again (https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it there."
# What reading a file that is cut, changed or something else may raise.
DAMAGE = (
    AttributeError,
    EOFError,
    ImportError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
)


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
    place = folder or Path(os.environ.get("AFTERMAX_DATA") or "data")
    batches = place / FOLDER
    if not batches.is_dir():
        return None
    train = [read_batch(batches / name) for name in TRAIN_BATCHES]
    test_images, test_labels = read_batch(batches / TEST_BATCH)
    return CIFAR10(
        np.concatenate([images for images, _ in train]),
        np.concatenate([labels for _, labels in train]),
        test_images,
        test_labels,
    )


def read_batch(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images and labels from one of the six files."""
    if not path.is_file():
        raise FileNotFoundError(f"CIFAR-10 is not whole: {path} is missing; {WHERE_TO_GET_IT}")
    try:
        with path.open("rb") as file:
            content = BatchUnpickler(file, encoding="bytes").load()
        pixels, labels = _checked(content[b"data"], content[b"labels"])
    except DAMAGE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is damaged or no batch of CIFAR-10 ({reason}): {WHERE_TO_GET_IT}") from error
    return (pixels.reshape(-1, *SHAPE) / np.float32(255)).astype(np.float32, copy=False), labels


def _checked(images: Any, labels: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """A batch's arrays, if they are what a batch of CIFAR-10 has."""
    wanted = (BATCH_SIZE, int(np.prod(SHAPE)))
    if not isinstance(images, _Array):
        raise ValueError(f"its images are {type(images).__name__}, not an array")
    if images.array.shape != wanted:
        raise ValueError(f"its images have shape {images.array.shape} where CIFAR-10 has {wanted}")
    if not isinstance(labels, list) or len(labels) != BATCH_SIZE or any(type(label) is not int for label in labels):
        raise ValueError(f"its labels are no list of {BATCH_SIZE:,} whole numbers")
    if min(labels) < 0 or max(labels) >= len(CLASSES):
        raise ValueError(f"its labels run from {min(labels)} to {max(labels)}, not from 0 to {len(CLASSES) - 1}")
    return images.array, np.array(labels, dtype=np.int64)


class BatchUnpickler(pickle.Unpickler):
    """Reads arrays of bytes, and what Python has built in; refuses all else before it could do anything.

    Not even numpy's own classes are at a file's disposal, since a damaged state can make them crash.
    """

    def find_class(self, module: str, name: str) -> Any:
        match module, name:
            case "numpy", "ndarray":
                return "ndarray"  # only ever handed on to what follows
            case (("numpy.core.multiarray" | "numpy._core.multiarray"), "_reconstruct"):  # before and since numpy 2
                return _Array
            case "numpy", "dtype":
                return _ByteType
            case "_codecs", "encode":  # how Python 3 writes bytes for Python 2
                return _latin1
        raise ValueError(f"it asks for {module}.{name}, which no such batch needs and which was not run")


class _Array:
    """Stands for an array until its content has been read."""

    def __init__(self, *_empty: object) -> None:
        self.array: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)

    def __setstate__(self, state: tuple[int, tuple[int, ...], _ByteType, bool, bytes]) -> None:
        _version, shape, kind, by_column, content = state
        if not isinstance(kind, _ByteType) or not isinstance(content, bytes):
            raise ValueError("it holds an array of something other than bytes")
        self.array = np.frombuffer(content, dtype=np.uint8).reshape(shape, order="F" if by_column else "C")


class _ByteType:
    """Stands for numpy's type of bytes."""

    def __init__(self, name: str | bytes, *_copied: object) -> None:
        if name not in ("u1", b"u1"):
            raise ValueError(f"it holds an array of type {name!r}, not of bytes")

    def __setstate__(self, state: object) -> None:
        """There is nothing more to know about bytes."""


def _latin1(text: str, _encoding: str) -> bytes:
    return text.encode("latin1")
