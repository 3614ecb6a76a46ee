"""The page: the verdict, the tables and what the pictures are drawn from, put into the template."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import warnings
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._audit.result import Audit, better_and_worse
from aftermax._utils.files import checked_output_path, write_text
from aftermax._utils.labels import encode_labels
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import as_logits, compute_ready
from aftermax.plots._inputs import gate_of
from aftermax.report._chart_data import figures
from aftermax.report._glossary import glossary
from aftermax.report._methodology import gate_in_words, how_computed, uncertain_in_words
from aftermax.report._tables import (
    candidate_table,
    class_table,
    escaped,
    key_figures,
    pair_table,
    summary_table,
    unbroken,
    warning_list,
)
from aftermax.sph.response_array import describe

SCRIPTS = ("drawing.js", "pictures.js", "controls.js")


def html_report(audit: Audit, logits: ArrayLike, labels: ArrayLike, *, title: str | None = None) -> str:
    """An audit as a page of HTML, with tables and interactive pictures. The same audit gives the same page.

    The page loads nothing and stores nothing. It holds counts and averages only: no single row, no path, no date.

    Parameters
    ----------
    audit : Audit
        What :func:`~aftermax.audit` returned.
    logits, labels : array-like of shapes (n_rows, K) and (n_rows,)
        What it was returned for: for the certainty of softmax and the response array.
    title : str, default=None
        What to write above the verdict, such as what the rows are and the date.

    Examples
    --------
    >>> from aftermax import SPHClassifier, audit
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.report import html_report
    >>> scores = load_vmnist(trained_on=500)
    >>> logits, labels = scores.val_logits[:400], scores.val_labels[:400]
    >>> found = audit(logits, labels, SPHClassifier())
    >>> page = html_report(found, logits, labels, title="The digits of spring")
    >>> "<h1>The digits of spring</h1>" in page
    True
    """
    if not isinstance(audit, Audit):
        raise TypeError(
            f"The report is about an Audit, not {type(audit).__name__}: pass what aftermax.audit(logits, labels) "
            "returns."
        )
    checked, codes = _rows_of(audit, logits, labels)
    certainty = softmax_certainty(checked)
    array = describe(checked, codes, np.array(audit.classes), certainty, "mean", 0.0, 1.0)
    style, script = _part("report.css"), "\n".join(map(_part, SCRIPTS))
    return Template(_part("template.html")).substitute(
        title=escaped(title or "Is there accuracy left on the table?"),
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        data=_embedded(figures(audit, array, certainty, checked.argmax(axis=1) != codes)),
        verdict=_emphasised(audit.verdict),
        size=f"{audit.rows:,} labelled rows, {len(audit.classes):,} classes",
        warnings=warning_list(audit),
        changes=escaped(better_and_worse(audit)),
        key_figures=key_figures(audit),
        glossary=glossary(),
        summary=summary_table(audit),
        classes=class_table(audit),
        pairs=pair_table(audit),
        candidates=candidate_table(audit),
        pictures="\n".join(_pictures(audit, certainty)),
        method=how_computed(audit),
    )


def write_report(
    path: str | os.PathLike[str], audit: Audit, logits: ArrayLike, labels: ArrayLike, *, title: str | None = None
) -> None:
    """Write an audit as an HTML file, whole or not at all; see :func:`html_report`.

    Examples
    --------
    >>> from aftermax.report import write_report
    >>> write_report("report.html", found, logits, labels)  # doctest: +SKIP
    """
    write_text(checked_output_path(Path(path)), html_report(audit, logits, labels, title=title))


def _pictures(audit: Audit, certainty: NDArray[np.float64]) -> list[str]:
    """The sections about softmax and the response units; the gate comes last where the head has none."""
    words = {"gate": escaped(gate_in_words(audit)), "uncertain": escaped(uncertain_in_words(certainty))}
    sections = [Template(_part("certainty.html")).substitute(words), _part("responses.html")]
    return sections[::-1] if gate_of(audit.head) is None else sections


def _rows_of(audit: Audit, logits: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The logits, and the labels as column numbers, if they are those that were audited."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the audit has given its warnings
        checked = compute_ready(as_logits(logits))
    _, codes = encode_labels(labels, checked.shape, list(audit.classes), getattr(logits, "columns", None))
    size = len(audit.classes)
    counts = [np.bincount(rows, minlength=size) for rows in (codes, codes[checked.argmax(axis=1) != codes])]
    if not np.array_equal(np.transpose(counts), [(one.rows, one.errors) for one in audit.by_class]):
        raise ValueError(
            f"These are not the rows of the audit: it counted {audit.rows:,} rows and {audit.errors[0]:,} errors of "
            f"softmax, and here are {len(codes):,} and {counts[1].sum():,}, or others by class. Pass the same logits "
            "and labels to both."
        )
    return checked, codes


def _emphasised(verdict: str) -> str:
    """The verdict, with what stands before the colon in bold."""
    answer, _, reason = verdict.partition(":")
    return f"<strong>{html.escape(answer)}:</strong>{unbroken(html.escape(reason))}"


def _embedded(data: dict[str, Any]) -> str:
    """JSON that can stand inside of a script element: nothing in it ends the element or begins another."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return files("aftermax.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's policy knows a style or script by: no other is let in."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
