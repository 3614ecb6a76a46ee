"""All rows of a score file for a head that is fitted, with their labels if there are any."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.groups_weights import join_groups, join_weights
from aftermax._scorefiles.labels import labels_to_text
from aftermax._scorefiles.messages import join_names
from aftermax._scorefiles.predict import open_for_head
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile
from aftermax._scorefiles.unpacked import all_rows
from aftermax._utils.warned import warn
from aftermax.answers.names import Columns


class HeadScores(NamedTuple):
    """What :func:`aftermax.check` takes."""

    logits: NDArray[Any]
    labels: NDArray[Any] | None
    features: NDArray[Any] | None
    groups: NDArray[Any] | None
    weights: NDArray[np.float64] | None


def read_for_check(head: Any, source: str, options: ReadOptions) -> HeadScores:
    """The scores of new samples, and their labels if the file has any, as the classes of the head.

    If only some rows have labels, these are read, and a warning says how many are left out.
    """
    with open_for_head(head, source, options) as file:
        batches = all_rows(file)
        labels = _labels(batches)
        kept = _labelled(labels, file)
        classes = None if labels is None else _classes(head, labels, kept, file)
        groups, weights = join_groups(batches, file, options), join_weights(batches, file, options)
    features = [rows.features for rows in batches if rows.features is not None]
    return HeadScores(
        np.concatenate([rows.logits for rows in batches])[kept],
        classes,
        np.concatenate(features)[kept] if features else None,
        None if groups is None else groups[kept],
        None if weights is None else weights[kept],
    )


def _labels(batches: list[Rows]) -> NDArray[Any] | None:
    """The label of each row, None where it has none; None if no row has one."""
    found = [rows.labels.astype(object) for rows in batches if rows.labels is not None]
    labels = np.concatenate(found) if len(found) == len(batches) else None
    return None if labels is None or not any(label is not None for label in labels) else labels


def _labelled(labels: NDArray[Any] | None, file: ScoreFile) -> slice | NDArray[np.bool_]:
    """Which rows are used."""
    if labels is None:
        return slice(None)
    present = np.array([label is not None for label in labels])
    if not present.all():
        warn(
            f"{file.name}: {np.count_nonzero(~present):,} of {len(present):,} rows have no label and are left out.",
            stacklevel=4,
        )
    return present


def _classes(head: Any, labels: NDArray[Any], kept: slice | NDArray[np.bool_], file: ScoreFile) -> NDArray[Any]:
    """The labels of these rows as classes of the head, which may be of another type."""
    names = labels_to_text(head.classes_).tolist()
    columns = Columns(names)
    rows = np.arange(len(labels))[kept]
    texts = _texts(labels[kept])
    numbers = {text: columns.find(text, times=0) for text in set(texts)}
    unknown = next((row for row, text in zip(rows, texts, strict=True) if numbers[text] is None), None)
    if unknown is not None:
        raise ValueError(
            f"{file.name}, {file.row_place(int(unknown))}: the label {labels[unknown]!s} is not a class of the head; "
            f"there are {join_names(names)}. Correct the label, or remove the row."
        )
    columns.warn_of_spelling(file.name)
    return np.asarray(head.classes_[[numbers[text] for text in texts]])


def _texts(labels: NDArray[Any]) -> list[str]:
    """Labels as text, so that 3, 3.0 and "3" are the same class."""
    return [str(value) for value in labels_to_text(np.array(labels.tolist())).tolist()]
