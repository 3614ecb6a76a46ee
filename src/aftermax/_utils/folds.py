"""Cross-validation folds, and an order of the samples that does not depend on the order they came in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stratified_folds(codes: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each row: every class is dealt out in turn, starting where the class before ended."""
    shuffled = rng.permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    out = np.empty(len(codes), dtype=np.int64)
    out[by_class] = np.arange(len(codes)) % folds
    return out


def content_order(logits: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """An order of the rows that depends on what they hold, and not on the order they came in.

    They are sorted by the lead of the largest logit, which neither a constant added to all logits nor another order of
    the classes changes; rows with the same lead by a mix of their values, relative to the largest, and by that.
    """
    second, largest = np.partition(logits, -2, axis=1)[:, -2:].T
    mixed = codes.astype(np.uint64)
    columns = np.ascontiguousarray(logits.T) - largest
    for bits in columns.view(np.uint64):
        mixed = (mixed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.lexsort((largest, mixed, largest - second))
