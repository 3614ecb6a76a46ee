"""Which classes are drawn, where there are too many for one plot."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.validation import check_count

ALL_UP_TO = 100  # classes, in a K x K heatmap
SHOWN_OF_MORE = 12
MOST = 300  # that a plot can be asked for: with more, lines are thinner than a pixel


def check_max_classes(max_classes: int) -> None:
    """Refuse a number of classes that cannot be drawn."""
    check_count("max_classes", max_classes)
    if max_classes > MOST:
        raise ValueError(f"max_classes={max_classes} is more than a plot can show: choose at most {MOST}.")


def number_shown(n_classes: int, max_classes: int | None) -> int:
    """How many classes a heatmap shows: if nothing else is asked for, all up to a hundred, or twelve of more."""
    if max_classes is None:
        return n_classes if n_classes <= ALL_UP_TO else SHOWN_OF_MORE
    check_max_classes(max_classes)
    return min(n_classes, max_classes)


def classes_of_largest_cells(
    rows: NDArray[Any], columns: NDArray[Any], order: NDArray[Any], n_classes: int, most: int
) -> NDArray[np.intp]:
    """The classes of the cells that come first in ``order``, row and column of each, as many as asked for; sorted.

    The diagonal does not count. If the cells have too few classes, the first of the others are added.
    """
    found: dict[int, None] = {}
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        new = [one for one in (row, column) if one not in found]
        if row != column and len(found) + len(new) <= most:
            found.update(dict.fromkeys(new))
        if len(found) == most:
            break
    for one in range(n_classes):
        if len(found) == most:
            break
        found.setdefault(one)
    return np.array(sorted(found), dtype=np.intp)
