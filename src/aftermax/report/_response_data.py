"""The response array for its chart: the rows of the classes that can be picked, as plain numbers for JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._audit.result import Audit
from aftermax._utils.large import in_float64
from aftermax._utils.text import visible
from aftermax.report._text import rounded
from aftermax.sph.response_array import ResponseArray, fit_response_array

MAX_UNITS = 24  # that are drawn for a class: of more, those that separate it best
MAX_PICKED_CLASSES = 200  # that can be picked, and compared with each other


class ReportedSamples(NamedTuple):
    """The samples of a report, checked: logits, labels as column numbers, and softmax's certainty and errors."""

    logits: NDArray[Any]  # in any precision
    codes: NDArray[np.int64]
    certainty: NDArray[np.float64]
    wrong: NDArray[np.bool_]


def responses(audit: Audit, samples: ReportedSamples, first: Any) -> dict[str, Any]:
    """The row of D of each class: for each unit its center, its spreads and its separation.

    Of many classes, D has only those of :func:`picked_classes`, as rows and as units: the whole of it would take hours
    with thousands of classes. Of many units, a class has its own and those with the largest separation.
    """
    picked = picked_classes(audit, first)
    array = _array_of(np.array(picked), samples)
    separation = array.separation()
    rows = [_response_row(array, separation, row) for row in range(len(picked))]
    return {
        "names": {str(index): visible(str(audit.classes[index])) for index in picked},
        "classes": [
            {"class": index, "samples": number, **row}
            for index, number, row in zip(picked, array.counts.tolist(), rows, strict=True)
        ],
        "start": audit.classes.index(first),
        "allClasses": len(audit.classes),
    }


def picked_classes(audit: Audit, first: Any) -> list[int]:
    """The column numbers of the classes that can be picked, sorted.

    Of many classes, ``first``, those of the pairs in the result, and those that softmax gets wrong most often.
    """
    columns = {name: column for column, name in enumerate(audit.classes)}
    paired = (name for pair in [*audit.pairs, *audit.tangled] for name in (pair.true, pair.taken_for))
    by_errors = np.argsort([-one.errors for one in audit.by_class], kind="stable").tolist()
    order = dict.fromkeys([columns[first], *(columns[name] for name in paired), *by_errors])
    return sorted(list(order)[:MAX_PICKED_CLASSES])


def _array_of(columns: NDArray[np.int64], samples: ReportedSamples) -> ResponseArray:
    """The response array of these classes alone; its classes are their column numbers."""
    places = np.full(samples.logits.shape[1], -1)
    places[columns] = np.arange(len(columns))
    codes = places[samples.codes]
    some = np.flatnonzero(codes >= 0)
    logits = in_float64(samples.logits[np.ix_(some, columns)])
    return fit_response_array(logits, codes[some], columns, samples.certainty[some], "mean", 0.0, 1.0)


def _response_row(array: ResponseArray, separation: NDArray[np.float64], row: int) -> dict[str, Any]:
    if array.counts[row] == 0:
        return {}
    size = len(array.classes)
    best = [unit for unit in np.argsort(-separation[row], kind="stable").tolist() if unit != row]
    units = [row, *best[: MAX_UNITS - 1]] if size > MAX_UNITS else list(range(size))
    columns = {"center": array.center, "left": array.left, "right": array.right, "separation": separation}
    return {"units": array.classes[units].tolist()} | {
        name: [rounded(value) for value in values[row, units].tolist()] for name, values in columns.items()
    }
