"""A check as one HTML file, in the style of the report on an audit: no network, no script and no other file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from aftermax._check.result import HEADINGS, NOTE, Check
from aftermax._utils.files import checked_output_path, write_text
from aftermax.report._tables import NARROW_COLUMNS
from aftermax.report._text import escaped, unbroken

DRIFT_HEADINGS = ["", "quantity", "class", "was", "is", "effect", "p-value"]


def check_html(check: Check, *, title: str | None = None) -> str:
    """A check as a page of HTML: the verdict, the comparisons, and drift. The same check gives the same page.

    Parameters
    ----------
    check : Check
        The result of :func:`~aftermax.check`.
    title : str, default=None
        The heading above the verdict.

    Examples
    --------
    >>> from aftermax import SPHClassifier, check
    >>> from aftermax.data import load_vmnist
    >>> from aftermax.report import check_html
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> "<h1>Is the head still good?</h1>" in check_html(check(head, scores.test_logits))
    True
    """
    if not isinstance(check, Check):
        raise TypeError(f"This page takes a Check, not {type(check).__name__}: pass what aftermax.check gives.")
    style = _asset("report.css")
    compared = check.comparison_rows()
    return Template(_asset("check.html")).substitute(
        title=escaped(title or "Is the head still good?"),
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; base-uri 'none'; form-action 'none'",
        style=style,
        verdict=_emphasised(check),
        size=f"{check.n_samples:,} new samples, {'without' if check.against_softmax is None else 'with'} labels",
        warnings=_warnings(check),
        compared=_section("Errors", f"{NOTE} {check.counted}", HEADINGS, compared, texts=1) if compared else "",
        drift=_drift(check),
    )


def write_check(path: str | os.PathLike[str], check: Check, *, title: str | None = None) -> None:
    """Write a check as an HTML file, atomically; see :func:`check_html`.

    Examples
    --------
    >>> from aftermax.report import write_check
    >>> write_check("check.html", result)  # doctest: +SKIP
    """
    write_text(checked_output_path(Path(path)), check_html(check, title=title))


def _emphasised(check: Check) -> str:
    """The verdict, in bold up to the colon."""
    start, colon, reason = check.verdict.partition(":")
    if check.against_softmax is None:
        return unbroken(escaped(check.verdict))
    return f"<strong>{escaped(start)}{colon}</strong>{unbroken(escaped(reason))}"


def _warnings(check: Check) -> str:
    items = "\n".join(f"<li>{escaped(text)}</li>" for text in check.warnings)
    return f'<div class="warnings" role="note">\n<p>Warnings</p>\n<ul>\n{items}\n</ul>\n</div>' if items else ""


def _drift(check: Check) -> str:
    if check.drift is None or check.was_fitted_on or check.drift.too_few:
        return f"<section>\n<h2>Drift</h2>\n<p>{escaped(check.drift_sentence)}</p>\n</section>"
    note = (
        f"{check.drift_sentence} Marked with a star: significant, and not a trifle. The effect is in standard "
        "deviations; the p-values are corrected for all quantities."
    )
    return _section("Drift", note, DRIFT_HEADINGS, check.drift.rows(), texts=3)


def _section(heading: str, note: str, headings: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    is_wide = len(headings) - texts >= NARROW_COLUMNS
    head = _line("th", headings, texts)
    body = "\n".join(_line("td", row, texts, headings if is_wide else ()) for row in rows)
    wide = ' class="wide"' if is_wide else ""
    table = f"<table{wide}>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody></table>"
    words = unbroken(escaped(note))
    return f'<section>\n<h2>{heading}</h2>\n<p>{words}</p>\n<div class="scroll">{table}</div>\n</section>'


def _line(tag: str, cells: Sequence[str], texts: int, headings: Sequence[str] = ()) -> str:
    """A row of a table; its first cells are text, the others numbers. With ``headings``, these say what they are."""
    kinds = [' class="text"' if column < texts else "" for column in range(len(cells))]
    for column, heading in enumerate(headings):
        if column >= texts and cells[column]:
            kinds[column] += f' data-label="{escaped(heading)}"'
    shown = (
        f"<{tag}{kind}><span>{unbroken(escaped(cell))}</span></{tag}>" if cell else f"<{tag}{kind}></{tag}>"
        for cell, kind in zip(cells, kinds, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _asset(name: str) -> str:
    return files("aftermax.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
