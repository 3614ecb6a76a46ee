"""The reference of a head, and the samples to fit on, from statistics that add over chunks, days and machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.fingerprint import DISTINCT, MODULUS, MOST, Fingerprint, content_hashes, total_of
from aftermax._heads.reference import Reference, relative_logits
from aftermax._utils.adding import Sums
from aftermax._utils.folds import Keys
from aftermax._utils.large import predicted_columns
from aftermax._utils.softmax import softmax_certainty

SKETCHED = 4_096  # hashes, by which distinct samples are counted: exactly up to this number, then to within 2 %


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and summed squared deviations of values, column by column.

    They add without a loss of precision, whatever the means are (Chan, Golub and LeVeque, 1979).

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._heads.reference_sums import Moments
    >>> both = Moments.of(np.array([[1.0], [2.0]])) + Moments.of(np.array([[6.0]]))
    >>> both.mean, both.deviation
    (array([3.]), array([2.1602469]))
    """

    count: int
    mean: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """Of the rows of an array."""
        mean = values.mean(axis=0)
        return cls(len(values), mean, np.square(values - mean).sum(axis=0))

    def __add__(self, other: Moments) -> Moments:
        count, gap = self.count + other.count, other.mean - self.mean
        mean = self.mean + gap * (other.count / count)
        return Moments(count, mean, self.squares + other.squares + gap**2 * (self.count * other.count / count))

    @property
    def deviation(self) -> NDArray[np.float64]:
        """The standard deviation (ddof 0)."""
        return np.sqrt(self.squares / self.count)


@dataclass(frozen=True, eq=False)
class HashSketch:
    """The sum of the hashes of samples, and the smallest of them: the fingerprint of all, from those of parts."""

    n_samples: int
    total: int
    smallest: Keys  # distinct, ascending

    @classmethod
    def of(cls, logits: NDArray[Any]) -> Self:
        """Of some samples."""
        hashes = content_hashes(logits)
        return cls(len(hashes), total_of(hashes), np.unique(hashes)[:SKETCHED])

    def __add__(self, other: HashSketch) -> HashSketch:
        return HashSketch(
            self.n_samples + other.n_samples,
            (self.total + other.total) % MODULUS,
            np.union1d(self.smallest, other.smallest)[:SKETCHED],
        )

    @property
    def n_distinct(self) -> float:
        """How many of the samples are different: estimated from the largest of the smallest hashes, if there are many.

        See the reference of :class:`~aftermax._heads.fingerprint.Fingerprint`.
        """
        if len(self.smallest) < SKETCHED:
            return float(len(self.smallest))
        return (SKETCHED - 1) / (float(self.smallest[-1]) / MODULUS)

    def fingerprint(self) -> Fingerprint:
        """As of all samples at once."""
        kept = self.smallest[: MOST if self.n_distinct >= DISTINCT * self.n_samples else 0]
        return Fingerprint(self.n_samples, self.total, tuple(kept.tolist()))


@dataclass(frozen=True, eq=False)
class ReferenceSums(Sums):
    """What the reference of a head is made of. It adds: of parts of the samples, their sum is that of all."""

    predicted: NDArray[np.int64]  # how often softmax predicts each class
    certainty: Moments
    logits: Moments
    hashes: HashSketch

    @classmethod
    def of(cls, logits: NDArray[Any]) -> Self:
        """Of some samples."""
        return cls(
            np.bincount(predicted_columns(logits), minlength=logits.shape[1]),
            Moments.of(softmax_certainty(logits)[:, None]),
            Moments.of(relative_logits(logits)),
            HashSketch.of(logits),
        )

    def reference(self) -> Reference:
        """The reference of all samples, to rounding."""
        return Reference(
            float(self.certainty.mean[0]),
            float(self.certainty.deviation[0]),
            tuple((self.predicted / self.predicted.sum()).tolist()),
            tuple(self.logits.mean.tolist()),
            tuple(self.logits.deviation.tolist()),
            self.hashes.fingerprint(),
        )
