"""A head's answers to a score file of any length, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax.progress import Progress
from aftermax.scorefiles.predictions import Predictions, writing
from aftermax.scorefiles.reading import open_scores
from aftermax.scorefiles.rows import Rows, ScoreFile, Wanted, listed


@dataclass
class Tally:
    """How many rows were answered, how many of them have a label, and how many of those are right."""

    rows: int = 0
    labelled: int = 0
    right_by_softmax: int = 0
    right_by_head: int = 0

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """Softmax's and the head's; None where no row has a label."""
        if self.labelled == 0:
            return None
        return self.right_by_softmax / self.labelled, self.right_by_head / self.labelled

    def add(self, classes: NDArray[Any], rows: Rows, answers: NDArray[Any]) -> None:
        """Count some rows. Labels that are none of the classes are no labels."""
        self.rows += len(answers)
        if rows.labels is None:
            return
        labels, names = _texts(rows.labels), _texts(classes)
        known = np.isin(labels, names)
        self.labelled += int(known.sum())
        self.right_by_softmax += int((names[rows.logits.argmax(axis=1)] == labels)[known].sum())
        self.right_by_head += int((_texts(answers) == labels)[known].sum())


def score_file(head: Any, source: str, out: str, wanted: Wanted, *, probabilities: bool = False) -> Tally:
    """Write a fitted head's answers to the rows of a score file, some rows at a time.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted. Columns of a table are found by the classes' names, or by those that the head was fitted on; if these
        are not there, by their order.
    source, out : str
        Paths, or "-" for standard input and output.
    wanted : Wanted
        Which columns or arrays are what. Labels are not needed.
    probabilities : bool, default=False
        Whether to write these too.
    """
    tally, answering = Tally(), taking_arrays(head)
    with (
        open_for(head, source, wanted) as file,
        Progress("Predicting", max(1, file.size), None if file.size else False) as progress,
        writing(out, head.classes_, probabilities, wanted.keep) as writer,
    ):
        for rows in file.batches:
            some = _answers(answering, rows, probabilities)
            writer.write(some)
            tally.add(head.classes_, rows, some.answers)
            progress.step(file.position() - progress.done)
    return tally


def read_for(head: Any, source: str, wanted: Wanted) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The logits of a score file, and the features if the head was fitted with them."""
    with open_for(head, source, wanted) as file:
        parts = list(file.batches)
    features = [rows.features for rows in parts if rows.features is not None]
    return np.concatenate([rows.logits for rows in parts]), np.concatenate(features) if features else None


def taking_arrays(head: Any) -> Any:
    """A copy of a head that was fitted on a data frame which takes arrays without a warning."""
    same = copy(head)
    vars(same).pop("feature_names_in_", None)
    return same


@contextmanager
def open_for(head: Any, source: str, wanted: Wanted) -> Iterator[ScoreFile]:
    """A score file with the columns that the head was fitted on, and at least one row."""
    width = getattr(head, "_width", None)  # of the features that it was fitted with
    if width is None and wanted.features is not None:
        raise ValueError("This head was fitted without features: leave --features out.")
    names = tuple(map(str, getattr(head, "feature_names_in_", head.classes_).tolist()))
    with open_scores(source, replace(wanted, classes=names, with_features=width is not None)) as file:
        first = next(file.batches, None)
        if first is None:
            raise ValueError(f"{file.name} has no rows.")
        if width is not None and first.features is None:
            raise ValueError(
                f"{file.name} has no features, but the head was fitted with {width}. {file.contents}: add columns "
                "called feature_..., an array called features, or --features FILE."
            )
        _check_columns(first, file, names)
        yield replace(file, batches=chain([first], file.batches))


def _answers(head: Any, rows: Rows, probabilities: bool) -> Predictions:
    features = {} if rows.features is None else {"features": rows.features}
    if not probabilities:
        return Predictions(head.predict(rows.logits, **features), None, rows.kept)
    shares = head.predict_proba(rows.logits, **features)
    return Predictions(head.classes_[shares.argmax(axis=1)], shares, rows.kept)


def _check_columns(rows: Rows, file: ScoreFile, names: tuple[str, ...]) -> None:
    """Refuse columns that cannot be the head's, before anything is written."""
    headings = [] if file.headings is None else file.headings
    missing = [name for name in names if name not in headings]
    if 0 < len(missing) < len(names) and not all(name.isdigit() for name in names):
        raise ValueError(f"{file.name} has no column for {listed(missing)}. {file.contents}.")
    found, size = rows.logits.shape[1], len(names)
    if found != size:
        hint = "" if file.headings is None else f" {file.contents}: leave out what is no logits with --ignore."
        raise ValueError(f"{file.name} has {found} columns of logits, but the head was fitted on {size}.{hint}")


def _texts(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as text, so that a 3 is a 3 whatever the file has it stored as."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all():
        labels = labels.astype(np.int64)
    return labels.astype(np.str_)
