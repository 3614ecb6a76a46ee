"""The tables of the report: by class, by pair of classes, and the candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from aftermax._audit.counts import ClassCounts, most_changed
from aftermax._audit.result import Audit
from aftermax._many.fitting import CLASS_MEANS, DISCRIMINANTS
from aftermax._utils.text import fewer, fewer_between, fewer_count, percent
from aftermax.auto.candidates import Candidates
from aftermax.report._summary import p_value_alone
from aftermax.report._text import escaped

MAX_LISTED_CLASSES = 200  # of more, those that change most
NARROW_COLUMNS = 5  # fit on a phone
LEAST_SEARCHED_CLASSES = 20  # with more, there is a box to search for one


class Cell(NamedTuple):
    """What a cell shows, as HTML, and what it is sorted by."""

    shown: str
    value: float = 0.0


def class_table(audit: Audit) -> str:
    """Wins and losses by true class; its columns can be sorted. Of many classes, one can be searched for."""
    columns = {counts.name: column for column, counts in enumerate(audit.by_class)}
    listed, others = most_changed(audit.by_class, MAX_LISTED_CLASSES)
    rows = [
        [
            Cell(_name(one.name), columns[one.name]),
            _count(one.rows),
            _count(one.errors),
            _change(one.net),
            *(Cell("", -1.0) if math.isnan(recall) else Cell(percent(recall), recall) for recall in one.recall),
            _count(one.wins),
            _count(one.losses),
        ]
        for one in listed
    ]
    headings = ["class", "samples", "errors", "change", "recall before", "recall after", "wins", "losses"]
    caption = "Errors are softmax's; change is how many fewer or more there are with the head."
    table = _table("classes", caption, headings, rows, texts=1, sorted_by=3)
    search = _class_search(audit, others) if len(audit.by_class) > LEAST_SEARCHED_CLASSES else ""
    return f"<div>\n{search}{table}\n</div>"


def _class_search(audit: Audit, others: list[ClassCounts]) -> str:
    """A box to search for a class, which the script shows, and which classes are listed."""
    which = "that change most" if audit.wins + audit.losses else "with the most errors"
    listed = "".join(
        f"The {MAX_LISTED_CLASSES} of {len(audit.by_class):,} classes {which}; the {one.name} have {one.errors:,} "
        f"errors, {one.wins:,} wins and {one.losses:,} losses together."
        for one in others
    )
    return (
        '<p class="control" id="class-search" hidden><label for="class-name">Find a class: </label>'
        '<input type="search" id="class-name" autocomplete="off" spellcheck="false"></p>\n'
        f'<p class="note" id="class-status" role="status">{listed}</p>\n'
    )


def pair_table(audit: Audit) -> str:
    """Pairs of classes that are confused less often than before, and those that are confused more often."""
    if not audit.pairs and not audit.tangled:
        return "<p>No pair of classes is confused more often or less often than before.</p>"
    rows = [
        [
            Cell(_name(pair.true)),
            Cell(_name(pair.taken_for)),
            _count(pair.before),
            _count(pair.after),
            _change(pair.before - pair.after),
        ]
        for pair in [*audit.pairs, *audit.tangled]
    ]
    before, after = audit.other_errors
    caption = f"Pairs of classes. All other errors: {before:,} before, {after:,} after."
    return _table("pairs", caption, ["true class", "predicted", "before", "after", "change"], rows, texts=2)


def candidate_table(audit: Audit) -> str:
    """The candidates of an AutoHead, or nothing."""
    if audit.candidates is None:
        return ""
    rows = []
    for one in audit.candidates.values():
        compared = one.name != "softmax"
        interval = fewer_between(*one.gain_interval)
        mark = ' <span class="chosen">chosen</span>' if one.name == audit.candidates.chosen else ""
        rows.append(
            [
                Cell(f"{escaped(one.name)}{mark}<br><small>{escaped(one.description)}</small>"),
                Cell(percent(one.error), one.error),
                Cell(f"{fewer(one.gain)}<br><small>{interval}</small>" if compared else ""),
                Cell(f"{one.wins:,}" if compared else ""),
                Cell(f"{one.losses:,}" if compared else ""),
                Cell(escaped(p_value_alone(one.p_value)) if compared else ""),
                Cell("" if math.isnan(one.log_loss) else f"{one.log_loss:.3f}"),
            ]
        )
    headings = ["candidate", "error", "change in errors", "wins", "losses", "p-value", "log loss"]
    caption = (
        f"The candidates of AutoHead, by their out-of-fold predictions: {_tiers(audit.candidates)} each have the "
        "corrections of the one before, and a share of them may be added. P-values are of each candidate alone."
    )
    if audit.candidates.weighted:
        caption += " Samples are weighted here; only wins and losses are numbers of samples."
    return f"<section>\n<h2>Candidates</h2>\n{_table('candidates', caption, headings, rows, texts=1)}\n</section>"


def _tiers(candidates: Candidates) -> str:
    """The tiers, from the safest to the richest."""
    if CLASS_MEANS not in candidates:
        return "biases, linear and combination"
    return "biases and class means" + (f", and {DISCRIMINANTS}," if DISCRIMINANTS in candidates else "")


def _name(name: object) -> str:
    return f'<span class="name">{escaped(name)}</span>'


def _count(count: int) -> Cell:
    return Cell(f"{count:,}", count)


def _change(drop: int) -> Cell:
    return Cell(fewer_count(drop), drop)


# ---- HTML ------------------------------------------------------------------------------------------------------------


def _table(
    name: str,
    caption: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    texts: int,
    sorted_by: int | None = None,
) -> str:
    """A table that scrolls by itself where it is too wide. With ``sorted_by``, its columns can be sorted.

    The first columns, as many as ``texts``, hold text; the others hold numbers. Of a wide table, a row is a list on a
    narrow screen, of numbers and what they are.
    """
    is_wide = len(headings) > NARROW_COLUMNS
    wide = ' class="wide"' if is_wide else ""
    kinds = ["text" if column < texts else "count" for column in range(len(headings))]
    top = "".join(_heading(heading, kinds[column], column, sorted_by) for column, heading in enumerate(headings))
    labels = ["", *headings[1:]] if is_wide else [""] * len(headings)
    body = "\n".join("<tr>" + "".join(map(_cell, row, kinds, labels)) + "</tr>" for row in rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{name}-caption">\n'
        f'<table id="{name}"{wide}><caption id="{name}-caption"><span>{escaped(caption)}</span></caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _heading(heading: str, kind: str, column: int, sorted_by: int | None) -> str:
    if sorted_by is None:
        return f'<th scope="col" class="{kind}">{heading}</th>'
    order = "descending" if column == sorted_by else "none"
    return f'<th scope="col" class="{kind}" aria-sort="{order}"><button type="button">{heading}</button></th>'


def _cell(cell: Cell, kind: str, label: str) -> str:
    labelled = f' data-label="{label}"' if label and cell.shown else ""
    shown = f"<span>{cell.shown}</span>" if labelled else cell.shown
    return f'<td class="{kind}" data-value="{cell.value:g}"{labelled}>{shown}</td>'
