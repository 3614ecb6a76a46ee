"""The pickled batches in which CIFAR-10 and CIFAR-100 are published ("python version").

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

SHAPE = (3, 32, 32)
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


class BatchFormat(NamedTuple):
    """What a data set's batches hold."""

    name: str  # of the data set
    archive: str  # the file that it is published as
    labels: dict[bytes, int]  # the lists of labels in a batch, and how many classes each has

    @property
    def where_to_get_it(self) -> str:
        return f"get {self.archive} again (https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it there."


class Batch(NamedTuple):
    """Images as N x 3 x 32 x 32 values in [0, 1], float32; and the lists of labels, in the order of the format."""

    images: NDArray[np.float32]
    labels: list[NDArray[np.int64]]


def data_folder(folder: Path | None) -> Path:
    """The folder that was given; if None, the one that ``AFTERMAX_DATA`` names, or else ./data."""
    return folder or Path(os.environ.get("AFTERMAX_DATA") or "data")


def read_batch(path: Path, form: BatchFormat, samples: int) -> Batch:
    """Images and labels from one file, which must have so many samples."""
    if not path.is_file():
        raise FileNotFoundError(f"{form.name} is not whole: {path} is missing; {form.where_to_get_it}")
    try:
        with path.open("rb") as file:
            content = BatchUnpickler(file, encoding="bytes").load()
        pixels = _checked_images(content[b"data"], form, samples)
        labels = [_checked_labels(content[name], classes, samples) for name, classes in form.labels.items()]
    except DAMAGE as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise ValueError(f"{path} is damaged or no batch of {form.name} ({reason}): {form.where_to_get_it}") from error
    return Batch((pixels.reshape(-1, *SHAPE) / np.float32(255)).astype(np.float32, copy=False), labels)


def _checked_images(images: Any, form: BatchFormat, samples: int) -> NDArray[np.uint8]:
    wanted = (samples, int(np.prod(SHAPE)))
    if not isinstance(images, _Array):
        raise ValueError(f"its images are {type(images).__name__}, not an array")
    if images.array.shape != wanted:
        raise ValueError(f"its images have shape {images.array.shape} where {form.name} has {wanted}")
    return images.array


def _checked_labels(labels: Any, classes: int, samples: int) -> NDArray[np.int64]:
    if not isinstance(labels, list) or len(labels) != samples or any(type(label) is not int for label in labels):
        raise ValueError(f"its labels are no list of {samples:,} whole numbers")
    if min(labels) < 0 or max(labels) >= classes:
        raise ValueError(f"its labels run from {min(labels)} to {max(labels)}, not from 0 to {classes - 1}")
    return np.array(labels, dtype=np.int64)


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
