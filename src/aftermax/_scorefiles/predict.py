"""Predict the rows of a score file of any length, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.fingerprint import Overlap
from aftermax._scorefiles.labels import labels_to_text
from aftermax._scorefiles.prediction_counts import PredictionCounts
from aftermax._scorefiles.read import open_scores
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile
from aftermax._scorefiles.write import Predictions, open_writer
from aftermax._utils.progress import Progress


class NoRowsError(ValueError):
    """A score file has no rows."""


def predict_file(
    head: Any,
    source: str,
    out: str,
    options: ReadOptions,
    *,
    probabilities: bool = False,
    progress: bool | None = None,
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
    progress : bool, default=None
        Whether to show a progress bar. If None, only on a terminal, and only if it takes longer than two seconds.
    """
    counts, unnamed = no_counts(head), without_column_names(head)
    with (
        open_for_head(head, source, options) as file,
        Progress("Predicting", max(1, file.size), progress if file.size else False) as bar,
        open_writer(out, head.classes_, probabilities, options.keep, certain=abstains(head)) as writer,
    ):
        for rows in file.batches:
            predictions = predict_rows(unnamed, rows, probabilities)
            writer.write(predictions)
            counts.add(head.classes_, rows, predictions)
            bar.step(file.position() - bar.done)
    return counts


def no_counts(head: Any) -> PredictionCounts:
    """The counts of no rows yet."""
    return PredictionCounts(overlap=None if head.reference_ is None else Overlap(head.reference_.fingerprint))


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
            raise NoRowsError(f"{file.name} has no rows.")
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
