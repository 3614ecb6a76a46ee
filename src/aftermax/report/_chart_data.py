"""The data of the charts: counts and averages, as plain numbers for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binned_statistic, binomtest

from aftermax._audit.counts import ClassCounts, most_changed
from aftermax._audit.result import Audit
from aftermax.report._text import encodable
from aftermax.sph.response_array import ResponseArray

GATE_STEPS = 200  # of the slider, from 0 to 1
DEFAULT_GATE = 0.9  # where the slider starts if the head has no gate: the default of SPHClassifier
RELIABILITY_BINS = 10
MAX_UNITS = 24  # that are drawn for a class: of more, those that separate it best
MAX_PICKED_CLASSES = 200  # that can be picked: of more, those with the most errors


def chart_data(
    audit: Audit,
    array: ResponseArray,
    certainty: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    gate: float | None,
) -> dict[str, Any]:
    """Everything that the page's scripts draw."""
    shown, rest = most_changed(audit.by_class)
    return {
        "classes": [_class_counts(one) for one in shown],
        "otherClasses": [_class_counts(one) for one in rest],
        "pairs": [
            {"true": encodable(pair.true), "predicted": encodable(pair.taken_for)}
            | {"before": pair.before, "after": pair.after}
            for pair in [*audit.pairs, *audit.tangled]
        ],
        "gate": {"start": gate or DEFAULT_GATE} | gate_counts(certainty, wrong),
        "reliability": reliability(certainty, wrong),
        "responses": responses(audit, array, first=shown[0].name),
    }


def _class_counts(one: ClassCounts) -> dict[str, Any]:
    counts = {"samples": one.rows, "errors": one.errors, "wins": one.wins, "losses": one.losses}
    return {"name": encodable(one.name)} | counts


def gate_counts(certainty: NDArray[np.float64], wrong: NDArray[np.bool_]) -> dict[str, Any]:
    """For each step of the slider, how many samples are below that gate, and how many of softmax's errors.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.report._chart_data import gate_counts
    >>> counts = gate_counts(np.array([0.4, 0.9, 1.0]), np.array([True, False, False]))
    >>> counts["samples"][180], counts["samples"][181], counts["errors"][200]  # below 0.9, below 0.905, below 1
    (1, 2, 1)
    """
    gates = np.arange(GATE_STEPS + 1) / GATE_STEPS
    samples, errors = (
        np.searchsorted(np.sort(values), gates, side="left").tolist() for values in (certainty, certainty[wrong])
    )
    return {"samples": samples, "errors": errors, "allSamples": len(wrong), "allErrors": int(wrong.sum())}


def reliability(certainty: NDArray[np.float64], wrong: NDArray[np.bool_]) -> list[dict[str, float]]:
    """The accuracy of softmax by its certainty, in bins, with Wilson's 95 % interval."""
    edges = np.arange(RELIABILITY_BINS + 1) / RELIABILITY_BINS
    samples, correct = (np.histogram(values, edges)[0].tolist() for values in (certainty, certainty[~wrong]))
    means = binned_statistic(certainty, certainty, bins=edges).statistic
    bins = []
    for n, k, mean in zip(samples, correct, means, strict=True):
        if n > 0:
            low, high = binomtest(k, n).proportion_ci(method="wilson")
            numbers = {"certainty": rounded(mean), "low": rounded(low), "high": rounded(high)}
            bins.append({"samples": n, "correct": k, **numbers})
    return bins


def responses(audit: Audit, array: ResponseArray, first: Any) -> dict[str, Any]:
    """The row of D of each class: for each unit its center, its spreads and its separation.

    Of many classes, ``first`` and those that softmax gets wrong most often; of many units, the class's own and those
    with the largest separation.
    """
    errors = np.array([one.errors for one in audit.by_class])
    start = audit.classes.index(first)
    by_errors = [index for index in np.argsort(-errors, kind="stable").tolist() if index != start]
    picked = sorted([start, *by_errors][:MAX_PICKED_CLASSES])
    separation = array.separation()
    rows = {index: _response_row(array, separation, index) for index in picked}
    units = sorted({*picked, *(unit for row in rows.values() for unit in row.get("units", []))})
    return {
        "names": {str(unit): encodable(audit.classes[unit]) for unit in units},
        "classes": [{"class": index, "samples": int(array.counts[index]), **row} for index, row in rows.items()],
        "start": start,
        "allClasses": len(audit.classes),
    }


def _response_row(array: ResponseArray, separation: NDArray[np.float64], index: int) -> dict[str, Any]:
    if array.counts[index] == 0:
        return {}
    size = len(array.classes)
    best = [unit for unit in np.argsort(-separation[index], kind="stable").tolist() if unit != index]
    units = [index, *best[: MAX_UNITS - 1]] if size > MAX_UNITS else list(range(size))
    columns = {"center": array.center, "left": array.left, "right": array.right, "separation": separation}
    return {"units": units} | {
        name: [rounded(value) for value in values[index, units].tolist()] for name, values in columns.items()
    }


def rounded(value: float) -> float:
    """To four digits, more than a chart shows."""
    return float(f"{value:.4g}")
