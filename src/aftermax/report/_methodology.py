"""How the numbers of the report came about, in words that fit the head that was audited."""

from __future__ import annotations

import html
import platform

import numpy as np
import sklearn
from numpy.typing import NDArray

from aftermax import __version__
from aftermax._audit.result import Audit
from aftermax._utils.paired_tests import ALPHA, POWER
from aftermax.auto.head import FEW_TO_FOLD, AutoHead
from aftermax.plots._inputs import gate_of
from aftermax.report._chart_data import MOST_ROWS, MOST_UNITS
from aftermax.sph.classifier_cv import SPHClassifierCV

KNOWN_SETTINGS = {  # of the heads of aftermax; other heads' settings may hold anything, also paths
    "AutoHead": ("cv", "alpha"),
    "SPHClassifierCV": ("cv", "n_repeats", "alpha"),
    "SPHClassifier": ("certainty", "center", "min_separation", "weight_power", "veto_distance", "veto_count"),
}


def how_computed(audit: Audit) -> str:
    """The last part of the page, a list of what was done."""
    points = [
        ("Rows", f"{audit.rows:,} labelled rows, {len(audit.classes):,} classes. {_rows_each(audit)}"),
        ("The head", _head(audit)),
        ("Held out", _held_out(audit)),
        ("Before and after", _before_and_after(audit)),
        (
            "Gain and interval",
            "The gain is wins less losses, divided by softmax's errors. The interval is for as many new rows: a paired "
            "bootstrap that draws rows anew twice, for what the gain may be and for what new rows may show of it.",
        ),
        ("Tests", _tests(audit)),
        (
            "Rows needed",
            f"How many labelled rows it takes to prove a gain of this size by McNemar's test at {100 * ALPHA:g} %, "
            f"with a chance of {100 * POWER:g} %, if new rows win and lose as often as these.",
        ),
        (
            "Certainty and response array",
            "Certainty is a row's largest softmax score. The response array D describes all rows passed: the mean "
            "response of each unit to each class, and a spread on either side. Neither is about the head. "
            f"Of more than {MOST_UNITS} units, those with the largest separation are drawn; of more than {MOST_ROWS} "
            "classes, those with the most errors of softmax can be picked.",
        ),
        ("What this file holds", "Counts and averages only, no single row. It loads nothing and sends nothing."),
        (
            "Versions",
            f"aftermax {__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}, "
            f"Python {platform.python_version()}.",
        ),
    ]
    return "\n".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(words)}</dd>" for name, words in points)


def _rows_each(audit: Audit) -> str:
    counts = [one.rows for one in audit.by_class]
    missing = counts.count(0)
    return f"Rows of each class: {min(counts):,} to {max(counts):,}" + (
        f"; {missing:,} of the classes have none." if missing else "."
    )


def _head(audit: Audit) -> str:
    name = type(audit.head).__name__
    settings = [
        f"{one}={getattr(audit.head, one)}"
        for one in KNOWN_SETTINGS.get(name, ())
        if getattr(audit.head, one) is not None
    ]
    words = f"{name}({', '.join(settings)})" if settings else name
    if audit.chosen == "softmax":
        return f"{words}. It keeps softmax."
    answers = "" if audit.chosen == name else f" It answers with: {audit.chosen}."
    weighted = " It was told to weigh its classes; in this report every row counts the same." if audit.weighted else ""
    return f"{words}, fitted on all of these rows.{answers}{weighted}"


def _held_out(audit: Audit) -> str:
    """Which heads answered the rows that "after" is counted from."""
    head = audit.head
    if isinstance(head, AutoHead):
        return (
            f"Rows were divided into {_folds(head, audit)} folds, each class spread evenly. Each row was answered by "
            "candidates that were fitted, settings and weights included, without its fold. Where there are too many "
            "rows to fit on all, the rows left out are answered by the head, which has not seen them."
        )
    if isinstance(head, SPHClassifierCV):
        return (
            f"Rows were divided into {head.cv} folds, each class spread evenly. Each row was answered with settings "
            "chosen, and a response array made, without its fold."
        )
    if hasattr(head, "held_out_"):
        return "The head itself says how it answers each row without having seen it (its held_out_)."
    return (
        "The head was cross-validated: rows were divided into folds (audit's cv, 5 unless set), each class spread "
        "evenly, and each row was answered by a copy fitted without its fold."
    )


def _folds(head: AutoHead, audit: Audit) -> int:
    """How many AutoHead made. Rows of a class with no weight are left out."""
    weights = head.class_weight if isinstance(head.class_weight, dict) else {}
    rows = sum(one.rows for one in audit.by_class if weights.get(one.name, 1.0) > 0)
    return min(head.cv or (10 if rows < FEW_TO_FOLD else 5), rows)


def gate_in_words(audit: Audit) -> str:
    """What the gate of the picture has to do with this head."""
    gate = gate_of(audit.head)
    words = (
        "Certainty is a row's largest softmax score. SPH pools the rows whose certainty is below its certainty gate, "
        "and leaves the others to softmax. Move the gate to see what it would pool."
    )
    if gate is not None:
        return f"{words} The gate of the head audited here is {gate:g}" + ("." if gate else ": it pools no row.")
    if audit.chosen == "softmax":
        return f"Only SPH has a gate; here softmax stays, and no row is pooled. {words}"
    return f"Only SPH has a gate: other heads, as the one audited here, look at every row. {words}"


def uncertain_in_words(certainty: NDArray[np.float64]) -> str:
    """Of how many rows softmax is rather uncertain."""
    below = int(np.count_nonzero(certainty < 0.5))
    if below == 0:
        return "Softmax is at least half certain of every row."
    return f"Softmax is less than half certain of {below:,} of the {len(certainty):,} rows."


def _before_and_after(audit: Audit) -> str:
    words = "Before is the largest logit. After is what was answered to the same rows, held out. "
    if audit.chosen == "softmax" and audit.candidates is not None:
        words += "As softmax stays, after is what the best candidate would have changed. "
    return words + "Answers of the head to rows that it was fitted on are nowhere in this report."


def _tests(audit: Audit) -> str:
    words = "McNemar's exact test, two-sided: how likely wins and losses would differ as much by chance."
    if isinstance(audit.head, AutoHead):
        words += (
            " AutoHead's own test is one-sided, of errors and log-loss together (for SPH, of errors alone); softmax "
            f"stays unless its p-value is below {audit.head.alpha:g} and there are no more errors than before."
        )
    elif audit.head_p_value is not None:
        words += " The head's own test is the one by which it keeps softmax or not."
    return words
