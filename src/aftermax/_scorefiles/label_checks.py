"""Labels and columns that do not match, found before a head is fitted on them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import numbered_names, refuse_number_headings
from aftermax._scorefiles.labels import are_integers, labels_to_text
from aftermax._scorefiles.messages import MAX_NAMES_SHOWN, join_names, shell_argument
from aftermax._scorefiles.types import ScoreFile

ENOUGH_ROWS = 20  # to conclude that a column holds integers only


def check_classes(classes: Sequence[str], columns: int, file: ScoreFile) -> None:
    """Refuse --classes that do not name each column once."""
    repeated = [one for one, times in Counter(classes).items() if times > 1]
    if repeated:
        raise ValueError(f"--classes names {join_names(repeated)} more than once: name each class once.")
    if classes and len(classes) != columns:
        raise ValueError(
            f"--classes names {len(classes)} classes, but {file.name} has {columns} columns of logits: name one class "
            "for each column, in order."
        )


def both_classes(positive: str, labels: NDArray[Any], columns: int, file: ScoreFile) -> tuple[str, str]:
    """The negative and the positive class of a file with one column of scores."""
    if columns > 1:
        names = f"{columns} columns" if file.headings is None else join_names(file.headings)
        raise ValueError(
            f"--positive is for one column of scores, but {file.name} has {names}: leave out the others with --ignore, "
            "or --positive if there is a column for each class."
        )
    present = sorted(set(labels_to_text(labels.ravel()).tolist()))
    if positive not in present:
        raise ValueError(f"--positive {positive} is no label of {file.name}: {_closest(positive, present)}.")
    if len(present) != 2:
        raise ValueError(
            f"{file.name} has one column of scores, for two classes, but the labels are {join_names(present)}: "
            "correct the labels, or pass a column for each class."
        )
    negative = next(name for name in present if name != positive)
    if file.headings == [negative]:
        raise ValueError(
            f"--positive {positive} contradicts {file.name}, whose column is called {negative}: rename the column, or "
            f"pass --positive {negative}."
        )
    return negative, positive


def check_labels(logits: NDArray[Any], labels: NDArray[Any], file: ScoreFile, classes: Sequence[str]) -> None:
    """Refuse a table with ids among the logits, numbers in place of headings, or a label that has no column."""
    if file.headings is None or labels.ndim != 1:
        return
    texts = labels_to_text(labels)
    present, first_rows = np.unique(texts, return_index=True)
    names = list(classes or file.headings)
    if not file.found_by_name:
        _refuse_id_columns(logits, file.headings, set(present.tolist()), file.name)
    unmatched = ~np.isin(present, names)
    if unmatched.all():
        if not classes:
            refuse_number_headings(file.headings, file.name)
    elif unmatched.any():
        row = int(first_rows[unmatched].min())
        label = texts[row].item()
        problem = "is not one of --classes" if classes else "has no column"
        raise ValueError(
            f"{file.name}, {file.row_place(row)}: the label {label!r} {problem}; {_closest(label, names)}. Correct the "
            "label or the heading, remove the row, or name the class of each column, in order, with --classes."
        )


def _refuse_id_columns(logits: NDArray[Any], headings: list[str], labels: set[str], name: str) -> None:
    """Refuse a column of integers among decimal numbers, unless it is called like a label: it is probably an id."""
    if len(logits) < ENOUGH_ROWS:
        return
    integers = (logits == np.floor(logits)).all(axis=0)
    varied = (logits != logits[0]).any(axis=0)  # the logits of a class that is masked out are constant
    found = np.flatnonzero(integers & varied) if not integers.all() else ()
    foreign = [headings[column] for column in found if headings[column] not in labels]
    if len(foreign) == 1:
        raise ValueError(
            f"{name}, column {foreign[0]!r} holds integers only, unlike the others, so it is probably not the logits "
            f"of a class: leave it out with --ignore {shell_argument(foreign)}, or name the columns of the classes "
            "with --classes."
        )
    if foreign:
        raise ValueError(
            f"{name}, columns {join_names(foreign)} hold integers only, unlike the others, so they are probably not "
            f"the logits of classes: leave them out with --ignore {_ignored(foreign)}, or name the columns of the "
            "classes with --classes."
        )


def _closest(label: str, names: list[str]) -> str:
    by_letters = {name.strip().casefold(): name for name in names}
    close = get_close_matches(label.strip().casefold(), by_letters, n=1, cutoff=0.75)
    return f"there is {by_letters[close[0]]!r}" if close else f"there are {join_names(names)}"


def warn_of_columns(labels: NDArray[Any], classes: NDArray[Any], file: ScoreFile) -> None:
    """Warn of columns whose class no row has, and of columns that are matched to classes by their order."""
    headings, names = file.headings, labels_to_text(classes).tolist()
    if headings is None:
        return
    absent = sorted(set(names) - set(labels_to_text(labels).tolist()))
    if headings == names:
        if absent and file.answers is None and not are_integers(names):
            _warn(
                f"{file.name}: no row has the label {join_names(absent)}, but there is a column of that name. Leave "
                f"out columns that are not classes, with --ignore {_ignored(absent)}."
            )
    elif absent or names not in (numbered_names(len(names)), numbered_names(len(names), 1)):
        _warn(
            f"{file.name} has no column that is called like a label: {join_names(headings)} are used as "
            f"{join_names(names)}, in this order. If that is wrong, name the class of each column with --classes, or "
            "leave out columns that are not classes with --ignore."
        )


def _ignored(names: list[str]) -> str:
    """The columns to leave out, as they are typed; of many, where most are classes, a placeholder."""
    return shell_argument(names) if len(names) <= MAX_NAMES_SHOWN else "NAME,NAME"


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)
