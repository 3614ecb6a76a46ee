"""Dask arrays as users pass them: checked for their shapes, aligned, and their chunks as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from dask.array import Array
except ImportError as error:
    raise ImportError("dask arrays need dask: pip install 'aftermax[dask]'") from error

from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.labels import label_shape_error
from aftermax._utils.one_logit import two_columns
from aftermax._utils.validation import check_features_shape
from aftermax._utils.warned import warn


def aligned(logits: Any, labels: Any, features: Any) -> tuple[Array, Array, Array | None]:
    """The arrays with the same chunks of samples, and with one chunk of columns; labels without columns."""
    for name, value in {"logits": logits, "labels": labels, "features": features}.items():
        if value is not None or name != "features":
            _check_array(name, value)
    known = [_known(value) for value in (logits, _without_columns(labels), features) if value is not None]
    lengths = {name: len(value) for name, value in zip(("logits", "labels", "features"), known, strict=False)}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise ValueError(f"The arrays have different numbers of samples ({counted}): pass those of the same samples.")
    rows = _rows(known[0])
    first, second, *others = (_in_rows(value, rows) for value in known)
    return first, second, others[0] if others else None


def alone(logits: Any) -> Array:
    """Logits with no empty chunks of samples, and with one chunk of columns."""
    _check_array("logits", logits)
    known = _known(logits)
    return _in_rows(known, _rows(known))


def blocks_of(array: Array) -> list[Any]:
    """Each chunk of samples, delayed."""
    blocks: list[Any] = array.to_delayed().ravel().tolist()
    return blocks


def starts_of(array: Array) -> list[int]:
    """The number of the first sample of each chunk."""
    ends: list[int] = np.cumsum([0, *array.chunks[0]]).tolist()
    return ends[:-1]


# ---- whole arrays ----------------------------------------------------------------------------------------------------


def _check_array(name: str, value: Any) -> None:
    if not isinstance(value, Array):
        a_frame = hasattr(value, "to_dask_array")
        advice = "pass frame.to_dask_array(lengths=True)" if a_frame else "pass a dask array"
        raise TypeError(f"{name} are of type {type(value).__name__}: {advice}, or use what aftermax has in memory.")
    if name == "logits" and value.ndim not in (1, 2):
        raise ValueError(f"logits have shape {value.shape}: pass an array of shape (n_samples, n_classes).")
    if name == "labels" and value.ndim != 1 and value.shape[1:] != (1,):
        raise label_shape_error(value.shape)
    if name == "features":
        check_features_shape(value.shape)


def _without_columns(labels: Array) -> Array:
    """Labels of shape (n_samples,): of one column, with a warning, as in memory."""
    if labels.ndim == 1:
        return labels
    warn("labels are one column, of shape (n_samples, 1): pass labels[:, 0], a 1d array.", stacklevel=4)
    column: Array = labels[:, 0]
    return column


def _known(array: Array) -> Array:
    """The array with known lengths of its chunks."""
    if any(math.isnan(length) for length in array.chunks[0]):
        array = array.copy()
        array.compute_chunk_sizes()
    return array


def _rows(array: Array) -> tuple[int, ...]:
    """How many samples each chunk has, without empty ones."""
    rows = tuple(length for length in array.chunks[0] if length)
    if not rows:
        raise ValueError("logits have no samples: pass at least one.")
    return rows


def _in_rows(array: Array, rows: tuple[int, ...]) -> Array:
    """The array with chunks of so many samples, and of all columns."""
    divided: Array = array.rechunk({0: rows} | dict.fromkeys(range(1, array.ndim), -1))
    return divided


# ---- chunks ----------------------------------------------------------------------------------------------------------


@contextmanager
def in_chunk(what: str, first: int, n_samples: int) -> Iterator[None]:
    """Errors about a chunk as a whole, with the numbers of its samples."""
    try:
        yield
    except ValueError as error:
        last = first + n_samples - 1
        raise ValueError(f"In the chunk of {what} of samples {first:,} to {last:,}: {error}") from error


def plain(block: Any, what: str, first: int) -> NDArray[Any]:
    """A chunk as a plain array, whose first sample has this number in the whole array. Masked values are refused."""
    with in_chunk(what, first, len(block)):
        return np.asarray(as_plain(block, what))


def columns_of(block: NDArray[Any]) -> NDArray[Any]:
    """Logits with a column for each class."""
    return two_columns(block.reshape(len(block), -1))
