"""The data of the charts: counts and averages, as plain numbers for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._abstention.curve import RiskCoverage
from aftermax._audit.counts import ClassCounts, most_changed
from aftermax._audit.result import Audit
from aftermax._utils.reliability import Bins, binned
from aftermax._utils.text import visible
from aftermax.report._response_data import ReportedSamples, responses
from aftermax.report._text import rounded

GATE_STEPS = 200  # of the slider, from 0 to 1
DEFAULT_GATE = 0.9  # where the slider starts if the head keeps softmax: the default of SPHClassifier


def chart_data(audit: Audit, samples: ReportedSamples, gate: float | None) -> dict[str, Any]:
    """Everything that the page's scripts show: what the charts draw, and all classes for the table."""
    shown, rest = most_changed(audit.by_class)
    certainty, wrong = samples.certainty, samples.wrong
    return {
        "classes": [_class_counts(one) for one in shown],
        "otherClasses": [_class_counts(one) for one in rest],
        "allClasses": _all_classes(audit),
        "pairs": [
            {"true": visible(str(pair.true)), "predicted": visible(str(pair.taken_for))}
            | {"before": pair.before, "after": pair.after}
            for pair in [*audit.pairs, *audit.tangled]
        ],
        "gate": {"start": None if gate is None else gate or DEFAULT_GATE} | gate_counts(certainty, wrong),
        "reliability": reliability(binned(certainty, ~wrong)),
        "headReliability": None if audit.reliability is None else reliability(audit.reliability),
        "risk": None if audit.risk_coverage is None else risk(audit, audit.risk_coverage),
        "responses": responses(audit, samples, first=shown[0].name),
    }


def _class_counts(one: ClassCounts) -> dict[str, Any]:
    counts = {"samples": one.rows, "errors": one.errors, "wins": one.wins, "losses": one.losses}
    return {"name": visible(str(one.name))} | counts


def _all_classes(audit: Audit) -> dict[str, list[Any]]:
    """The counts of every class, column by column: with thousands of classes that is a third of the text."""
    names, *counts = zip(*audit.by_class, strict=True)
    kinds = ("samples", "errors", "wins", "losses")
    return {"names": [visible(str(name)) for name in names]} | {k: list(v) for k, v in zip(kinds, counts, strict=True)}


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


def risk(audit: Audit, curve: RiskCoverage) -> dict[str, Any]:
    """The error of the most certain samples, by softmax and by the head, and what is promised, if anything is."""
    promised = audit.abstention
    return {
        "shares": [rounded(share) for share in curve.shares],
        "before": [rounded(error) for error in curve.before],
        "after": [rounded(error) for error in curve.after],
        "acceptable": None if promised is None else promised.max_error,
        "alone": None if promised is None else rounded(promised.share),
    }


def reliability(bins: Bins) -> list[dict[str, float]]:
    """The accuracy by confidence of the bins with samples, with Wilson's 95 % interval."""
    shown = []
    for n, mean, accuracy, low, high in zip(*bins, strict=True):
        if n > 0:
            numbers = {"certainty": rounded(mean), "low": rounded(low), "high": rounded(high)}
            shown.append({"samples": int(n), "correct": round(n * accuracy), **numbers})
    return shown
