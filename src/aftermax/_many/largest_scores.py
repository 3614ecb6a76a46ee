"""The few classes that a sample's scores really name: its largest scores, and by how much they exceed the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.threads import over_ranges, samples_per_range

COUNTS = (64, 128, 256)  # of a sample's scores; which is best is chosen
MOST_IN_MEMORY = 20_000_000  # scores of all samples: with more samples than this allows, only smaller counts are tried


class LargestScores(NamedTuple):
    """The columns of each sample's largest scores, and by how much these exceed the next one, largest = 1.

    The largest is first. All other scores count as 0. With thousands of classes, most scores are noise: what is left
    is a sparse vector in which similar samples are close.
    """

    columns: NDArray[np.int32]  # (n_samples, count)
    excess: NDArray[np.float32]

    def first(self, count: int) -> LargestScores:
        """The largest of them only, and by how much these exceed the next one."""
        if count >= self.columns.shape[1]:
            return self
        following = self.excess[:, count : count + 1]
        spans = 1 - following
        excess = self.excess[:, :count] - following
        np.divide(excess, spans, out=excess, where=spans > 0)
        return LargestScores(self.columns[:, :count], excess)

    def take(self, which: Any) -> LargestScores:
        """Those of some samples."""
        return LargestScores(self.columns[which], self.excess[which])


def as_single_or_double(values: NDArray[Any]) -> NDArray[Any]:
    """Values as the kernels take them: rows in one piece, in double precision or, if they have no more, in single."""
    wanted = np.float32 if values.dtype in (np.float16, np.float32) else np.float64
    return np.require(values, wanted, ["C", "A", "W"])


def most_compared(n_samples: int) -> int:
    """The largest count that is tried with so many samples."""
    return max([count for count in COUNTS if count * n_samples <= MOST_IN_MEMORY], default=COUNTS[0])


def largest_scores(logits: NDArray[Any], rows: NDArray[np.intp], count: int = COUNTS[-1]) -> LargestScores:
    """The largest scores of some rows, read some at a time."""
    from aftermax._many import kernels

    count = min(count, logits.shape[1] - 1)
    found = LargestScores(np.empty((len(rows), count), np.int32), np.empty((len(rows), count), np.float32))

    def work(first: int, last: int) -> None:
        values = as_single_or_double(logits[rows[first:last]])
        columns, excess = found.columns[first:last], found.excess[first:last]
        kernels.take_largest(values, columns, excess)
        order = np.argsort(-excess, axis=1, kind="stable")
        columns[:], excess[:] = np.take_along_axis(columns, order, 1), np.take_along_axis(excess, order, 1)

    over_ranges(work, len(rows), samples_per_range(logits.shape[1]))
    return found
