"""The tables of the report, in the words of the audit. Whatever users have named is escaped."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aftermax._audit.result import Audit, ClassCounts, rows_to_be_sure
from aftermax._utils.text import fewer, fewer_between, fewer_count, p_value, percent
from aftermax.report._glossary import ANSWERING

MOST_LISTED = 200  # classes in the table: of more, those that change most


class Cell(NamedTuple):
    """What a cell of a table shows, and what it is sorted by."""

    shown: str
    value: float = 0.0


def text(name: object) -> str:
    """A name as text that can be written to a file."""
    return str(name).encode("utf-8", "replace").decode("utf-8")


def escaped(name: object) -> str:
    """A name that is shown as it is, whatever is in it.

    Examples
    --------
    >>> from aftermax.report._tables import escaped
    >>> escaped("<b>cat</b>")
    '&lt;b&gt;cat&lt;/b&gt;'
    """
    return html.escape(text(name))


def unbroken(words: str) -> str:
    """Escaped words with their percentages and p-values kept on one line each.

    Examples
    --------
    >>> from aftermax.report._tables import unbroken
    >>> unbroken("a gain of +7 %")
    'a gain of <span class="unbroken">+7 %</span>'
    """
    return re.sub(r"[-+]?[\d.,]+ %|p (?:=|&lt;) [\d.e-]*\d", r'<span class="unbroken">\g<0></span>', words)


# ---- what was found --------------------------------------------------------------------------------------------------


def warning_list(audit: Audit) -> str:
    """What the audit warned of, or nothing."""
    lines = "\n".join(f"<li>{escaped(words)}</li>" for words in audit.warnings)
    return f'<div class="mind" role="note">\n<p>Mind:</p>\n<ul>\n{lines}\n</ul>\n</div>' if lines else ""


def key_figures(audit: Audit) -> str:
    """The four numbers to look at first."""
    before, after = audit.errors
    interval = f"95 % interval: {fewer_between(*audit.gain_interval)}"
    gain = (fewer(audit.gain), interval) if before else ("none to take", "softmax makes no errors")
    tiles = [
        ("Error by softmax", percent(audit.error_before), f"{before:,} of {audit.rows:,} rows"),
        (f"Error by {_answering(audit)}", percent(audit.error_after), f"{after:,} of {audit.rows:,} rows"),
        ("Change in errors", *gain),
        ("Wins and losses", f"{audit.wins:,} : {audit.losses:,}", f"McNemar's test: p {p_value(audit.p_value)}"),
    ]
    return "\n".join(
        f'<div class="tile"><dt>{name}</dt><dd class="number">{number}</dd><dd>{more}</dd></div>'
        for name, number, more in map(_all_escaped, tiles)
    )


def _answering(audit: Audit) -> str:
    """Whose held-out answers "after" is about: where softmax stays, no head answers."""
    return "the best candidate" if audit.chosen == "softmax" and audit.candidates is not None else "the head"


def _alone(value: float) -> str:
    """A p-value in a cell of its own."""
    return p_value(value).removeprefix("= ")


def _all_escaped(parts: Iterable[str]) -> list[str]:
    return [unbroken(html.escape(part)) for part in parts]


def summary_table(audit: Audit) -> str:
    """Every figure of the audit, one to a line."""
    before, after = audit.errors
    answering = ANSWERING.get(audit.chosen, f"{audit.chosen}: the head that was passed")
    errors = [
        ("Rows", f"{audit.rows:,}"),
        ("Classes", f"{len(audit.classes):,}"),
        ("Errors before (softmax)", f"{before:,} ({percent(audit.error_before)})"),
        (
            f"Errors after ({_answering(audit)}, on rows that the head had not seen)",
            f"{after:,} ({percent(audit.error_after)})",
        ),
        ("Gain: change in errors, relative to softmax's", fewer(audit.gain) if before else "no errors to take"),
    ]
    if before:
        errors.append(("95 % interval of the gain on as many new rows", fewer_between(*audit.gain_interval)))
    evidence = [
        ("Wins: rows that only the head gets right", f"{audit.wins:,}"),
        ("Losses: rows that only softmax gets right", f"{audit.losses:,}"),
        ("p-value of McNemar's test, exact and two-sided", _alone(audit.p_value)),
        ("p-value of the head's own test", "none" if audit.head_p_value is None else _alone(audit.head_p_value)),
        ("Labelled rows needed to be sure of this gain", rows_to_be_sure(audit)),
        ("What the head answers with", answering),
    ]
    return _figures("Errors", errors) + "\n" + _figures("Evidence", evidence)


def _figures(caption: str, lines: Sequence[tuple[str, str]]) -> str:
    body = "\n".join(
        f'<tr><th scope="row">{unbroken(html.escape(name))}</th>'
        f"<td{_kind(value)}>{unbroken(html.escape(value))}</td></tr>"
        for name, value in lines
    )
    return (
        f'<div class="scroll"><table class="figures"><caption>{caption}</caption>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _kind(value: str) -> str:
    """Many words may be broken into lines; few are not."""
    return ' class="words"' if len(value) > 25 else ""


def class_table(audit: Audit) -> str:
    """Wins and losses by true class, to be sorted by any column."""
    places = {one.name: place for place, one in enumerate(audit.by_class)}
    order = sorted(audit.by_class, key=lambda one: (-abs(one.net), -one.wins - one.losses, -one.errors))
    listed, others = order[:MOST_LISTED], order[MOST_LISTED:]
    listed.sort(key=lambda one: (-one.net, one.losses, -one.errors))
    rows = [
        [
            Cell(_name(one.name), places[one.name]),
            *(Cell(f"{count:,}", count) for count in (one.rows, one.errors)),
            _change(one.net),
            *(Cell("", -1.0) if math.isnan(share) else Cell(percent(share), share) for share in one.recall),
            *(Cell(f"{count:,}", count) for count in (one.wins, one.losses)),
        ]
        for one in listed
    ]
    heads = ["class", "rows", "errors", "change", "found before", "found after", "wins", "losses"]
    caption = "Errors are softmax's; change is how many there are fewer or more with the head."
    if others:
        caption += f" These are the {MOST_LISTED} classes that change most; {_sums(others)}."
    return _table("classes", caption, heads, rows, texts=1, sorted_by=3)


def _name(name: object) -> str:
    return f'<span class="name">{escaped(name)}</span>'


def _change(drop: int) -> Cell:
    return Cell(fewer_count(drop), drop)


def _sums(others: list[ClassCounts]) -> str:
    wins, losses = (sum(getattr(one, kind) for one in others) for kind in ("wins", "losses"))
    return f"the other {len(others):,} have {wins:,} wins and {losses:,} losses together"


def pair_table(audit: Audit) -> str:
    """Pairs of classes that are confused less often than before, and those that are more often."""
    if not audit.pairs and not audit.tangled:
        return "<p>No pair of classes is confused more often or less often than before.</p>"
    rows = [
        [
            Cell(_name(one.true)),
            Cell(_name(one.taken_for)),
            *(Cell(f"{count:,}", count) for count in (one.before, one.after)),
            _change(one.before - one.after),
        ]
        for one in [*audit.pairs, *audit.tangled]
    ]
    before, after = audit.other_errors
    caption = f"Pairs of classes. All other errors: {before:,} before, {after:,} after."
    return _table("pairs", caption, ["class", "taken for", "before", "after", "change"], rows, texts=2)


def candidate_table(audit: Audit) -> str:
    """What an AutoHead tried, or nothing."""
    if audit.candidates is None:
        return ""
    rows = []
    for one in audit.candidates.values():
        compared = one.name != "softmax"
        interval = fewer_between(*one.gain_interval)
        mark = ' <span class="chosen">chosen</span>' if one.name == audit.candidates.chosen else ""
        rows.append(
            [
                Cell(f"{escaped(one.name)}{mark}<br><small>{escaped(one.in_words)}</small>"),
                Cell(percent(one.error), one.error),
                Cell(f"{fewer(one.gain)}<br><small>{interval}</small>" if compared else ""),
                Cell(f"{one.wins:,}" if compared else ""),
                Cell(f"{one.losses:,}" if compared else ""),
                Cell("" if math.isnan(one.log_loss) else f"{one.log_loss:.3f}"),
                Cell(html.escape(_alone(one.p_value)) if compared else ""),
            ]
        )
    heads = ["candidate", "error", "change in errors", "wins", "losses", "log-loss", "p-value"]
    caption = "What AutoHead tried. Each row was judged by heads that had not seen it."
    if audit.candidates.weighted:
        caption += " Rows count unequally here, as was asked for; only wins and losses are numbers of rows."
    return f"<section>\n<h2>What was tried</h2>\n{_table('candidates', caption, heads, rows, texts=1)}\n</section>"


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(
    name: str,
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    texts: int,
    sorted_by: int | None = None,
) -> str:
    """A table that scrolls by itself where it is too wide. With ``sorted_by``, its columns can be sorted."""
    kinds = ["text" if place < texts else "count" for place in range(len(heads))]
    top = "".join(_head(head, kinds[place], place, sorted_by) for place, head in enumerate(heads))
    body = "\n".join("<tr>" + "".join(map(_cell, row, kinds)) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}-caption">\n'
        f'<table id="{name}"><caption id="{name}-caption"><span>{html.escape(caption)}</span></caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _head(head: str, kind: str, place: int, sorted_by: int | None) -> str:
    if sorted_by is None:
        return f'<th scope="col" class="{kind}">{head}</th>'
    order = "descending" if place == sorted_by else "none"
    return f'<th scope="col" class="{kind}" aria-sort="{order}"><button type="button">{head}</button></th>'


def _cell(cell: Cell, kind: str) -> str:
    return f'<td class="{kind}" data-value="{cell.value:g}">{cell.shown}</td>'
