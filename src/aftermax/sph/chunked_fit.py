"""SPH fitted over chunks of the samples: the same head as :func:`~aftermax.sph._fit.fit_sph`, to rounding.

Each step is a sum over all chunks: the response array (see :mod:`aftermax.sph.response_sums`), the counts by which
classes are trusted, and the pooled samples that the temperature is fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.adding import Summed, Sums
from aftermax._utils.folds import Keys, row_hashes
from aftermax._utils.large import two_largest
from aftermax._utils.softmax import softmax_certainty
from aftermax.sph._fit import (
    ENOUGH_SAMPLES_PER_CLASS,
    MAX_SAMPLES_FOR_TEMPERATURE,
    fit_sph,
    pooled_and_routes,
    trusted_by_counts,
)
from aftermax.sph._pooling import pooled_scores, pooling_weights
from aftermax.sph.fitted import POOLED, FittedSPH, rule_of
from aftermax.sph.hyperparameters import plain_hyperparameters
from aftermax.sph.pooled_temperature import fit_temperature
from aftermax.sph.response_sums import ClassSums, Window, response_array_of_sums

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule

Logits = NDArray[np.float64]
Codes = NDArray[np.int64]

MAX_KEYS = 10_000_000  # of pooled samples, in memory at a time; of more, a random part gives the temperature


def fit_sph_over_chunks(summed: Summed[Any], classes: NDArray[Any], hyperparameters: Mapping[str, Any]) -> FittedSPH:
    """Fit SPH on all chunks; ``summed`` gives the sum over them of any statistic that adds.

    With fewer than 200 samples for each class, all are brought together and fitted in memory: they are few.
    """
    given = plain_hyperparameters(hyperparameters)
    window = Window(given["window_low"], given["window_high"])
    sums: ClassSums = summed(partial(ClassSums.of, window))
    if sums.n_samples < ENOUGH_SAMPLES_PER_CLASS * len(classes):
        all_samples: Together = summed(Together)
        return fit_sph(all_samples.logits, all_samples.codes, classes, given)
    array = response_array_of_sums(summed, sums, window, given["center"], classes)
    separation = array.separation()
    weights = pooling_weights(separation, min_separation=given["min_separation"], weight_power=given["weight_power"])
    pooling = _Pooling(given["certainty"], rule_of(array, weights, given))
    counts: TrustCounts = summed(partial(TrustCounts.of, pooling))
    trusted = trusted_by_counts(counts.totals, counts.by_pooling, counts.by_softmax, given["min_gain"])
    n_pooled = int(counts.pooled[trusted].sum())
    temperature = _temperature(summed, pooling, trusted, n_pooled)
    return FittedSPH(array, separation, weights, trusted, given, temperature)


@dataclass(frozen=True, eq=False)
class Together:
    """Some samples; the sum is the samples of both."""

    logits: Logits
    codes: Codes

    def __add__(self, other: Together) -> Together:
        return Together(np.concatenate([self.logits, other.logits]), np.concatenate([self.codes, other.codes]))


# ---- trusted classes -------------------------------------------------------------------------------------------------


class _Uncertain(NamedTuple):
    """Samples below the gate, and pooling's prediction and route of each if every class were trusted."""

    logits: Logits
    codes: Codes
    pooled: Codes
    routes: Codes

    def take(self, which: NDArray[Any]) -> _Uncertain:
        """Some of them."""
        return _Uncertain(*(part[which] for part in self))


class _Pooling(NamedTuple):
    """The gate, and how samples below it are pooled."""

    gate: float
    rule: PoolingRule

    def of(self, logits: Logits, codes: Codes) -> _Uncertain:
        """The samples below the gate."""
        below = softmax_certainty(logits) < self.gate
        logits, codes = logits[below], codes[below]
        return _Uncertain(logits, codes, *pooled_and_routes(logits, self.gate, self.rule))


@dataclass(frozen=True, eq=False)
class TrustCounts(Sums):
    """Of the uncertain samples of each class: all, and those that pooling or softmax predict right.

    ``pooled`` counts by the class that pooling predicts.
    """

    totals: NDArray[np.int64]
    by_pooling: NDArray[np.int64]
    by_softmax: NDArray[np.int64]
    pooled: NDArray[np.int64]

    @classmethod
    def of(cls, pooling: _Pooling, logits: Logits, codes: Codes) -> Self:
        """Of some samples."""
        some = pooling.of(logits, codes)
        right = (some.codes[predicted == some.codes] for predicted in (some.pooled, some.logits.argmax(axis=1)))
        counted = (some.codes, *right, some.pooled[some.routes == POOLED])
        return cls(*(np.bincount(one, minlength=logits.shape[1]) for one in counted))


