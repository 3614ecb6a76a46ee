"""A head's answers to a score file of any length, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.label_checks import as_texts
from aftermax._scorefiles.read import open_scores
from aftermax._scorefiles.types import Rows, ScoreFile, Wanted
from aftermax._scorefiles.write import Predictions, writing
from aftermax._utils.progress import Progress

SOME = 5  # unknown labels that are named


@dataclass
class Tally:
    """How many rows were answered, how many of them have a label, and how many of those are right.

    Labels that are none of the head's classes are counted apart, and the first few of them are named.
    """

    rows: int = 0
    labelled: int = 0
    unknown: int = 0
    unknown_labels: list[str] = field(default_factory=list)
    right_by_softmax: int = 0
    right_by_head: int = 0

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """Softmax's and the head's; None where no row has a label."""
        if self.labelled == 0:
            return None
        return self.right_by_softmax / self.labelled, self.right_by_head / self.labelled

    def add(self, classes: NDArray[Any], rows: Rows, answers: NDArray[Any]) -> None:
        """Count some rows."""
        self.rows += len(answers)
        if rows.labels is None:
            return
        labels, names = as_texts(rows.labels), as_texts(classes)
        there = np.array([label is not None for label in rows.labels.tolist()])
        known = there & np.isin(labels, names)
        unknown = labels[there & ~known]
        self.unknown += len(unknown)
        self.unknown_labels = list(dict.fromkeys([*self.unknown_labels, *unknown.tolist()]))[:SOME]
        self.labelled += int(known.sum())
        self.right_by_softmax += int((names[rows.logits.argmax(axis=1)] == labels)[known].sum())
        self.right_by_head += int((as_texts(answers) == labels)[known].sum())


def score_file(head: Any, source: str, out: str, wanted: Wanted, *, probabilities: bool = False) -> Tally:
    """Write a fitted head's answers to the rows of a score file, some rows at a time.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted. Columns of a table are found by the names that it was fitted on, or by those of the classes. If there
        are none of these, they are taken in order where the classes are 0, 1, 2 and so on, and else refused.
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
    classes = tuple(as_texts(head.classes_).tolist())
    known = [*wanted.columns, tuple(getattr(head, "feature_names_in_", ())), classes]
    columns = tuple(dict.fromkeys(some for some in known if some))
    with open_scores(source, replace(wanted, columns=columns, with_features=width is not None)) as file:
        first = next(file.batches, None)
        if first is None:
            raise ValueError(f"{file.name} has no rows.")
        if width is not None and first.features is None:
            raise ValueError(
                f"{file.name} has no features, but the head was fitted with {width}. {file.contents}: add columns "
                "called feature_..., an array called features, or --features FILE."
            )
        if first.logits.shape[1] != len(classes):
            raise ValueError(
                f"{file.name} has {first.logits.shape[1]} columns of logits, but the head was fitted on {len(classes)}."
            )
        yield replace(file, batches=chain([first], file.batches))


def _answers(head: Any, rows: Rows, probabilities: bool) -> Predictions:
    features = {} if rows.features is None else {"features": rows.features}
    if not probabilities:
        return Predictions(head.predict(rows.logits, **features), None, rows.kept)
    shares = head.predict_proba(rows.logits, **features)
    return Predictions(head.classes_[shares.argmax(axis=1)], shares, rows.kept)
