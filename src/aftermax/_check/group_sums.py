"""Sums over groups of samples, squared: some groups at a time, as an array of all groups and classes may be large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import samples_per_chunk

Values = NDArray[np.float64]


def squared_group_sums(
    logits: NDArray[Any], function: Callable[[NDArray[Any]], Values], groups: NDArray[np.int64]
) -> Values:
    """Of each column of a function of the logits: the sum over groups of the square of its sum within a group.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._check.group_sums import squared_group_sums
    >>> squared_group_sums(np.array([[1.0, 0.0], [2.0, 1.0], [5.0, 1.0]]), abs, np.array([0, 0, 1]))
    array([34.,  2.])
    """
    n_columns = logits.shape[1]
    step = samples_per_chunk(n_columns)

    def sums(first: int, last: int, members: NDArray[np.intp]) -> Values:
        out = np.zeros((last - first, n_columns))
        for start in range(0, len(members), step):
            some = members[start : start + step]
            np.add.at(out, groups[some] - first, function(logits[some]))
        return out

    return _summed_squares(groups, n_columns, sums)


def squared_group_excesses(codes: NDArray[np.int64], shares: Values, groups: NDArray[np.int64]) -> Values:
    """Of each class: the sum over groups of the square of how many samples more it has than its share of the group."""
    n_classes = len(shares)

    def excesses(first: int, last: int, members: NDArray[np.intp]) -> Values:
        cells = np.bincount(
            (groups[members] - first) * n_classes + codes[members], minlength=(last - first) * n_classes
        )
        counts = cells.reshape(last - first, n_classes)
        return np.asarray(counts - counts.sum(axis=1, keepdims=True) * shares, dtype=np.float64)

    return _summed_squares(groups, n_classes, excesses)


def _summed_squares(
    groups: NDArray[np.int64], n_columns: int, sums: Callable[[int, int, NDArray[np.intp]], Values]
) -> Values:
    """The sum of squares over all groups, of ``sums(first, last, members)`` of the groups from first up to last."""
    total = np.zeros((0, n_columns))
    for first, last, members in _some_groups(groups, samples_per_chunk(n_columns)):
        total = np.concatenate([total, np.square(sums(first, last, members))]).sum(axis=0, keepdims=True)
    return np.asarray(total[0])


def _some_groups(groups: NDArray[np.int64], step: int) -> Iterator[tuple[int, int, NDArray[np.intp]]]:
    """Some groups after the other, with the samples that are in them, in order."""
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))
    for first in range(0, len(ends), step):
        last = min(first + step, len(ends))
        yield first, last, order[ends[first - 1] if first else 0 : ends[last - 1]]
