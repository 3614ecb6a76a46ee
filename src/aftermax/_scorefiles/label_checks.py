"""Labels and columns that do not match, found before a head is fitted on them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import refuse_number_headings
from aftermax._scorefiles.heading_names import classes_of_headings
from aftermax._scorefiles.labels import are_integers, labels_to_text, numbered_names
from aftermax._scorefiles.messages import MAX_NAMES_SHOWN, join_names, shell_argument
from aftermax._scorefiles.types import ScoreFile
from aftermax._utils.warned import warn
from aftermax.answers.names import Columns, same_name

NO_ROW = "no row has the label"
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
    if file.headings is not None and list(map(same_name, file.headings)) == [same_name(negative)]:
        raise ValueError(
            f"--positive {positive} contradicts {file.name}, whose column is called {negative}: rename the column, or "
            f"pass --positive {negative}."
        )
    return negative, positive


class NamedColumns(NamedTuple):
    """The class of each column, none if the order of the columns tells; and the labels, spelt as the classes."""

    classes: tuple[str, ...]
    labels: NDArray[Any]


def name_columns(logits: NDArray[Any], labels: NDArray[Any], file: ScoreFile, given: Sequence[str]) -> NamedColumns:
    """Which class each column is of: as given, or else by the headings. Warn of what is not matched exactly.

    Refuse a table with ids among the logits, numbers in place of headings, a label that has no column, or headings that
    name no label: the sorted labels would be a guess, and a wrong one permutes the classes.
    """
    if file.headings is None or labels.ndim != 1:
        return NamedColumns(tuple(given), labels)
    texts = labels_to_text(labels)
    counts = Counter(texts.tolist())
    found = None if given else classes_of_headings(counts, file.headings)
    names = list(given or (file.headings if found is None else found.classes))
    if not file.found_by_name:
        labelled = {heading for heading, name in zip(file.headings, names, strict=False) if name in counts}
        _refuse_id_columns(logits, file.headings, set(counts) | labelled, file.name)
    columns = Columns(names)
    places = {label: columns.find(label, times=0) for label in counts}
    if not given and found is None:
        _check_order(list(counts), file)
        return NamedColumns((), labels)
    if set(places.values()) != {None}:
        _refuse_unmatched(places, texts, names, file, given)
        labels = _spelt(labels, texts, {label: names[place] for label, place in places.items() if place is not None})
        columns.warn_of_spelling(file.name, stacklevel=5)
    if found is not None and found.remark is not None:
        _warn(f"{file.name}: {found.remark}")
    return NamedColumns(tuple(names), labels)


def _refuse_unmatched(
    places: dict[str, int | None], texts: NDArray[Any], names: list[str], file: ScoreFile, given: Sequence[str]
) -> None:
    unmatched = [label for label, place in places.items() if place is None]
    if not unmatched:
        return
    row = int(np.flatnonzero(np.isin(texts, unmatched))[0])
    label = texts[row].item()
    problem = "is not one of --classes" if given else "has no column"
    raise ValueError(
        f"{file.name}, {file.row_place(row)}: the label {label!r} {problem}; {_closest(label, names)}. Correct the "
        "label or the heading, remove the row, or name the class of each column, in order, with --classes."
    )


def _spelt(labels: NDArray[Any], texts: NDArray[Any], names: dict[str, str]) -> NDArray[Any]:
    """The labels with these names, as they are if nothing changes."""
    if all(label == name for label, name in names.items()):
        return labels
    return np.array([names[label] for label in texts.tolist()])


def _check_order(labels: list[str], file: ScoreFile) -> None:
    """Refuse headings that name no label, unless the labels count the columns from 0 or 1."""
    headings = file.headings or []
    refuse_number_headings(headings, file.name)
    size = len(headings)
    counted = set(labels) <= set(numbered_names(size)) or set(labels) == set(numbered_names(size, 1))
    if counted or len(labels) < 2 or len(labels) > size:  # the latter are refused for that
        return
    example = ",".join(sorted(labels)[:2])
    raise ValueError(
        f"{file.name} has no column that is called like a label: the columns are {join_names(headings)}, the labels "
        f"{join_names(sorted(labels))}. Name the class of each column with --classes, in the order of the columns, as "
        f"--classes {shlex.quote(example)},...; or rename the columns after the classes, and leave out others with "
        "--ignore."
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


def warn_of_columns(labels: NDArray[Any], classes: NDArray[Any], file: ScoreFile, *, by_name: bool) -> None:
    """Warn of columns whose class no row has, whether they are matched to classes by name or by their order."""
    headings, names = file.headings, labels_to_text(classes).tolist()
    if headings is None:
        return
    present = set(labels_to_text(labels).tolist())
    absent = sorted(heading for heading, name in zip(headings, names, strict=True) if name not in present)
    if not absent:
        return
    if not by_name:
        _warn(
            f"{file.name} has no column that is called like a label: {join_names(headings)} are used as "
            f"{join_names(names)}, in this order. If that is wrong, name the class of each column with --classes, or "
            "leave out columns that are not classes with --ignore."
        )
    elif file.answers is None and not are_integers(names):
        _warn(
            f"{file.name}: {NO_ROW} {join_names(absent)}, but there is a column of that name. Leave "
            f"out columns that are not classes, with --ignore {_ignored(absent)}."
        )


def _ignored(names: list[str]) -> str:
    """The columns to leave out, as they are typed; of many, where most are classes, a placeholder."""
    return shell_argument(names) if len(names) <= MAX_NAMES_SHOWN else "NAME,NAME"


def _warn(text: str) -> None:
    warn(text, stacklevel=4)
