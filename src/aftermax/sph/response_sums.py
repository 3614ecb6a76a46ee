"""The response array from sums over chunks of the samples: all that it takes adds, in two passes over the samples.

The first pass has counts and means, the second, about these, the one-sided second moments. A median takes nine passes
more: eight digits of it, and the value next to it. Sums carry what rounding loses, so the result does not depend on the
chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.adding import ExactSums, Summed, Sums
from aftermax._utils.softmax import softmax_certainty
from aftermax.sph.response_array import SPREAD_FLOOR, ResponseArray

Logits = NDArray[np.float64]
Codes = NDArray[np.int64]
Values = NDArray[np.float64]

SIGN = np.uint64(1 << 63)
DIGITS_OF_KEY, BITS_OF_DIGIT = 8, 8


@dataclass(frozen=True)
class Window:
    """Which samples each class is fitted on: those with a certainty in it or, for some classes, all."""

    low: float
    high: float

    def holds(self, logits: Logits) -> NDArray[np.bool_]:
        """Whether each sample is inside."""
        certainty = softmax_certainty(logits)
        return np.asarray((self.low <= certainty) & (certainty <= self.high))

    def rows(self, logits: Logits, codes: Codes, whole: NDArray[np.bool_]) -> Codes:
        """The class of each sample, -1 for those that their class is not fitted on; ``whole`` classes use all."""
        return np.where(self.holds(logits) | whole[codes], codes, -1)


@dataclass(frozen=True, eq=False)
class ClassSums(Sums):
    """Of samples outside of the window [0] and inside [1], by class: their number, and the sums of their logits."""

    counts: NDArray[np.int64]  # (2, K)
    logits: ExactSums  # (2, K, K)

    @classmethod
    def of(cls, window: Window, logits: Logits, codes: Codes) -> Self:
        """Of some samples."""
        from aftermax.sph import _chunk_kernels

        n_classes = logits.shape[1]
        rows = codes + n_classes * window.holds(logits)
        total, error = np.zeros((2, 2 * n_classes, n_classes))
        _chunk_kernels.add_logits(logits, rows, total, error)
        counts = np.bincount(rows, minlength=2 * n_classes).reshape(2, n_classes)
        return cls(counts, ExactSums(total, error).reshaped((2, n_classes, n_classes)))

    @property
    def whole(self) -> NDArray[np.bool_]:
        """The classes that use all of their samples, as fewer than two are inside."""
        return np.asarray(self.counts[1] < 2)

    def used(self) -> tuple[NDArray[np.int64], ExactSums]:
        """The number of samples that each class is fitted on, and the sums of their logits."""
        both = self.logits[0] + self.logits[1]
        some, rows = self.logits[1], self.whole[:, None]
        chosen = ExactSums(np.where(rows, both.total, some.total), np.where(rows, both.error, some.error))
        return np.where(self.whole, self.counts.sum(axis=0), self.counts[1]), chosen

    def mean(self) -> Values:
        """The mean of each unit over all samples."""
        rows = self.logits.reshaped((-1, self.logits.total.shape[-1]))
        total = reduce(add, (rows[i : i + 1] for i in range(len(rows.total))))
        return np.asarray(_means(total, np.array([self.n_samples]))[0])

    @property
    def n_samples(self) -> int:
        """The number of all samples."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Squares(Sums):
    """Squared deviations below [0] and above [1] a center: their sums and numbers by class; sums over all samples."""

    squares: ExactSums  # (2, K, K), from the centers of the classes
    beside: NDArray[np.int64]  # (2, K, K)
    overall: ExactSums  # (2, 1, K), from the mean of all samples

    @classmethod
    def of(
        cls, window: Window, whole: NDArray[np.bool_], center: Values, mean: Values, logits: Logits, codes: Codes
    ) -> Self:
        """Of some samples."""
        squares, beside = _squares(logits, window.rows(logits, codes, whole), center)
        overall, _ = _squares(logits, np.zeros(len(codes), dtype=np.int64), mean[None])
        return cls(squares, beside, overall)


