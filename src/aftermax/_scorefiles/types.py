"""Rows of a score file, what is wanted of it, and where in it an error is."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VALUES_AT_A_TIME, MOST_ROWS_AT_A_TIME = 2**18, 2**14  # in memory at once, where a file is streamed


class Rows(NamedTuple):
    """Some rows of a score file, in the file's order."""

    logits: NDArray[Any]
    labels: NDArray[Any] | None = None
    features: NDArray[Any] | None = None
    kept: dict[str, Any] | None = None  # columns that are handed on, as Arrow arrays


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a score file. The command's options have the same names.

    Attributes
    ----------
    part : str or None
        "val" takes ``val_logits``, ``val_labels`` and ``val_features`` of an .npz file.
    label_column : str or None
        The column of the labels. If None, ``label`` or ``labels``.
    labels, features : Path or None
        Files of their own for labels and features.
    classes : tuple of str
        Names of the classes. Columns with these names are taken, in this order, if the table has them.
    ignore, keep : tuple of str
        Columns that are left out, and columns that are handed on as they are.
    columns : tuple of tuples of str
        What the columns of the logits may be called, for a head that is fitted already: the last are its classes. If
        the table has none of them, it is refused.
    with_features : bool
        Whether features are read, if there are any.
    log : bool
        Whether the file has probabilities, whose logarithms are to be taken for logits.
    """

    part: str | None = None
    label_column: str | None = None
    labels: Path | None = None
    features: Path | None = None
    classes: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()
    with_features: bool = True
    log: bool = False


def of_arrays(row: int) -> str:
    """Where a row is, in a file that has no lines."""
    return f"row {row} (counted from 0)"


@dataclass(frozen=True)
class ScoreFile:
    """An open score file.

    Attributes
    ----------
    name : str
        The file's, for messages.
    batches : iterator of Rows
        All rows, some at a time, checked: numbers that are finite. To be gone through once.
    headings : list of str or None
        The headings of the logits' columns, if they have any.
    by_name : bool
        Whether the headings told which columns are logits.
    contents : str
        What else is there, in words.
    place : callable
        Where in the file a row is, in words.
    size : int
        How much there is to go through, in whatever unit; 0 if that is not known.
    position : callable
        How much has been gone through.
    """

    name: str
    batches: Iterator[Rows]
    headings: list[str] | None = None
    by_name: bool = False
    contents: str = ""
    place: Callable[[int], str] = of_arrays
    size: int = 0
    position: Callable[[], int] = lambda: 0


def rows_at_a_time(columns: int) -> int:
    """Rows to read at once."""
    return min(max(1, VALUES_AT_A_TIME // max(1, columns)), MOST_ROWS_AT_A_TIME)


def check_finite(values: NDArray[Any], place: Callable[[int, int], str]) -> None:
    """Refuse what is not a finite number; ``place`` says in words where a row and column are."""
    finite = np.isfinite(values)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    found = values[row, column]
    if np.isnan(found):
        raise ValueError(f"{place(row, column)} is empty or NaN: fill it or leave the row out.")
    masked = "For logits, a class that is masked out wants -1e4."
    raise ValueError(f"{place(row, column)} is {found}: finite numbers are needed. {masked}")


def listed(names: list[str]) -> str:
    """Names of columns or arrays in words; of many, the first dozen."""
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown}, ... {len(names)} in all"


def as_option(names: list[str]) -> str:
    """Names of columns as they are to be written after an option, in a shell.

    Examples
    --------
    >>> from aftermax._scorefiles.types import as_option
    >>> print(as_option(["id"]), as_option(["id", "born on"]))
    id 'id,born on'
    """
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))
