"""Predictions chunk by chunk, on all cores, with the same result for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.threads import one_blas_thread, over_ranges
from aftermax._utils.validation import compute_ready

CHUNK = 1_024  # samples
LOGITS_PER_CHUNK, LEAST = 2**20, 32  # with many classes there are fewer samples in a chunk, but so many at least


def fill_by_chunks(
    out: NDArray[Any],
    inputs: Any,
    function: Callable[[list[NDArray[np.float64]]], NDArray[Any]],
    chunk: int = CHUNK,
) -> NDArray[Any]:
    """Fill ``out`` with what ``function`` makes of each chunk of the inputs, which it gets as finite float64.

    Chunks have ``chunk`` samples or, with many classes, as many as memory should be taken for.
    """
    if inputs[0].shape[1] > MANY_CLASSES:
        chunk = min(chunk, max(LEAST, LOGITS_PER_CHUNK // inputs[0].shape[1]))

    def work(first: int, last: int) -> None:
        logits = compute_ready(inputs[0][first:last], first)
        features = [np.asarray(values[first:last], dtype=np.float64) for values in inputs[1:]]
        out[first:last] = function([logits, *features])

    with one_blas_thread():
        over_ranges(work, len(out), chunk)
    return out
