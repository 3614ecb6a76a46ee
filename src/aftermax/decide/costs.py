"""The user's cost matrix, checked and brought into the order of the classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.large import LARGEST_VALUE, are_usable
from aftermax._utils.text import listed
from aftermax._utils.validation import as_numbers

ADVICE = "pass a number for each true class (row) and decision (column)"


def as_costs(costs: ArrayLike, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return costs as a finite matrix: rows are true classes and columns decisions, both in the order of the classes.

    A data frame whose rows and columns are named after the classes is reordered by name. Costs may be below 0 (gains).

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.decide.costs import as_costs
    >>> as_costs([[0, 1], [10, 0]], np.array(["ham", "spam"]))
    array([[ 0.,  1.],
           [10.,  0.]])
    """
    n_classes = len(classes)
    table: Any = costs
    if hasattr(costs, "columns"):
        table = costs_by_name(table, table.index, table.columns, classes)
    values = as_numbers("costs", table, ADVICE)
    if values.shape != (n_classes, n_classes):
        raise ValueError(
            f"costs has shape {values.shape} but there are {n_classes} classes ({listed(classes.tolist())}): pass a "
            f"({n_classes}, {n_classes}) matrix, with a row for each true class and a column for each decision."
        )
    if not are_usable(values):
        row, column = np.argwhere(~(np.abs(values) <= LARGEST_VALUE))[0]
        raise ValueError(
            f"costs holds {values[row, column]} for the true class {classes[row]!s} and the decision "
            f"{classes[column]!s}: {ADVICE}; to rule out a decision, use a large cost."
        )
    if not np.ptp(values, axis=1).any():
        raise ValueError(
            "costs has the same cost for every decision, whatever the true class: there is nothing to decide. An error "
            "usually costs more than the right decision, as in 1 - numpy.eye(n_classes)."
        )
    return values.copy()


def costs_by_name(
    values: ArrayLike, rows: Iterable[Any], columns: Iterable[Any], classes: NDArray[Any]
) -> NDArray[Any]:
    """The matrix with rows and columns in the order of the classes, after which they are named.

    Names are compared as text: those of a file with the classes 0, 1, 2 are "0", "1", "2".

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.decide.costs import costs_by_name
    >>> costs_by_name([[0, 10], [1, 0]], ["spam", "ham"], ["spam", "ham"], np.array(["ham", "spam"]))
    array([[ 0,  1],
           [10,  0]])
    """
    wanted = [str(name) for name in classes.tolist()]
    places = []
    for axis, names in (("rows", rows), ("columns", columns)):
        given = [str(name) for name in names]
        repeated = [name for name, times in Counter(given).items() if times > 1]
        faults = (
            ("named twice", repeated),
            ("missing", sorted(set(wanted) - set(given))),
            ("no class", sorted(set(given) - set(wanted))),
        )
        told = "; ".join(f"{fault}: {listed(some)}" for fault, some in faults if some)
        if told:
            raise ValueError(
                f"The {axis} of costs do not fit the classes ({listed(wanted)}): {told}. Name rows (true classes) and "
                "columns (decisions) after the classes, or pass a plain array in the order of the classes."
            )
        places.append([given.index(name) for name in wanted])
    return np.asarray(np.asarray(values)[np.ix_(*places)])
