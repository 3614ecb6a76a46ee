"""The page: the template, filled with the verdict, the tables and the data of the charts."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._audit.result import Audit
from aftermax._audit.verdict import abstention, better_and_worse
from aftermax._heads.lookup import gate_of
from aftermax._utils.files import checked_output_path, write_text
from aftermax._utils.labels import encode_labels
from aftermax._utils.large import predicted_columns
from aftermax._utils.one_logit import is_one_logit
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.validation import as_logits, kept_if_many
from aftermax._utils.warned import kept_warnings
from aftermax.report._chart_data import chart_data
from aftermax.report._glossary import glossary
from aftermax.report._methodology import gate_note, methodology, reliability_note, uncertainty_note
from aftermax.report._response_data import ReportedSamples
from aftermax.report._summary import key_figures, summary_tables, warning_list
from aftermax.report._tables import candidate_table, class_table, pair_table
from aftermax.report._text import escaped, unbroken

WITHOUT_LIMIT = (
    "A head that is fitted with a largest error (max_error of a Decider, --max-error on the command line) decides only "
    "what it is certain enough of."
)
ACCEPTABLE = "largest acceptable error"
SCRIPTS = ("drawing.js", "charts.js", "classes.js", "controls.js")


def html_report(audit: Audit, logits: ArrayLike, labels: ArrayLike, *, title: str | None = None) -> str:
    """An audit as a page of HTML, with tables and interactive charts. The same audit gives the same page.

    The page loads nothing and stores nothing. It holds counts and averages only: no single sample, no path, no date.

    Parameters
    ----------
    audit : Audit
        The result of :func:`~aftermax.audit`.
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The logits that were audited: for the certainty of softmax and the response array.
    labels : array-like of shape (n_samples,)
        Their labels.
    title : str, default=None
        The heading above the verdict, such as what the samples are and the date.

    Examples
    --------
    >>> from aftermax import SPHClassifier, audit
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.report import html_report
    >>> scores = load_vmnist(trained_on=500)
    >>> logits, labels = scores.val_logits[:400], scores.val_labels[:400]
    >>> result = audit(logits, labels, SPHClassifier())
    >>> page = html_report(result, logits, labels, title="The digits of spring")
    >>> "<h1>The digits of spring</h1>" in page
    True
    """
    if not isinstance(audit, Audit):
        raise TypeError(
            f"The report takes an Audit, not {type(audit).__name__}: pass the result of aftermax.audit(logits, labels)."
        )
    samples = _audited_samples(audit, logits, labels)
    gate = gate_of(audit.head)
    style, script = _asset("report.css"), "\n".join(map(_asset, SCRIPTS))
    return Template(_asset("template.html")).substitute(
        title=escaped(title or "Is there accuracy left on the table?"),
        policy=_content_security_policy(style, script),
        style=style,
        script=script,
        data=_embedded(chart_data(audit, samples, gate)),
        verdict=_emphasised(audit.verdict),
        size=f"{audit.rows:,} labelled samples, {len(audit.classes):,} classes",
        warnings=warning_list(audit),
        changes=escaped(better_and_worse(audit)),
        key_figures=key_figures(audit),
        glossary=glossary(),
        summary=summary_tables(audit),
        classes=class_table(audit),
        pairs=pair_table(audit),
        candidates=candidate_table(audit),
        charts="\n".join(_softmax_charts(audit, samples.certainty, gate)),
        methodology=methodology(audit),
    )


def write_report(
    path: str | os.PathLike[str], audit: Audit, logits: ArrayLike, labels: ArrayLike, *, title: str | None = None
) -> None:
    """Write an audit as an HTML file, atomically; see :func:`html_report`.

    Examples
    --------
    >>> from aftermax.report import write_report
    >>> write_report("report.html", result, logits, labels)  # doctest: +SKIP
    """
    write_text(checked_output_path(Path(path)), html_report(audit, logits, labels, title=title))


def _softmax_charts(audit: Audit, certainty: NDArray[np.float64], gate: float | None) -> list[str]:
    """The sections about softmax and the response units; certainty comes last where the head has no gate."""
    parts = {
        "gate": escaped(gate_note(gate)),
        "uncertain": escaped(uncertainty_note(certainty)),
        "pooled_key": "" if gate is None else '<span><i class="key band"></i>would be pooled</span>',
        "control": "" if gate is None else _asset("gate.html"),
        "reliability": escaped(reliability_note(audit)),
        "head_key": "" if audit.reliability is None else '<span><i class="key diamond"></i>of the head</span>',
    }
    sections = [Template(_asset("certainty.html")).substitute(parts), _asset("responses.html")]
    return [*_abstention_section(audit), *(sections[::-1] if gate is None else sections)]


def _abstention_section(audit: Audit) -> list[str]:
    """What the head may decide alone; empty for a head without out-of-fold probabilities."""
    if audit.risk_coverage is None:
        return []
    promise = abstention(audit) or WITHOUT_LIMIT
    keys = [] if audit.abstention is None else [f'<span><i class="key limit"></i>{ACCEPTABLE}</span>']
    if audit.abstention is not None and audit.abstention.keeps_any:
        keys.append('<span><i class="key upright"></i>decided alone</span>')
    return [Template(_asset("abstention.html")).substitute(promise=unbroken(escaped(promise)), keys=" ".join(keys))]


def _audited_samples(audit: Audit, logits: ArrayLike, labels: ArrayLike) -> ReportedSamples:
    """The samples, if they are those that were audited."""
    with kept_warnings():  # the audit has given them
        checked = kept_if_many(as_logits(logits))
    headings, one_logit = getattr(logits, "columns", None), is_one_logit(logits)
    _, codes = encode_labels(labels, checked.shape, list(audit.classes), headings, one_logit=one_logit)
    size, wrong = len(audit.classes), predicted_columns(checked) != codes
    counts = [np.bincount(values, minlength=size) for values in (codes, codes[wrong])]
    if not np.array_equal(np.transpose(counts), [(one.rows, one.errors) for one in audit.by_class]):
        raise ValueError(
            f"These are not the samples of the audit: it counted {audit.rows:,} samples and {audit.errors[0]:,} errors "
            f"of softmax; these are {len(codes):,} and {int(wrong.sum()):,}, or differ by class. Pass the same logits "
            "and labels to both."
        )
    return ReportedSamples(checked, codes, softmax_certainty(checked), wrong)


def _emphasised(verdict: str) -> str:
    """The verdict, in bold up to the colon."""
    start, _, reason = verdict.partition(":")
    return f"<strong>{escaped(start)}:</strong>{unbroken(escaped(reason))}"


def _embedded(data: dict[str, Any]) -> str:
    """JSON that can stand inside of a script element: nothing in it ends the element or begins another."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files("aftermax.report").joinpath("assets", name).read_text(encoding="utf-8")


def _content_security_policy(style: str, script: str) -> str:
    """Only this style and this script, and nothing from elsewhere."""
    return (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
