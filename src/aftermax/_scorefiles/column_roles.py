"""Which columns of a table hold logits, labels, features, groups and weights, by their headings."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from aftermax._scorefiles.heading_names import Matched, find_headings
from aftermax._scorefiles.labels import are_integers, numbered_names
from aftermax._scorefiles.messages import join_names
from aftermax._scorefiles.types import ONE_SCORE, ReadOptions
from aftermax._utils.text import INTEGER
from aftermax._utils.warned import warn

LABEL_COLUMNS = ("label", "labels")
FEATURE_PREFIX = "feature_"
UNNAMED = ("", "__index_level_0__")  # where pandas writes the index of a data frame
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class ColumnRoles(NamedTuple):
    """The columns of a table that are read, by what they hold."""

    logits: list[str]
    label: str | None
    features: list[str]
    keep: list[str]
    found_by_name: bool  # whether the columns of logits were found by their names
    groups: str | None = None
    weights: str | None = None

    @property
    def columns(self) -> list[str]:
        """All columns that are read, each once."""
        single = [one for one in (self.label, self.groups, self.weights) if one is not None]
        return list(dict.fromkeys([*self.logits, *single, *self.features, *self.keep]))


def assign_roles(headings: list[str], options: ReadOptions, name: str) -> ColumnRoles:
    """The roles of the columns of the table ``name``, by their headings."""
    _check_headings(headings, options, name)
    label = options.label_column or _label_column(headings, options, name)
    _check_not_labels(label, options)
    not_logits = {label, options.groups, options.weights, *options.ignore, *options.keep, *UNNAMED}
    others = [one for one in headings if one not in not_logits]
    expected = options.columns or ((options.classes,) if options.classes else ())
    named = _find_expected(others, options, name)
    known = {one for names in expected for one in names}
    features = [one for one in others if one.startswith(FEATURE_PREFIX) and one not in known]
    logits = named or [one for one in others if one not in features]
    if options.in_order is not None and options.in_order != (() if named else tuple(logits)):
        raise _other_columns(logits, options, headings, name)
    if named is None and options.columns:
        _check_order(logits, options.columns, headings, name)
    if len(logits) < options.least_columns:
        raise ValueError(
            f"{name} has too few columns of logits, {len(logits)} among {join_names(headings)}: one for each class is "
            f"needed, so at least two, separated by commas, semicolons or tabs. {ONE_SCORE}"
        )
    features = features if options.with_features else []
    keep, found_by_name = list(options.keep), named is not None
    return ColumnRoles(logits, label, features, keep, found_by_name, options.groups, options.weights)


def _check_headings(headings: list[str], options: ReadOptions, name: str) -> None:
    """Refuse headings that are numbers or repeated, and options that name no column."""
    _refuse_decimals(headings, options, name)
    repeated = [one for one, times in Counter(headings).items() if times > 1 and one not in UNNAMED]
    if repeated:
        raise ValueError(f"{name} has several columns called {join_names(repeated)}: rename or remove all but one.")
    for option, columns in (
        ("--label-column", [options.label_column or ""]),
        ("--groups", [options.groups or ""]),
        ("--weights", [options.weights or ""]),
        ("--ignore", options.ignore),
        ("--keep", options.keep),
    ):
        missing = [one for one in columns if one and one not in headings]
        if missing:
            raise ValueError(f"{name} has no column {missing[0]!r} for {option}: it has {join_names(headings)}.")


def _check_not_labels(label: str | None, options: ReadOptions) -> None:
    for option, column in (("--groups", options.groups), ("--weights", options.weights)):
        if column is not None and column == label:
            raise ValueError(f"{option} {column} is the column of the labels: name another one.")


def _label_column(headings: list[str], options: ReadOptions, name: str) -> str | None:
    classes = {one for names in (options.classes, *options.columns) for one in names}
    present = [one for one in LABEL_COLUMNS if one in headings and one not in (*options.ignore, *classes)]
    if len(present) > 1:
        raise ValueError(f"{name} has columns {join_names(present)}: name the one with the labels with --label-column.")
    return present[0] if present else None


def _find_expected(headings: list[str], options: ReadOptions, name: str) -> list[str] | None:
    """The columns that are called as expected, in this order: exactly, if there are such, or else nearly so."""
    expected = options.columns or ((options.classes,) if options.classes else ())
    exact = next((list(names) for names in expected if set(names) <= set(headings)), None)
    if exact is not None:
        return exact
    # --classes may as well say what the columns are, in order: numbers, in x0, x1, x2, do not contradict it.
    with_affix = bool(options.columns) or not are_integers(options.classes)
    found: list[tuple[tuple[str, ...], Matched]] = []
    for names in expected:
        matched = find_headings(names, headings, with_affix=with_affix)
        if matched is not None:
            found.append((names, matched))
    if not found:
        return None
    names, matched = min(found, key=lambda one: one[1].affix is not None)
    says = matched.says(names, "the classes")
    if says is not None:
        warn(f"{name}: {says}", stacklevel=2)
    return matched.headings


def _check_order(logits: list[str], expected: tuple[tuple[str, ...], ...], headings: list[str], name: str) -> None:
    """Refuse columns without a head's names, unless its file holds no headings and the order of the columns is clear.

    It is clear if the classes are 0, 1, 2, ..., or for the one column of a head that was fitted on one logit.
    """
    classes = expected[-1]
    clear = len(expected) == 1 and (len(classes) == 1 or list(classes) == numbered_names(len(classes)))
    if not clear or len(logits) != len(classes) or set(logits) & set(classes):
        raise ValueError(f"{_missing_columns(expected, headings, name)} as in the file that the head was fitted on.")
    refuse_number_headings(logits, name)
    used = f"{join_names(logits)} are used as {join_names(list(classes))}, in this order"
    warn(
        f"{name} has no column that is called like a class: "
        f"{used if len(classes) > 1 else f'{logits[0]} is used as the score of {classes[0]}'}.",
        stacklevel=2,
    )


def _missing_columns(expected: tuple[tuple[str, ...], ...], headings: list[str], name: str) -> str:
    """Which of the expected columns a table lacks, as a message that is to be continued."""
    closest = max(expected, key=lambda names: len(set(names) & set(headings)))
    missing = [one for one in closest if one not in headings] or list(closest)
    return f"{name} has no column for {join_names(missing)}. Its columns are {join_names(headings)}. Name the columns"


def _other_columns(logits: list[str], options: ReadOptions, headings: list[str], name: str) -> ValueError:
    """The error for a table in a folder whose columns of logits are not found as in the other tables there."""
    if not options.in_order:
        missing = _missing_columns(options.columns, headings, name)
        return ValueError(f"{missing} alike in all files of the folder: in others they are found by their names.")
    others = join_names(list(options.in_order))
    return ValueError(
        f"{name} has {join_names(logits)} as columns of logits, but in other files of the folder they are {others}, in "
        "this order: name the columns alike in all files."
    )


# ---- headings that are numbers ---------------------------------------------------------------------------------------


def _refuse_decimals(headings: list[str], options: ReadOptions, name: str) -> None:
    """Refuse a first line of decimal numbers, if none of them is an expected heading."""
    expected = (options.classes, *options.columns)
    known = {*LABEL_COLUMNS, options.label_column, *(one for names in expected for one in names)}
    decimals = [one for one in headings if NUMBER.fullmatch(one) and not INTEGER.fullmatch(one)]
    if len(decimals) > 1 and not known & set(headings):
        raise _missing_headings(headings, name)


def refuse_number_headings(headings: list[str], name: str) -> None:
    """Refuse headings that are all numbers, unless they number the columns from 0 or 1."""
    numberings = [numbered_names(len(headings), first) for first in (0, 1)]
    if all(map(NUMBER.fullmatch, headings)) and headings not in numberings:
        raise _missing_headings(headings, name)


def _missing_headings(first_line: list[str], name: str) -> ValueError:
    return ValueError(
        f"{name}: the first line holds numbers, not names ({join_names(first_line)}): add a line of headings."
    )
