"""Labelled samples in dask arrays, checked in one pass, and sums over their chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    from dask.array import Array
    from dask.base import persist
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError("dask arrays need dask: pip install 'aftermax[dask]'") from error

from aftermax._heads.reference_sums import ReferenceSums
from aftermax._utils.labels import checked_labels, encode_labels, label_codes
from aftermax._utils.large import in_float64, predicted_columns
from aftermax._utils.misaligned_columns import warn_if_misaligned
from aftermax._utils.one_logit import SIGMOID_OUTPUTS, LogOddsRange
from aftermax._utils.threads import one_thread
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import (
    PROBABILITIES_WARNING,
    check_features,
    compute_ready,
    look_like_probabilities,
)
from aftermax._utils.warned import warn
from aftermax.bridges._dask_arrays import aligned, alone, blocks_of, columns_of, in_chunk, plain, starts_of

AT_ONCE = 8  # sums that are added in one task
MOST_COUNTED = 1_000_000  # samples, in counts that only warnings come from


class LabelledChunks:
    """Logits and labels of dask arrays, chunk by chunk, with labels as column numbers.

    The logits are read from where they are in each pass. Labels are read once: as column numbers, of one byte each with
    up to 256 classes, they stay in the memory of the workers.
    """

    def __init__(
        self, logits: Array, labels: Array, classes: ArrayLike | None = None, features: Array | None = None
    ) -> None:
        logits, labels, features = aligned(logits, labels, features)
        self.one_logit = logits.ndim == 1 or logits.shape[1] == 1
        self.n_samples = int(logits.shape[0])
        self.features_width = None if features is None else int(features.shape[1])
        self._logits, given = blocks_of(logits), blocks_of(labels)
        self._features = None if features is None else blocks_of(features)
        columns = [self._logits, given, *([] if self._features is None else [self._features])]
        looks = zip(starts_of(logits), *columns, strict=True)
        look: _Look = _added([delayed(_Look.of, pure=False)(*one) for one in looks])
        self.reference = look.scores.reference()
        self.classes = look.classes(classes, self.one_logit)
        dtype = np.min_scalar_type(len(self.classes) - 1)
        names = delayed(self.classes, traverse=False)
        self._codes = persist(*(delayed(_codes, pure=False)(one, names, dtype) for one in given))

    def summed(self, function: Callable[..., Any], *, features: bool = False) -> Any:
        """The sum over all chunks of a statistic of logits (float64) and column numbers and, if asked for, features.

        The function, with all that is bound to it, is sent to each worker once.
        """
        shared = delayed(function, traverse=False)
        columns = [self._logits, self._codes]
        if features and self._features is not None:
            columns.append(self._features)
        return _added([delayed(_of_chunk, pure=False)(shared, *chunk) for chunk in zip(*columns, strict=True)])


def reference_sums(logits: Array) -> ReferenceSums:
    """What is known of the scores of a dask array, without labels."""
    blocks = alone(logits)
    parts = zip(blocks_of(blocks), starts_of(blocks), strict=True)
    sums: ReferenceSums = _added([delayed(_scores, pure=False)(*one) for one in parts])
    return sums


# ---- tasks -----------------------------------------------------------------------------------------------------------


def _scores(logits: Any, first: int) -> ReferenceSums:
    with one_thread():
        return ReferenceSums.of(_usable_logits(logits, first))


def _usable_logits(block: Any, first: int) -> NDArray[np.float64]:
    return compute_ready(columns_of(plain(block, "logits", first)), first)


def _of_chunk(function: Callable[..., Any], logits: Any, codes: Any, *features: Any) -> Any:
    """The statistic of a chunk, which was checked in the first pass."""
    with one_thread():
        return function(in_float64(columns_of(np.asarray(logits))), codes.astype(np.int64), *map(np.asarray, features))


def _codes(labels: Any, names: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return label_codes(labels, len(labels), names).astype(dtype)


def _sum(parts: Sequence[Any]) -> Any:
    return reduce(add, parts)


def _added(parts: list[Any]) -> Any:
    """The sum of delayed statistics, a few at a time: always the same ones, so that rounding is the same."""
    while len(parts) > 1:
        parts = [delayed(_sum, pure=False)(parts[i : i + AT_ONCE]) for i in range(0, len(parts), AT_ONCE)]
    return parts[0].compute()


@dataclass(frozen=True, eq=False)
class _Look:
    """What is seen in the first pass, which checks all values: labels, what softmax predicts for each, the scores."""

    labels: NDArray[Any]
    predicted: NDArray[np.int64]  # label x column
    scores: ReferenceSums
    probabilities: bool
    log_odds: LogOddsRange | None

    @classmethod
    def of(cls, first: int, logits: Any, labels: Any, features: Any = None) -> _Look:
        with one_thread():
            values = _usable_logits(logits, first)
            with in_chunk("labels", first, len(values)):
                seen, inverse = np.unique(checked_labels(labels, len(values), first), return_inverse=True)
            if features is not None:
                check_features(plain(features, "features", first), first_row=first)
            n_classes = values.shape[1]
            cells = np.bincount(inverse * n_classes + predicted_columns(values), minlength=len(seen) * n_classes)
            both = look_like_probabilities(values), LogOddsRange.of(values)
            return cls(seen, cells.reshape(len(seen), n_classes), ReferenceSums.of(values), *both)

    def __add__(self, other: _Look) -> _Look:
        if (self.labels.dtype.kind in "US") != (other.labels.dtype.kind in "US"):
            raise ValueError("labels are text in some chunks and numbers in others: make them all of one kind.")
        labels = np.union1d(self.labels, other.labels)
        predicted = np.zeros((len(labels), self.predicted.shape[1]), dtype=np.int64)
        for part in (self, other):
            predicted[np.searchsorted(labels, part.labels)] += part.predicted
        log_odds = self.log_odds.joined(other.log_odds) if self.log_odds and other.log_odds else None
        both = self.probabilities and other.probabilities, log_odds
        return _Look(labels, predicted, self.scores + other.scores, *both)

    def classes(self, given: ArrayLike | None, one_logit: bool) -> NDArray[Any]:
        """The class of each column; warns of what the estimators warn of."""
        if self.log_odds is not None and self.log_odds.of_a_sigmoid:
            raise ValueError(SIGMOID_OUTPUTS)
        if self.probabilities:
            warn(PROBABILITIES_WARNING, stacklevel=4)
        shape = (len(self.labels), self.predicted.shape[1])
        names, rows = encode_labels(self.labels, shape, given, one_logit=one_logit)
        counts = self.predicted // max(1, -(-int(self.predicted.sum()) // MOST_COUNTED))
        row, column = (np.repeat(one.ravel(), counts.ravel()) for one in np.indices(counts.shape))
        if len(row) and not warn_if_misaligned(column, rows[row], names, stacklevel=5):
            warn_if_unpredicted(column, rows[row], names, stacklevel=5)
        return names
