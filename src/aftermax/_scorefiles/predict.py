"""Predict the rows of a score file of any length, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.fingerprint import Overlap
from aftermax._scorefiles.labels import labels_to_text
from aftermax._scorefiles.read import open_scores
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile
from aftermax._scorefiles.write import Predictions, open_writer
from aftermax._utils.one_logit import two_columns
from aftermax._utils.progress import Progress

MAX_UNKNOWN_LABELS = 5  # that are named


@dataclass
class PredictionCounts:
    """How many rows were predicted, how many of them have a label, and how many of those are correct.

    Labels that are not among the head's classes are counted separately, and the first few of them are named.
    """

    rows: int = 0
    labelled: int = 0
    unknown: int = 0
    unknown_labels: list[str] = field(default_factory=list)
    correct_by_softmax: int = 0
    correct_by_head: int = 0
    certain: int | None = None  # rows that the head decides alone, if it leaves others to a person
    certain_labelled: int = 0
    certain_correct: int = 0
    overlap: Overlap | None = None  # with the samples that the head was fitted on, if it remembers them

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """Softmax's and the head's; None if no row has a label."""
        if self.labelled == 0:
            return None
        return self.correct_by_softmax / self.labelled, self.correct_by_head / self.labelled

    @property
    def certain_accuracy(self) -> float | None:
        """That of the rows that the head decides alone; None if none of these has a label."""
        return self.certain_correct / self.certain_labelled if self.certain_labelled else None

    @property
    def fitted_on_share(self) -> float:
        """The share of the rows that the head was fitted on, as far as can be told; 0 if there are no labels."""
        return 0.0 if self.overlap is None or self.overlap.n_samples == 0 else self.overlap.share

    def add(self, classes: NDArray[Any], rows: Rows, predictions: Predictions) -> None:
        """Count some rows."""
        predicted, certain = predictions.predicted, predictions.certain
        self.rows += len(predicted)
        if certain is not None:
            self.certain = (self.certain or 0) + int(certain.sum())
        if rows.labels is None:
            return
        if self.overlap is not None:
            self.overlap.add(two_columns(rows.logits))
        labels, names = labels_to_text(rows.labels), labels_to_text(classes)
        present = np.array([label is not None for label in rows.labels.tolist()])
        known = present & np.isin(labels, names)
        unknown = labels[present & ~known]
        self.unknown += len(unknown)
        self.unknown_labels = list(dict.fromkeys([*self.unknown_labels, *unknown.tolist()]))[:MAX_UNKNOWN_LABELS]
        self.labelled += int(known.sum())
        self.correct_by_softmax += int((names[two_columns(rows.logits).argmax(axis=1)] == labels)[known].sum())
        correct = labels_to_text(predicted) == labels
        self.correct_by_head += int(correct[known].sum())
        if certain is not None:
            self.certain_labelled += int((known & certain).sum())
            self.certain_correct += int((correct & known & certain).sum())


def predict_file(
    head: Any, source: str, out: str, options: ReadOptions, *, probabilities: bool = False
) -> PredictionCounts:
    """Write a fitted head's predictions for the rows of a score file, some rows at a time.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted. Columns of a table are found by the names that the head was fitted on, or by those of its classes; the
        one column of a binary model by that of its second class. If there are none of these, they are taken in order if
        the classes are 0, 1, 2 and so on, and refused otherwise.
    source, out : str
        Paths, or "-" for standard input and output.
    options : ReadOptions
        Which columns or arrays to read. Labels are optional.
    probabilities : bool, default=False
        Whether to write probabilities, too.
    """
    overlap = None if head.reference_ is None else Overlap(head.reference_.fingerprint)
    counts, unnamed = PredictionCounts(overlap=overlap), without_column_names(head)
    with (
        open_for_head(head, source, options) as file,
        Progress("Predicting", max(1, file.size), None if file.size else False) as progress,
        open_writer(out, head.classes_, probabilities, options.keep, certain=abstains(head)) as writer,
    ):
        for rows in file.batches:
            predictions = predict_rows(unnamed, rows, probabilities)
            writer.write(predictions)
            counts.add(head.classes_, rows, predictions)
            progress.step(file.position() - progress.done)
    return counts


def read_for_head(head: Any, source: str, options: ReadOptions) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The logits of a score file, and the features if the head was fitted with features."""
    with open_for_head(head, source, options) as file:
        batches = list(file.batches)
    features = [rows.features for rows in batches if rows.features is not None]
    return np.concatenate([rows.logits for rows in batches]), np.concatenate(features) if features else None


def without_column_names(head: Any) -> Any:
    """A copy of a head that takes arrays without a warning, also if it was fitted on a data frame."""
    copied = copy(head)
    vars(copied).pop("feature_names_in_", None)
    return copied


@contextmanager
def open_for_head(head: Any, source: str, options: ReadOptions) -> Iterator[ScoreFile]:
    """Open a score file that has the columns that the head was fitted on, and at least one row."""
    width = head.features_width_
    if width is None and options.features:
        raise ValueError("This head was fitted without features: leave --features out.")
    read = options_of_head(head, options)
    with open_scores(source, read) as file:
        first = next(file.batches, None)
        if first is None:
            raise ValueError(f"{file.name} has no rows.")
        if width is not None and first.features is None and head.fitted_head_.uses_features:
            raise ValueError(
                f"{file.name} has no features, but the head was fitted with {width}. {file.contents}: add columns "
                "called feature_..., an array called features, or --features FILE."
            )
        columns = len(read.columns[-1])
        if first.logits.shape[1] != columns:
            raise ValueError(
                f"{file.name} has {first.logits.shape[1]} columns of logits, but the head was fitted on {columns}."
            )
        yield replace(file, batches=chain([first], file.batches))


def options_of_head(head: Any, options: ReadOptions) -> ReadOptions:
    """The same options, with the names that the head's columns may have."""
    classes = tuple(labels_to_text(head.classes_)[-head.n_features_in_ :].tolist())  # of one column: the second
    known = [*options.columns, tuple(getattr(head, "feature_names_in_", ())), classes]
    columns = tuple(dict.fromkeys(names for names in known if names))
    return replace(options, columns=columns, with_features=head.features_width_ is not None)


def abstains(head: Any) -> bool:
    """Whether the head leaves samples to a person."""
    return getattr(head.fitted_head_, "threshold", None) is not None


def predict_rows(head: Any, rows: Rows, probabilities: bool) -> Predictions:
    """A head's predictions for some rows; its column names are not compared, see :func:`without_column_names`."""
    features = {} if rows.features is None else {"features": rows.features}
    certain = head.is_certain(rows.logits, **features) if abstains(head) else None
    scores = head.predict_proba(rows.logits, **features) if probabilities else None
    if scores is None or head.fitted_head_.kind == "decision":  # which need not be the most probable class
        return Predictions(head.predict(rows.logits, **features), scores, rows.kept, certain)
    return Predictions(head.classes_[scores.argmax(axis=1)], scores, rows.kept, certain)
