"""Read score files: all labelled rows at once, or any rows some at a time."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.csv_parquet import open_csv, open_parquet, read_label_column
from aftermax._scorefiles.groups_weights import join_groups, join_weights
from aftermax._scorefiles.json_lines import open_json_lines
from aftermax._scorefiles.label_checks import both_classes, check_classes, name_columns, warn_of_columns
from aftermax._scorefiles.labels import match_label_type, text_to_integers
from aftermax._scorefiles.messages import check_finite, row_number, shell_argument
from aftermax._scorefiles.npy import ArrayStream, open_npy, open_npz
from aftermax._scorefiles.sources import JSON_LINES, Source, open_source, seekable, size_and_position
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile
from aftermax._scorefiles.unpacked import all_rows, unpacked
from aftermax._utils.one_logit import log_odds
from aftermax._utils.softmax import MIN_PROBABILITY
from aftermax.answers.scores import TopKScores

ROUNDING = 1e-6  # by which a probability may exceed 1


class LabelledScores(NamedTuple):
    """All of a score file: logits, labels, the class and the heading of each column, and what else was asked for."""

    logits: NDArray[Any]
    labels: NDArray[Any]
    classes: NDArray[Any]
    headings: tuple[str, ...]
    features: NDArray[Any] | None
    groups: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None
    answers: TopKScores | None = None  # the logits with what is known of the answers that they were made of


def read_scores(path: str, options: ReadOptions | None = None) -> LabelledScores:
    """Read all labelled rows of a score file.

    Parameters
    ----------
    path : str
        A path that ends in .npz, .npy, .csv, .csv.gz, .parquet, .jsonl or .jsonl.gz, or "-" for standard input.
    options : ReadOptions, default=None
        Which columns or arrays to read, if not the usual ones.

    Examples
    --------
    >>> from aftermax.data import shipped_path
    >>> from aftermax._scorefiles import ReadOptions, read_scores
    >>> scores = read_scores(str(shipped_path(500)), ReadOptions(part="val"))
    >>> scores.logits.shape, scores.classes.tolist()
    ((4000, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    options = options or ReadOptions()
    with open_scores(path, options) as file:
        batches = all_rows(file)
    logits = batches[0].logits if len(batches) == 1 else np.concatenate([rows.logits for rows in batches])
    labels = _labels(batches, file)
    features = [rows.features for rows in batches if rows.features is not None]
    classes, labels = _classes(logits, labels, file, options)
    return LabelledScores(
        logits,
        labels,
        classes,
        tuple(file.headings or ()),
        np.concatenate(features) if features else None,
        join_groups(batches, file, options),
        join_weights(batches, file, options),
        _answers(logits, batches, classes, file),
    )


def _answers(logits: NDArray[Any], batches: list[Rows], classes: NDArray[Any], file: ScoreFile) -> TopKScores | None:
    told = [rows.told for rows in batches if rows.told is not None]
    if file.answers is None or not told:
        return None
    return TopKScores(logits, classes, np.concatenate(told), file.answers)


def _labels(batches: list[Rows], file: ScoreFile) -> NDArray[Any]:
    """The labels of all rows: as integers if they are text in the file and all are integers."""
    if any(rows.labels is None for rows in batches):
        column = "" if file.headings is None else "the column of the labels with --label-column, or "
        raise ValueError(
            f"{file.name} has no labels. {file.contents}: name {column}the file of the labels with --labels."
        )
    labels = np.concatenate([rows.labels for rows in batches if rows.labels is not None])
    if labels.dtype != object:
        return labels
    missing = next((row for row, label in enumerate(labels.tolist()) if label is None), None)
    if missing is not None:
        raise ValueError(f"{file.name}, {file.row_place(missing)} has no label: fill it in or remove the row.")
    return text_to_integers(labels)


def _classes(
    logits: NDArray[Any], labels: NDArray[Any], file: ScoreFile, options: ReadOptions
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The class of each column, of one column the negative and the positive class; and the labels, spelt as these."""
    from aftermax._utils.labels import encode_labels  # imports scikit-learn, which takes a second

    given = options.classes
    if options.positive is not None:
        given = both_classes(options.positive, labels, logits.shape[1], file)
    else:
        check_classes(given, logits.shape[1], file)
    named, labels = name_columns(logits, labels, file, given)
    classes = match_label_type(list(named), labels) if named else None
    # By the headings it is known already, unless the classes are given: then these must not contradict them.
    headings = match_label_type(file.headings, labels) if given and file.headings is not None else None
    try:
        shape = (len(logits), max(2, logits.shape[1]))
        names, _ = encode_labels(labels, shape, classes, headings, one_logit=logits.shape[1] == 1)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error
    if not given:
        warn_of_columns(labels, names, file, by_name=bool(named))
    return names, labels


# ---- some rows at a time ---------------------------------------------------------------------------------------------


@contextmanager
def open_scores(path: str, options: ReadOptions) -> Iterator[ScoreFile]:
    """Open a score file to iterate over its rows once. Labels are optional, and are not checked."""
    # If there is a separate file of labels, --label-column is a column of that file.
    own = options if options.labels is None else replace(options, label_column=None)
    with open_source(path) as source, _open_format(source, own) as file:
        batches = _with_separate_files(file, options)
        log = options.log and source.format not in JSON_LINES  # which are read as what they are
        size = os.fstat(source.file.fileno()).st_size if source.file.seekable() else None
        yield replace(file, batches=_logarithms(batches, file, options) if log else batches, bytes_on_disk=size)


@contextmanager
def _open_format(source: Source, options: ReadOptions) -> Iterator[ScoreFile]:
    file, suffix, name = source
    if options.keep and suffix in (".npz", ".npy"):
        raise ValueError(f"{name} has no columns to --keep: only .csv, .parquet and .jsonl files have some.")
    if options.part is not None and suffix != ".npz":
        raise ValueError(f"{name} has no parts for --part {options.part}: only .npz files have parts.")
    for option, value in (("--scores-key", options.scores_key), ("--scores-kind", options.scores_kind)):
        if value is not None and suffix not in JSON_LINES:
            raise ValueError(f"{option} is for files with a JSON object on each line, .jsonl, not for {name}.")
    if suffix == ".npz":
        with seekable(file) as archive, open_npz(archive, name, options) as scores:
            yield scores
    elif suffix == ".npy":
        yield open_npy(file, name, options)
    elif suffix == ".parquet":
        with seekable(file) as table:
            yield open_parquet(table, name, options)
    elif suffix.endswith(".gz"):
        opened = open_csv if suffix == ".csv.gz" else open_json_lines
        with unpacked(file, name) as text:
            yield opened(text, name, options, *size_and_position(file))
    elif suffix in JSON_LINES:
        yield open_json_lines(file, name, options, *size_and_position(file))
    else:
        yield open_csv(file, name, options, *size_and_position(file))


def _logarithms(batches: Iterator[Rows], file: ScoreFile, options: ReadOptions) -> Iterator[Rows]:
    """The same rows with the logarithms of probabilities as logits; of one column, the log-odds."""
    least = MIN_PROBABILITY if options.answers is None else math.exp(options.answers.floor)
    first = 0
    for rows in batches:
        _check_probabilities(rows.logits, file, first)
        first += len(rows.logits)
        if rows.logits.shape[1] == 1:
            logits = log_odds(rows.logits)
        else:
            logits = np.log(np.clip(rows.logits.astype(np.float64), least, None))
        yield rows._replace(logits=logits)


def _check_probabilities(values: NDArray[Any], file: ScoreFile, first: int) -> None:
    outside = (values < 0) | (values > 1 + ROUNDING)
    if not outside.any():
        return
    row, column = np.argwhere(outside)[0]
    where, hint = f"{file.name}, {file.row_place(first + int(row))}", ""
    if file.headings is not None:
        heading = file.headings[column]
        where += f", column {heading!r}"
        hint = f" If the column is not a class, leave it out with --ignore {shell_argument([heading])}."
    raise ValueError(
        f"{where}: {values[row, column]:g} is not a probability from 0 to 1, which --log needs, and so does a head "
        f"that was fitted with --log.{hint} Divide percentages by 100. If the scores are logits, fit and predict "
        "without --log."
    )


# ---- labels and features in separate files ---------------------------------------------------------------------------


def _with_separate_files(file: ScoreFile, options: ReadOptions) -> Iterator[Rows]:
    """The rows of a score file with the labels and features of separate files, if there are such files."""
    with ExitStack() as stack:
        labels = None if options.labels is None else _read_labels(options.labels, options.label_column)
        paths = options.features if options.with_features else ()
        features = [_open_features(stack.enter_context(open_source(str(path)))) for path in paths]
        sizes = [] if labels is None else [(options.labels, labels.shape[0])]
        sizes += [(path, stream.shape[0]) for path, stream in zip(paths, features, strict=True)]
        total = 0
        for rows in file.batches:
            first, total = total, total + len(rows.logits)
            for path, size in sizes:
                if size < total:
                    raise _unequal_rows(path, size, file.name, "more")
            if labels is not None:
                rows = rows._replace(labels=labels[first:total])
            if features:
                read = [_read_features(stream, first, total) for stream in features]
                rows = rows._replace(features=np.hstack(read))
            yield rows
    for path, size in sizes:
        if size > total:
            raise _unequal_rows(path, size, file.name, str(total))


def _unequal_rows(path: Path | None, rows: int, name: str, other_rows: str) -> ValueError:
    return ValueError(f"{path} has {rows} rows but {name} has {other_rows}: one for each row is needed.")


def _read_labels(path: Path, column: str | None) -> NDArray[Any]:
    with open_source(str(path)) as (file, suffix, name):
        if suffix == ".npy":
            return ArrayStream(file, name).read_labels(sys.maxsize)
        if suffix in (".csv", ".parquet"):
            return read_label_column(file, suffix, name, column)
    raise ValueError(f"{path}: --labels takes .npy, .csv and .parquet files.")


def _open_features(source: Source) -> ArrayStream:
    file, suffix, name = source
    if suffix != ".npy":
        raise ValueError(f"{name}: --features takes .npy files.")
    stream = ArrayStream(file, name)
    if len(stream.shape) != 2 or stream.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: features have shape {stream.shape} and type {stream.dtype}: a table of numbers is needed, with a "
            "row for each sample."
        )
    return stream


def _read_features(stream: ArrayStream, first: int, last: int) -> NDArray[Any]:
    features = stream.read(last - first)
    check_finite(features, lambda row, column: f"{stream.name}, {row_number(first + row)}, column {column}")
    return features
