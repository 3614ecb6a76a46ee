"""Which column of a table is what, by their headings."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.types import Wanted, as_option, listed

LABEL_COLUMNS = ("label", "labels")
FEATURE_PREFIX = "feature_"
UNNAMED = ("", "__index_level_0__")  # where pandas puts the index of a data frame
ENOUGH_TO_TELL = 20  # rows, of whether a column holds whole numbers only
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # as Python writes them
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NO_NAMES = "{name}: the first line holds numbers, not names ({shown}): add a line of headings."


class Plan(NamedTuple):
    """Which columns of a table are read, and as what."""

    logits: list[str]
    label: str | None
    features: list[str]
    keep: list[str]
    by_name: bool  # whether names told which columns are logits

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        label = [] if self.label is None else [self.label]
        return list(dict.fromkeys([*self.logits, *label, *self.features, *self.keep]))


def plan(names: list[str], wanted: Wanted, name: str) -> Plan:
    """Which of the columns are what, by their names."""
    _refuse_decimals(names, wanted, name)
    twice = [one for one, times in Counter(names).items() if times > 1 and one not in UNNAMED]
    if twice:
        raise ValueError(f"{name} has more than one column called {listed(twice)}: rename or remove all but one.")
    asked = {"--label-column": [wanted.label_column or ""], "--ignore": wanted.ignore, "--keep": wanted.keep}
    for option, columns in asked.items():
        missing = [one for one in columns if one and one not in names]
        if missing:
            raise ValueError(f"{name} has no column {missing[0]!r} for {option}: it has {listed(names)}.")
    label = wanted.label_column or _label_column(names, wanted, name)
    others = [one for one in names if one not in (label, *wanted.ignore, *wanted.keep, *UNNAMED)]
    expected = wanted.columns or ((wanted.classes,) if wanted.classes else ())
    named = next((list(some) for some in expected if set(some) <= set(others)), None)
    known = {one for some in expected for one in some}
    features = [one for one in others if one.startswith(FEATURE_PREFIX) and one not in known]
    logits = named or [one for one in others if one not in features]
    if named is None and wanted.columns:
        _accept_in_order(logits, wanted.columns, names, name)
    if len(logits) < 2:
        raise ValueError(
            f"{name} has {len(logits)} columns that can be logits, of {listed(names)}: one for each class is needed, "
            "so at least two, separated by commas, semicolons or tabs."
        )
    return Plan(logits, label, features if wanted.with_features else [], list(wanted.keep), named is not None)


def _label_column(names: list[str], wanted: Wanted, name: str) -> str | None:
    classes = {one for some in (wanted.classes, *wanted.columns) for one in some}
    found = [one for one in LABEL_COLUMNS if one in names and one not in (*wanted.ignore, *classes)]
    if len(found) > 1:
        raise ValueError(f"{name} has columns {listed(found)}: say which has the labels with --label-column.")
    return found[0] if found else None


def _accept_in_order(logits: list[str], expected: tuple[tuple[str, ...], ...], names: list[str], name: str) -> None:
    """Refuse columns without a head's names, unless its classes count the columns, and its file knows no headings."""
    classes = expected[-1]
    counted = len(expected) == 1 and list(classes) == counting(len(classes))
    if not counted or len(logits) != len(classes) or set(logits) & set(classes):
        best = max(expected, key=lambda some: len(set(some) & set(names)))
        missing = [one for one in best if one not in names] or list(best)
        raise ValueError(f"{name} has no column for {listed(missing)}. Its columns are {listed(names)}.")
    refuse_numbers(logits, name)
    warnings.warn(
        f"{name} has no column that is called like a class: {listed(logits)} are taken for {listed(list(classes))}, in "
        "this order.",
        UserWarning,
        stacklevel=2,
    )


# ---- headings that are numbers ---------------------------------------------------------------------------------------


def counting(size: int, first: int = 0) -> list[str]:
    """Names that count."""
    return list(map(str, range(first, first + size)))


def _refuse_decimals(names: list[str], wanted: Wanted, name: str) -> None:
    """Refuse headings that are no names but the numbers of a row, where none of them is one that is looked for."""
    known = {*LABEL_COLUMNS, wanted.label_column, *wanted.classes, *(one for some in wanted.columns for one in some)}
    decimals = [one for one in names if NUMBER.fullmatch(one) and not WHOLE.fullmatch(one)]
    if len(decimals) > 1 and not known & set(names):
        raise ValueError(NO_NAMES.format(name=name, shown=listed(names)))


def refuse_numbers(headings: list[str], name: str) -> None:
    """Refuse headings that are all numbers, and do not count the columns."""
    counts = [counting(len(headings), first) for first in (0, 1)]
    if all(map(NUMBER.fullmatch, headings)) and headings not in counts:
        raise ValueError(NO_NAMES.format(name=name, shown=listed(headings)))


# ---- columns that hold no logits -------------------------------------------------------------------------------------


def refuse_whole_numbers(logits: NDArray[Any], headings: list[str], known: set[str], name: str) -> None:
    """Refuse a column of whole numbers among others, unless its heading is known: it counts or names the rows."""
    if len(logits) < ENOUGH_TO_TELL:
        return
    whole = (logits == np.floor(logits)).all(axis=0)
    varied = (logits != logits[0]).any(axis=0)  # a class that is masked out is the same in all rows
    for j in np.flatnonzero(whole & varied) if not whole.all() else ():
        if headings[j] not in known:
            raise ValueError(
                f"{name}, column {headings[j]!r} holds whole numbers only, unlike others, so it is hardly a "
                f"class's logits: leave it out with --ignore {as_option([headings[j]])}, or name the classes' columns "
                "with --classes."
            )
