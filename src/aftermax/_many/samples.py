"""Labelled samples of many classes: the logits stay where they are, and are read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.largest_scores import LargestScores, largest_scores, most_compared
from aftermax._residual.samples import INNER_FOLDS, INNER_SALT, Samples
from aftermax._utils.folds import Keys, keyed_folds

LOGITS_AT_ONCE = 4_000_000


class ManySamples(NamedTuple):
    """As :class:`~aftermax._residual.samples.Samples`, of which only the few largest scores are in memory.

    ``logits`` are all that were passed, in whatever precision, perhaps in a file; sample i is in row ``rows[i]``.
    """

    logits: NDArray[Any]
    rows: NDArray[np.intp]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    features: NDArray[np.float64] | None
    keys: Keys
    largest: LargestScores

    @classmethod
    def of(cls, samples: Samples, rows: NDArray[np.intp]) -> ManySamples:
        """Some samples, in this order, with weights that have mean 1."""
        weights = samples.weights[rows]
        features = None if samples.features is None else samples.features[rows]
        largest = largest_scores(samples.logits, rows, most_compared(len(rows)))
        return cls(
            samples.logits, rows, samples.codes[rows], weights / weights.mean(), features, samples.keys[rows], largest
        )

    @property
    def n_classes(self) -> int:
        """The number of columns."""
        return int(self.logits.shape[1])

    def take(self, which: NDArray[np.intp]) -> ManySamples:
        """Some of the samples, with weights that have mean 1 again."""
        weights = self.weights[which]
        features = None if self.features is None else self.features[which]
        return ManySamples(
            self.logits,
            self.rows[which],
            self.codes[which],
            weights / weights.mean(),
            features,
            self.keys[which],
            self.largest.take(which),
        )

    def every(self, most_logits: int) -> ManySamples:
        """Every k-th sample, so that there are about so many logits or fewer."""
        return self.take(np.arange(0, len(self.codes), -(-len(self.codes) * self.n_classes // most_logits)))

    def in_memory(self) -> Samples:
        """With the logits of these samples read, in double precision."""
        return Samples(self.read(slice(None)), self.codes, self.weights, self.features, self.keys)

    def read(self, which: slice) -> NDArray[np.float64]:
        """The logits of some of the samples."""
        return np.asarray(self.logits[self.rows[which]], dtype=np.float64)

    def chunks(self) -> Iterator[slice]:
        """Some samples at a time."""
        step = max(1, LOGITS_AT_ONCE // self.n_classes)
        for first in range(0, len(self.codes), step):
            yield slice(first, min(first + step, len(self.codes)))

    def inner_folds(self) -> NDArray[np.int64]:
        """The fold of each sample, for out-of-fold scores within a fit."""
        return keyed_folds(self.keys, INNER_FOLDS, INNER_SALT)

    def label_counts(self) -> NDArray[np.int64]:
        """How many labelled samples each class has."""
        return np.bincount(self.codes, minlength=self.n_classes)
