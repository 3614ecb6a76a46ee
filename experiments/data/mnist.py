"""MNIST, from its files in the IDX format or from OpenML."""

from __future__ import annotations

import gzip
import hashlib
import os
import struct
import sys
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Part(NamedTuple):
    """One of MNIST's four files: its name, the shape of its array and the SHA-256 of that array's bytes."""

    file: str
    shape: tuple[int, ...]
    checksum: str


MNIST_PARTS = {
    "train_images": Part(
        "train-images-idx3-ubyte",
        (60_000, 28, 28),
        "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
    ),
    "train_labels": Part(
        "train-labels-idx1-ubyte",
        (60_000,),
        "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
    ),
    "test_images": Part(
        "t10k-images-idx3-ubyte",
        (10_000, 28, 28),
        "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
    ),
    "test_labels": Part(
        "t10k-labels-idx1-ubyte",
        (10_000,),
        "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
    ),
}
WHERE_TO_GET_IT = (
    "Put the four original IDX files (train-images-idx3-ubyte.gz and so on; many mirrors have them, for example "
    "https://storage.googleapis.com/cvdf-datasets/mnist/) into a folder, and name it with --data or AFTERMAX_DATA."
)


class MNIST(NamedTuple):
    """Images as N x 784 values in [0, 1], float32; labels 0 to 9."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load_mnist(folder: Path | None = None) -> MNIST:
    """MNIST, from its four IDX files or from OpenML; in either case it is checked to be MNIST.

    Parameters
    ----------
    folder : Path, default=None
        Where the files are, there or in its subfolder ``mnist``, gzipped or not. If None, the folder that
        ``AFTERMAX_DATA`` names; if there is no such variable, ./data; and if that has no MNIST, it is fetched from
        OpenML, which scikit-learn keeps for the next time (in ~/scikit_learn_data).
    """
    named = folder or (Path(os.environ["AFTERMAX_DATA"]) if os.environ.get("AFTERMAX_DATA") else None)
    place = named or Path("data")
    found = {name: _find(place, part.file) for name, part in MNIST_PARTS.items()}
    arrays = _from_files(place, found) if named or any(found.values()) else _from_openml()
    return MNIST(
        _flattened(arrays["train_images"]),
        arrays["train_labels"].astype(np.int64),
        _flattened(arrays["test_images"]),
        arrays["test_labels"].astype(np.int64),
    )


def _find(folder: Path, name: str) -> Path | None:
    places = [folder / f"{name}.gz", folder / name, folder / "mnist" / f"{name}.gz", folder / "mnist" / name]
    return next((place for place in places if place.is_file()), None)


def _from_files(folder: Path, found: dict[str, Path | None]) -> dict[str, NDArray[np.uint8]]:
    arrays = {}
    for name, part in MNIST_PARTS.items():
        path = found[name]
        if path is None:
            raise FileNotFoundError(
                f"MNIST is not in {folder}: no file {part.file}[.gz] there or in {folder / 'mnist'}. {WHERE_TO_GET_IT}"
            )
        arrays[name] = _checked(read_idx(path), part, str(path))
    return arrays


def _from_openml() -> dict[str, NDArray[np.uint8]]:
    from sklearn.datasets import fetch_openml

    print(
        "There is no MNIST in ./data: taking it from openml.org, which scikit-learn fetches once ...", file=sys.stderr
    )
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of every attempt that fails
            pixels, labels = fetch_openml(
                "mnist_784",
                version=1,
                as_frame=False,
                return_X_y=True,
                parser="pandas",
                read_csv_kwargs={
                    "dtype": "uint8"
                },  # scikit-learn cannot use the labels as pandas 3 reads them by default
            )
    except OSError as error:  # no network, or OpenML is down
        raise FileNotFoundError(
            f"There is no MNIST in ./data, and it could not be fetched from openml.org ({error}). {WHERE_TO_GET_IT}"
        ) from error
    images = np.asarray(pixels, dtype=np.uint8).reshape(-1, 28, 28)
    digits = np.asarray(labels, dtype=np.uint8)
    trained = MNIST_PARTS["train_labels"].shape[0]
    arrays = {
        "train_images": images[:trained],
        "train_labels": digits[:trained],
        "test_images": images[trained:],
        "test_labels": digits[trained:],
    }
    return {name: _checked(array, MNIST_PARTS[name], "OpenML's mnist_784") for name, array in arrays.items()}


def _checked(array: NDArray[np.uint8], part: Part, origin: str) -> NDArray[np.uint8]:
    """The array, if it is the one that MNIST has."""
    if array.shape != part.shape:
        raise ValueError(f"{origin} holds an array of shape {array.shape} where MNIST has {part.shape}: get it again.")
    if hashlib.sha256(array.tobytes()).hexdigest() != part.checksum:
        raise ValueError(f"{origin} is not MNIST's: its checksum differs. Get it again.")
    return array


def _flattened(images: NDArray[np.uint8]) -> NDArray[np.float32]:
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
    except (EOFError, OSError, ValueError, struct.error, zlib.error) as error:
        raise ValueError(f"{path} is damaged or not an IDX file ({error}): get it again.") from error