# ---- temperature -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PooledKeys:
    """Pooled samples in order of their content, by what that order goes by; equal ones are counted.

    It is the order of :func:`~aftermax._utils.folds.content_order`. ``content`` identifies a sample.
    """

    margins: NDArray[np.float64]
    hashes: Keys
    largest: NDArray[np.float64]
    content: Keys
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, pooling: _Pooling, trusted: NDArray[np.bool_], stride: int, logits: Logits, codes: Codes) -> Self:
        """Of some samples; with a stride, of a random part of them, by their hashes."""
        some = _kept(pooling, trusted, logits, codes)
        content = _content(some)
        part = content % np.uint64(stride) == 0
        some, content = some.take(part), content[part]
        largest, second = two_largest(some.logits)
        hashes = row_hashes(some.logits, some.codes.astype(np.uint64), relative_to=largest)
        return cls._counted(largest - second, hashes, largest, content, np.ones(len(content), dtype=np.int64))

    @classmethod
    def _counted(
        cls,
        margins: NDArray[np.float64],
        hashes: Keys,
        largest: NDArray[np.float64],
        content: Keys,
        counts: NDArray[np.int64],
    ) -> Self:
        order = np.lexsort([content, largest, hashes, margins])
        known = content[order]
        first = np.flatnonzero(np.concatenate([[True], known[1:] != known[:-1]])[: len(known)])
        times = np.add.reduceat(counts[order], first) if len(first) else counts[:0]
        some = order[first]
        return cls(margins[some], hashes[some], largest[some], known[first], times)

    def __add__(self, other: PooledKeys) -> PooledKeys:
        names = ("margins", "hashes", "largest", "content", "counts")
        return PooledKeys._counted(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in names))

    def every(self, most: int) -> tuple[Keys, NDArray[np.int64]]:
        """Every so many samples, so that there are at most ``most``: their content, and how often each is meant."""
        ends = np.cumsum(self.counts)
        n_samples = int(self.counts.sum())
        chosen = np.searchsorted(ends, np.arange(0, n_samples, max(1, -(-n_samples // most))), side="right")
        which, times = np.unique(chosen, return_counts=True)
        return self.content[which], times


@dataclass(frozen=True, eq=False)
class _Found:
    """One sample for each content that was asked for."""

    content: Keys
    samples: _Uncertain

    @classmethod
    def of(cls, pooling: _Pooling, trusted: NDArray[np.bool_], wanted: Keys, logits: Logits, codes: Codes) -> _Found:
        some = _kept(pooling, trusted, logits, codes)
        content = _content(some)
        return cls._once(content, some, np.flatnonzero(np.isin(content, wanted)))

    @classmethod
    def _once(cls, content: Keys, samples: _Uncertain, which: NDArray[np.intp]) -> _Found:
        known, first = np.unique(content[which], return_index=True)
        return cls(known, samples.take(which[first]))

    def __add__(self, other: _Found) -> _Found:
        both = _Uncertain(*(np.concatenate(parts) for parts in zip(self.samples, other.samples, strict=True)))
        content = np.concatenate([self.content, other.content])
        return self._once(content, both, np.arange(len(content)))


def _temperature(summed: Summed[Any], pooling: _Pooling, trusted: NDArray[np.bool_], n_pooled: int) -> float:
    """The temperature of the pooled scores, by the same samples as in memory."""
    stride = max(1, -(-n_pooled // MAX_KEYS))
    keys: PooledKeys = summed(partial(PooledKeys.of, pooling, trusted, stride))
    wanted, times = keys.every(MAX_SAMPLES_FOR_TEMPERATURE)
    found: _Found = summed(partial(_Found.of, pooling, trusted, wanted))
    order = np.argsort(wanted)  # as found
    some = found.samples.take(np.repeat(np.argsort(order), times))
    return fit_temperature(pooled_scores(some.logits, pooling.rule), some.pooled, some.codes)


def _kept(pooling: _Pooling, trusted: NDArray[np.bool_], logits: Logits, codes: Codes) -> _Uncertain:
    """The samples whose pooled prediction is kept."""
    some = pooling.of(logits, codes)
    return some.take((some.routes == POOLED) & trusted[some.pooled])


def _content(some: _Uncertain) -> Keys:
    return row_hashes(some.logits, some.codes.astype(np.uint64))
