"""What the pictures are drawn from: counts and averages, as plain numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._audit.result import Audit, most_changed
from aftermax.plots._inputs import gate_of
from aftermax.report._tables import text
from aftermax.sph.response_array import ResponseArray

GATE_STEPS = 200  # of the slider, from 0 to 1
GATE = 0.9  # where it starts, if the head has none: SPHClassifier's default
RELIABILITY_BINS = 10
MOST_UNITS = 24  # of a row of D that are drawn: of more, the ones that hold its class apart best
MOST_ROWS = 200  # of D that can be picked


def figures(
    audit: Audit, array: ResponseArray, certainty: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> dict[str, Any]:
    """All that the page's scripts are told."""
    shown, rest = most_changed(audit.by_class)
    return {
        "classes": [_named(one._asdict(), "name") for one in shown],
        "otherClasses": [_named(one._asdict(), "name") for one in rest],
        "pairs": [_named(one._asdict(), "true", "taken_for") for one in [*audit.pairs, *audit.tangled]],
        "gate": {"start": gate_of(audit.head) or GATE} | gate_counts(certainty, wrong),
        "reliability": reliability(certainty, wrong),
        "responses": response_rows(audit, array, first=shown[0].name),
    }


def _named(counts: dict[str, Any], *names: str) -> dict[str, Any]:
    return counts | {name: text(counts[name]) for name in names}


def gate_counts(certainty: NDArray[np.float64], wrong: NDArray[np.bool_]) -> dict[str, Any]:
    """For each step of the slider, how many rows are below that gate, and how many of softmax's errors.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.report._chart_data import gate_counts
    >>> counts = gate_counts(np.array([0.4, 0.9, 1.0]), np.array([True, False, False]))
    >>> counts["rows"][180], counts["rows"][181], counts["errors"][200]  # below 0.9, below 0.905, below 1
    (1, 2, 1)
    """
    gates = np.arange(GATE_STEPS + 1) / GATE_STEPS
    below = [np.searchsorted(np.sort(some), gates, side="left").tolist() for some in (certainty, certainty[wrong])]
    return {"rows": below[0], "errors": below[1], "ofRows": len(wrong), "ofErrors": int(wrong.sum())}


def reliability(certainty: NDArray[np.float64], wrong: NDArray[np.bool_]) -> list[dict[str, float]]:
    """How often softmax is right where it says that it is this certain, with an interval (95 %, Wilson's)."""
    places = np.minimum((certainty * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    found = []
    for place in np.unique(places).tolist():
        inside = places == place
        rows, right = int(inside.sum()), int((inside & ~wrong).sum())
        low, high = _wilson(right, rows)
        mean = float(certainty[inside].mean())
        found.append({"rows": rows, "right": right, "certainty": rounded(mean), "low": low, "high": high})
    return found


def _wilson(hits: int, rows: int, z: float = 1.96) -> tuple[float, float]:
    middle, square = hits / rows, z * z / rows
    half = z * math.sqrt(middle * (1 - middle) / rows + square / (4 * rows))
    ends = ((middle + square / 2 + sign * half) / (1 + square) for sign in (-1, 1))
    low, high = (rounded(min(max(end, 0.0), 1.0)) for end in ends)
    return low, high


def response_rows(audit: Audit, array: ResponseArray, first: Any) -> dict[str, Any]:
    """Rows of D by class: for each unit its center and spreads, and how far it holds the class apart.

    Of many classes, those that softmax gets wrong most often; of many units, those with the largest separation, and
    the class's own.
    """
    size = len(audit.classes)
    errors = np.array([one.errors for one in audit.by_class])
    start = audit.classes.index(first)
    most_errors = [number for number in np.argsort(-errors, kind="stable").tolist() if number != start]
    picked = sorted([start, *most_errors][:MOST_ROWS])
    apart = array.separation()
    rows = {number: _response_row(array, apart, number) for number in picked}
    units = sorted({*picked, *(unit for row in rows.values() for unit in row.get("units", []))})
    return {
        "names": {str(unit): text(audit.classes[unit]) for unit in units},
        "rows": [{"class": number, "count": int(array.counts[number]), **row} for number, row in rows.items()],
        "start": start,
        "ofClasses": size,
    }


def _response_row(array: ResponseArray, apart: NDArray[np.float64], number: int) -> dict[str, Any]:
    if array.counts[number] == 0:
        return {}
    size = len(array.classes)
    best = [unit for unit in np.argsort(-apart[number], kind="stable").tolist() if unit != number]
    units = [number, *best[: MOST_UNITS - 1]] if size > MOST_UNITS else list(range(size))
    columns = {"center": array.center, "left": array.left, "right": array.right, "apart": apart}
    return {"units": units} | {
        name: [rounded(value) for value in values[number, units].tolist()] for name, values in columns.items()
    }


def rounded(value: float) -> float:
    """To four digits, which is more than a picture shows."""
    return float(f"{value:.4g}")