def response_array_of_sums(
    summed: Summed[Any], sums: ClassSums, window: Window, center: str, classes: NDArray[Any]
) -> ResponseArray:
    """As :func:`~aftermax.sph.response_array.fit_response_array` without weights, from all chunks."""
    counts, own = sums.used()
    middle = _medians(summed, window, sums.whole, counts) if center == "median" else _means(own, counts)
    found: Squares = summed(partial(Squares.of, window, sums.whole, middle, sums.mean()))
    beside = found.beside
    spreads = np.sqrt(np.divide(found.squares.values, beside, out=np.zeros(beside.shape), where=beside > 0))
    # A side without samples takes the other side's spread; with neither, both are zero.
    left, right = np.where(beside > 0, spreads, spreads[::-1])
    deviation = np.sqrt(found.overall.values.sum(axis=0)[0] / sums.n_samples)
    floor = np.where(deviation == 0, SPREAD_FLOOR, SPREAD_FLOOR * deviation)
    present = counts > 0
    if not np.isfinite([array[present] + floor for array in (middle, left, right)]).all():
        raise ValueError("logits are too large to average: clip them first, for example to [-1e4, 1e4].")
    left, right = (np.where(present[:, None], np.maximum(side, floor), np.nan) for side in (left, right))
    return ResponseArray(middle, left, right, counts, classes)


def _means(sums: ExactSums, counts: NDArray[np.int64]) -> Values:
    from aftermax.sph import _chunk_kernels

    return np.asarray(_chunk_kernels.means(sums.total, sums.error, counts))


def _squares(logits: Logits, rows: Codes, center: Values) -> tuple[ExactSums, NDArray[np.int64]]:
    from aftermax.sph import _chunk_kernels

    total, error = np.zeros((2, 2, *center.shape))
    counts = np.zeros((2, *center.shape), dtype=np.int64)
    _chunk_kernels.add_squares(logits, rows, center, total, error, counts)
    return ExactSums(total, error), counts


# ---- medians ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Beside:
    """How many logits are up to a value, and the least one above; inf if there is none."""

    up_to: NDArray[np.int64]
    above: Values

    def __add__(self, other: Beside) -> Beside:
        return Beside(self.up_to + other.up_to, np.minimum(self.above, other.above))


def _medians(summed: Summed[Any], window: Window, whole: NDArray[np.bool_], counts: NDArray[np.int64]) -> Values:
    """The exact median of each class and unit; NaN for a class without samples.

    A radix selection: as many logits are counted by their first digit, in an order-preserving code, as tells the first
    digit of the lower one of the two in the middle; then by the second digit, and so on.
    """
    n_classes = len(counts)
    known = np.zeros((n_classes, n_classes), dtype=np.uint64)
    rank = np.repeat(((counts - 1) // 2)[:, None], n_classes, axis=1)  # of the lower one, among those that begin so
    for shift in range((DIGITS_OF_KEY - 1) * BITS_OF_DIGIT, -1, -BITS_OF_DIGIT):
        below = summed(partial(_digits, window, whole, known, shift)).cumsum(axis=2)
        digit = np.minimum((below <= rank[:, :, None]).sum(axis=2), below.shape[2] - 1)
        before = np.take_along_axis(below, np.maximum(digit - 1, 0)[:, :, None], axis=2)[:, :, 0]
        rank -= np.where(digit > 0, before, 0)
        known = (known << np.uint64(BITS_OF_DIGIT)) | digit.astype(np.uint64)
    lower = _from_keys(known)
    found: Beside = summed(partial(_beside, window, whole, lower))
    upper = np.where(found.up_to > (counts // 2)[:, None], lower, found.above)
    return np.where(counts[:, None] > 0, 0.5 * (lower + upper), np.nan)


def _digits(
    window: Window, whole: NDArray[np.bool_], known: NDArray[np.uint64], shift: int, logits: Logits, codes: Codes
) -> NDArray[np.int64]:
    from aftermax.sph import _chunk_kernels

    counts = np.zeros((*known.shape, _chunk_kernels.DIGITS), dtype=np.int64)
    _chunk_kernels.count_digits(_keys(logits), window.rows(logits, codes, whole), known, shift, counts)
    return counts


def _beside(window: Window, whole: NDArray[np.bool_], values: Values, logits: Logits, codes: Codes) -> Beside:
    from aftermax.sph import _chunk_kernels

    up_to, above = np.zeros(values.shape, dtype=np.int64), np.full(values.shape, np.inf)
    _chunk_kernels.next_above(logits, window.rows(logits, codes, whole), values, up_to, above)
    return Beside(up_to, above)


def _keys(logits: Logits) -> NDArray[np.uint64]:
    """Whole numbers in the order of the logits: of negative ones all bits are flipped, of others the sign."""
    bits = (logits + 0.0).view(np.uint64)  # minus zero is zero
    return np.asarray(np.where(bits & SIGN, ~bits, bits | SIGN))


def _from_keys(keys: NDArray[np.uint64]) -> Values:
    return np.asarray(np.where(keys & SIGN, keys ^ SIGN, ~keys)).view(np.float64)
