"""What a head changes, counted by class and by pair of classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_CLASSES = 15  # shown one by one; the others are summed
WORSE_SHARE = 3  # one in so many of them is for classes that get worse, even if others change more


class ClassCounts(NamedTuple):
    """What a head changes for the samples whose true class is this one."""

    name: Any
    rows: int
    errors: int  # of softmax
    wins: int
    losses: int

    @property
    def net(self) -> int:
        """By how many the errors drop."""
        return self.wins - self.losses

    @property
    def recall(self) -> tuple[float, float]:
        """The class's recall before and after; nan if it has no samples."""
        right = self.rows - self.errors
        return (right / self.rows, (right + self.net) / self.rows) if self.rows else (math.nan, math.nan)


class PairCounts(NamedTuple):
    """How many samples of one class are predicted as another: by softmax, and by the head."""

    true: Any
    taken_for: Any
    before: int
    after: int


def count_by_class(
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    times: NDArray[np.int64] | None = None,
) -> tuple[ClassCounts, ...]:
    """Count samples, errors, wins and losses of each class, given which samples are right before and after.

    Each sample counts so many times, by default once.
    """
    times = np.ones(len(codes), dtype=np.int64) if times is None else times
    selections = (np.ones_like(before), ~before, after & ~before, before & ~after)
    counts = [_counted(codes[selected], times[selected], len(names)).tolist() for selected in selections]
    return tuple(ClassCounts(*one) for one in zip(names.tolist(), *counts, strict=True))


def _counted(values: NDArray[np.int64], times: NDArray[np.int64], n_values: int) -> NDArray[np.int64]:
    """How often each value occurs."""
    out = np.zeros(n_values, dtype=np.int64)
    np.add.at(out, values, times)
    return out


def largest_drops(
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    most: int,
    times: NDArray[np.int64] | None = None,
) -> tuple[PairCounts, ...]:
    """Return the pairs of classes whose confusions drop most from the predictions before to those after.

    Of equal drops, the pair with more errors before comes first, and then the one with the lower class. Each sample
    counts so many times, by default once.
    """
    n_classes = len(names)
    times = np.ones(len(codes), dtype=np.int64) if times is None else times
    cells, inverse = np.unique(
        np.concatenate([codes * n_classes + before, codes * n_classes + after]), return_inverse=True
    )
    first, second = (_counted(part, times, len(cells)) for part in np.split(inverse, 2))
    true, predicted = np.divmod(cells, n_classes)
    order = np.lexsort((-first, second - first))
    order = order[(true != predicted)[order] & (first > second)[order]][:most]
    columns = (names[true[order]], names[predicted[order]], first[order], second[order])
    return tuple(PairCounts(*one) for one in zip(*(column.tolist() for column in columns), strict=True))


def largest_rises(
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    most: int,
    times: NDArray[np.int64] | None = None,
) -> tuple[PairCounts, ...]:
    """Return the pairs of classes whose confusions rise most: :func:`largest_drops` with before and after swapped."""
    swapped = largest_drops(after, before, codes, names, most, times)
    return tuple(PairCounts(one.true, one.taken_for, before=one.after, after=one.before) for one in swapped)


def most_changed(
    by_class: tuple[ClassCounts, ...], most: int = MAX_CLASSES
) -> tuple[list[ClassCounts], list[ClassCounts]]:
    """Return the classes to show, from the largest drop of errors to the largest rise, and the sum of any others.

    Examples
    --------
    >>> from aftermax._audit.counts import ClassCounts, most_changed
    >>> most_changed((ClassCounts("cat", 9, 3, 0, 1), ClassCounts("dog", 9, 5, 4, 1)))[0][0].name
    'dog'
    """
    order = by_size_of_change(by_class)
    if len(order) <= most + 1:
        return in_order(order), []
    worse = [one for one in order if one.net < 0][: most // WORSE_SHARE]
    rest = [one for one in order if not any(one is other for other in worse)]
    places = most - len(worse)
    counts = (sum(column) for column in zip(*(one[1:] for one in rest[places:]), strict=True))
    return in_order([*worse, *rest[:places]]), [ClassCounts(f"{len(rest) - places:,} others", *counts)]


def by_size_of_change(by_class: Iterable[ClassCounts]) -> list[ClassCounts]:
    """Sort classes by how much their errors change, in either direction, the largest change first."""
    return sorted(by_class, key=lambda one: (-abs(one.net), -one.wins - one.losses, -one.errors))


def in_order(classes: Iterable[ClassCounts]) -> list[ClassCounts]:
    """Sort classes from the largest drop of errors to the largest rise."""
    return sorted(classes, key=lambda one: (-one.net, one.losses, -one.errors))
