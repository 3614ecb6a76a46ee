"""Logits that are many: kept in the precision in which they came, and computed with some samples at a time.

Float64 has twice the size of float32, and four times that of float16. So many logits are never converted as a whole,
and never copied: an array that is mapped from a file (``numpy.load(path, mmap_mode="r")``) stays there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.threads import over_ranges

# Logits are many if they have more columns than this, or are more than that (160 MB in float64).
MANY_CLASSES, MANY_LOGITS = 256, 20_000_000
HALF_EXPONENT = 0x7C00  # of a float16, as bits
LARGEST_VALUE = 1e100  # of logits, features and weights: sums of squares stay finite
VALUES_PER_CHUNK = 2**17  # 1 MB in float64, which stays in a core's cache


def are_many(shape: tuple[int, ...]) -> bool:
    """Whether logits of this shape are computed with in chunks, in the precision in which they came.

    Examples
    --------
    >>> from aftermax._utils.large import are_many
    >>> are_many((50_000, 100)), are_many((500, 1000)), are_many((3_000_000, 10))
    (False, True, True)
    """
    n_samples, n_columns = shape
    return n_columns > MANY_CLASSES or n_samples * n_columns > MANY_LOGITS


def are_usable(values: NDArray[Any]) -> bool:
    """Whether all values are finite, and not so large that computing with them overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.large import are_usable
    >>> [are_usable(np.array([0.0, value])) for value in (-5.0, 1e200, np.inf, np.nan)]
    [True, False, False, False]
    """
    if values.size == 0:
        return True
    if values.dtype == np.float16:  # numpy compares halves slowly; inf and NaN have all bits of the exponent set
        return int((values.view(np.uint16) & HALF_EXPONENT).max()) < HALF_EXPONENT
    return float(values.max()) <= LARGEST_VALUE and float(values.min()) >= -LARGEST_VALUE


def samples_per_chunk(n_columns: int, values: int | None = None) -> int:
    """How many samples have about so many values, by default those of a chunk."""
    return max(1, (values or VALUES_PER_CHUNK) // max(1, n_columns))


def chunks_of(logits: NDArray[Any], values: int | None = None) -> Iterator[slice]:
    """Some samples after the other, with about so many values at a time."""
    step = samples_per_chunk(logits.shape[1], values)
    for first in range(0, len(logits), step):
        yield slice(first, min(first + step, len(logits)))


def in_float64(some: NDArray[Any]) -> NDArray[np.float64]:
    """Some logits as the compiled loops need them: float64, contiguous, writeable; copied only if necessary."""
    return np.require(some, np.float64, ["C", "A", "W"])


def fill_from_chunks(
    out: NDArray[Any], logits: NDArray[Any], function: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """Fill ``out`` with what ``function`` makes of each chunk of the logits, in their own precision."""

    def work(first: int, last: int) -> None:
        out[first:last] = function(logits[first:last])

    over_ranges(work, len(out), samples_per_chunk(logits.shape[1]))
    return out


def column_sums(logits: NDArray[Any], function: Callable[[NDArray[Any]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of each column of what ``function`` makes of the chunks: a new array with as many rows and columns.

    Row after row is added, as numpy does within one array: the chunks make no difference, to the last bit. (Only of a
    single column does numpy sum parts first.)
    """
    n_samples, n_columns = logits.shape
    if n_columns == 1 or n_samples <= samples_per_chunk(n_columns):
        return np.asarray(function(logits).sum(axis=0))
    total = np.zeros(n_columns)
    for chunk in chunks_of(logits):
        values = function(logits[chunk])
        values[0] += total
        total = values.sum(axis=0)
    return total


def as_floats(logits: NDArray[Any]) -> NDArray[Any]:
    """The logits in float16, float32 or float64: as they are, or in the smallest of these that holds small integers.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.large import as_floats
    >>> [str(as_floats(np.zeros((2, 2), dtype)).dtype) for dtype in (np.float16, np.int8, np.int16, np.int64)]
    ['float16', 'float16', 'float32', 'float64']
    """
    dtype = np.result_type(logits.dtype, np.float16)
    return logits if dtype == logits.dtype and dtype.itemsize <= 8 else logits.astype(min(dtype, np.dtype(np.float64)))


def two_largest(logits: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest and the second largest logit of each sample; the same, if two share the largest."""

    def of_chunk(some: NDArray[Any]) -> NDArray[np.float64]:
        values, rows = np.array(some, dtype=np.float64), np.arange(len(some))
        top = values.argmax(axis=1)
        largest = values[rows, top]
        values[rows, top] = -np.inf
        return np.stack([largest, values.max(axis=1)], axis=1)

    largest, second = fill_from_chunks(np.empty((len(logits), 2)), logits, of_chunk).T
    return largest, second


def predicted_columns(logits: NDArray[Any]) -> NDArray[np.int64]:
    """The column of each sample's largest logit, the first of equals."""
    out = np.empty(len(logits), dtype=np.int64)
    # numpy compares numbers in float16 one by one: to convert them first takes less time.
    dtype = np.result_type(logits.dtype, np.float32)
    return fill_from_chunks(out, logits, lambda some: np.asarray(some, dtype).argmax(axis=1))
