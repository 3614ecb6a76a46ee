"""What is read from a score file: some of its rows, the options of reading it, and the open file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.messages import row_number
from aftermax.answers.scores import AnswerFormat

ONE_SCORE = "For the one score of a binary model, name the class whose log-odds it is with --positive."
VALUES_PER_BATCH, MAX_ROWS_PER_BATCH = 2**18, 2**14  # in memory at once


class Rows(NamedTuple):
    """Some rows of a score file, in the file's order."""

    logits: NDArray[Any]
    labels: NDArray[Any] | None = None
    features: NDArray[Any] | None = None
    kept: dict[str, Any] | None = None  # columns that are copied to the output, as Arrow arrays or lists
    groups: NDArray[Any] | None = None  # text or numbers; None where one is missing
    weights: NDArray[Any] | None = None  # numbers, as they are in the file
    told: NDArray[np.bool_] | None = None  # of answers: which classes they name


def rows_per_batch(columns: int) -> int:
    """How many rows to read at once."""
    return min(max(1, VALUES_PER_BATCH // max(1, columns)), MAX_ROWS_PER_BATCH)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a score file. The command's options have the same names.

    Attributes
    ----------
    part : str or None
        "val" reads ``val_logits``, ``val_labels`` and ``val_features`` of an .npz file.
    label_column : str or None
        The column of the labels. If None, ``label`` or ``labels``.
    groups, weights : str or None
        The columns, or the arrays of an .npz file, of what each sample is of and of its weight. An array may have the
        name of its part before this, as ``val_logits`` has.
    labels : Path or None
        A separate file for the labels.
    features : tuple of Path
        Separate files for features, which are put side by side.
    positive : str or None
        For a file with one column of scores: the class whose log-odds they are.
    classes : tuple of str
        Names of the classes. Columns with these names are read, in this order, if the table has them.
    ignore, keep : tuple of str
        Columns that are not read, and columns that are copied to the output.
    columns : tuple of tuples of str
        For a fitted head: possible names of the columns of logits. The last tuple holds its classes. A table with none
        of them is refused.
    with_features : bool
        Whether to read features, if there are any.
    log : bool
        Whether the file holds probabilities, whose logarithms serve as logits; those of one column, the log-odds.
    scores_key, scores_kind : str or None
        For a file with a JSON object on each line: where in the object the scores are, and of which kind.
    answers : AnswerFormat or None
        For a head that was fitted on answers: how these became logits.
    in_order : tuple of str or None
        For a table of a folder: the columns of logits that are taken in their order, as in the other tables there; if
        it is empty, none are, as columns are found by name. If None, there are no other tables.
    """

    part: str | None = None
    label_column: str | None = None
    groups: str | None = None
    weights: str | None = None
    labels: Path | None = None
    features: tuple[Path, ...] = ()
    positive: str | None = None
    classes: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()
    with_features: bool = True
    log: bool = False
    scores_key: str | None = None
    scores_kind: str | None = None
    answers: AnswerFormat | None = None
    in_order: tuple[str, ...] | None = None

    @property
    def least_columns(self) -> int:
        """How many columns of scores there must be. What a head was fitted on is known, and compared later."""
        return 1 if self.positive is not None or self.columns else 2


@dataclass(frozen=True)
class ScoreFile:
    """An open score file.

    Attributes
    ----------
    name : str
        The file's name, for messages.
    batches : iterator of Rows
        All rows, some at a time, with finite numbers. It can be iterated over once.
    headings : list of str or None
        The headings of the columns of logits, if there are any.
    found_by_name : bool
        Whether these columns were found by their headings, and not merely the ones that are left.
    contents : str
        The columns or arrays of the file, as the beginning of a sentence.
    row_place : callable
        Where a row is in the file, as text.
    size : int
        How much there is to read, in any unit; 0 if that is not known.
    position : callable
        How much has been read, in the same unit.
    answers : AnswerFormat or None
        How answers became logits, if these are answers and all are read.
    bytes_on_disk : int or None
        The size of the file; None for a pipe.
    """

    name: str
    batches: Iterator[Rows]
    headings: list[str] | None = None
    found_by_name: bool = False
    contents: str = ""
    row_place: Callable[[int], str] = row_number
    size: int = 0
    position: Callable[[], int] = lambda: 0
    answers: AnswerFormat | None = None
    bytes_on_disk: int | None = None
