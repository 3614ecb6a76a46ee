"""Score files as they come: told apart by their names, or on standard input by how they begin."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import WHOLE
from aftermax._scorefiles.csv_parquet import open_csv, open_parquet, read_label_column
from aftermax._scorefiles.label_checks import check_match, warn_of_columns
from aftermax._scorefiles.npy import ArrayStream, as_text, open_npy, open_npz
from aftermax._scorefiles.types import Rows, ScoreFile, Wanted, as_option, check_finite, of_arrays
from aftermax._utils.files import existing_file
from aftermax._utils.softmax import LEAST_PROBABILITY

STANDARD_INPUT = "-"
KINDS = (".npz", ".npy", ".csv", ".csv.gz", ".parquet")
SPREADSHEETS = (".xlsx", ".xls", ".ods")
BEGINNINGS = {b"PK\x03\x04": ".npz", b"\x93NUM": ".npy", b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz"}
ROUNDING = 1e-6  # of probabilities


class LabelledScores(NamedTuple):
    """All of a score file: logits, labels, the class and the heading of each column, and features if there are any."""

    logits: NDArray[Any]
    labels: NDArray[Any]
    classes: NDArray[Any]
    headings: tuple[str, ...]
    features: NDArray[Any] | None


def read_scores(source: str, wanted: Wanted | None = None) -> LabelledScores:
    """All labelled rows of a score file.

    Parameters
    ----------
    source : str
        A path that ends in .npz, .npy, .csv, .csv.gz or .parquet, or "-" for standard input.
    wanted : Wanted, default=None
        Which columns or arrays are what, if that is not as usual.

    Examples
    --------
    >>> from aftermax.data import shipped_path
    >>> from aftermax._scorefiles import Wanted, read_scores
    >>> scores = read_scores(str(shipped_path(500)), Wanted(part="val"))
    >>> scores.logits.shape, scores.classes.tolist()
    ((4000, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    wanted = wanted or Wanted()
    with open_scores(source, wanted) as file:
        parts = list(file.batches)
        if not parts:
            raise ValueError(f"{file.name} has no rows: at least two are needed, of different classes.")
        logits = np.concatenate([rows.logits for rows in parts])
        if any(rows.labels is None for rows in parts):
            raise ValueError(
                f"{file.name} has no labels. {file.contents}: name the labels' column with --label-column, or their "
                "file with --labels."
            )
        labels = _settled(np.concatenate([rows.labels for rows in parts if rows.labels is not None]), file)
        features = [rows.features for rows in parts if rows.features is not None]

        from aftermax._utils.labels import encode_labels  # with scikit-learn, which takes a second to import

        check_match(logits, labels, file, wanted.classes)
        classes = _alike(list(wanted.classes), labels) or None
        try:
            names, _ = encode_labels(labels, logits.shape, classes, _alike(file.headings, labels))
        except ValueError as error:
            raise ValueError(f"{file.name}: {error}") from error
        if not wanted.classes:
            warn_of_columns(labels, names, file)
    headings = tuple(file.headings or ())
    return LabelledScores(logits, labels, names, headings, np.concatenate(features) if features else None)


@contextmanager
def open_scores(source: str, wanted: Wanted) -> Iterator[ScoreFile]:
    """A score file to go through once, some rows at a time. Labels need not be there, and are not checked."""
    # A column that is named is one of the labels' own file, if they have one.
    with _opened(source, wanted if wanted.labels is None else replace(wanted, label_column=None)) as file:
        yield replace(file, batches=_completed(file, wanted))


@contextmanager
def _opened(source: str, wanted: Wanted) -> Iterator[ScoreFile]:
    with _stream(source) as (file, kind, name):
        if wanted.keep and kind in (".npz", ".npy"):
            raise ValueError(f"{name} has no columns to --keep: only .csv and .parquet files have.")
        if wanted.part is not None and kind != ".npz":
            raise ValueError(f"{name} has no parts for --part {wanted.part}: only .npz files have.")
        if kind == ".npz":
            with _seekable(file) as whole, open_npz(whole, name, wanted) as scores:
                yield scores
        elif kind == ".npy":
            yield open_npy(file, name)
        elif kind == ".parquet":
            with _seekable(file) as whole:
                yield open_parquet(whole, name, wanted)
        elif kind == ".csv.gz":
            with gzip.open(file) as text:
                yield open_csv(cast(IO[bytes], text), name, wanted, *_extent(file))
        else:
            yield open_csv(file, name, wanted, *_extent(file))


@contextmanager
def _stream(source: str) -> Iterator[tuple[IO[bytes], str, str]]:
    """The bytes of a file, which kind of file it is, and what to call it."""
    if source == STANDARD_INPUT:
        file = cast(io.BufferedReader, sys.stdin.buffer)
        start = file.peek(4)[:4]
        kinds = [kind for beginning, kind in BEGINNINGS.items() if start.startswith(beginning)]
        yield file, kinds[0] if kinds else ".csv", "standard input"
        return
    path = Path(source)
    kind = next((kind for kind in KINDS if path.name.lower().endswith(kind)), None)
    if kind is None:
        if not path.is_file() and not source.lower().endswith(SPREADSHEETS):
            existing_file(path)
        hint = "save it as CSV" if source.lower().endswith(SPREADSHEETS) else f"it should end in {', '.join(KINDS)}"
        raise ValueError(f"{source} is no score file by its name: {hint}.")
    with existing_file(path).open("rb") as opened:
        if path.is_file() and path.stat().st_size == 0:
            raise ValueError(f"{source} is empty.")
        yield opened, kind, source


@contextmanager
def _seekable(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file itself, or, of a pipe, a copy on disk that is gone afterwards."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def _extent(file: IO[bytes]) -> tuple[int, Callable[[], int]]:
    """How many bytes there are, and how to ask how many were read."""
    return (os.fstat(file.fileno()).st_size, file.tell) if file.seekable() else (0, lambda: 0)


# ---- what comes with the logits --------------------------------------------------------------------------------------


def _completed(file: ScoreFile, wanted: Wanted) -> Iterator[Rows]:
    """The rows with labels and features from files of their own, and with logarithms, if these are wanted."""
    with ExitStack() as stack:
        labels = None if wanted.labels is None else _read_labels(str(wanted.labels), wanted.label_column)
        features = None
        if wanted.features is not None and wanted.with_features:
            features = _features(stack.enter_context(_stream(str(wanted.features))))
        total = 0
        for rows in file.batches:
            count = len(rows.logits)
            total += count
            if labels is not None:
                rows = rows._replace(labels=labels[total - count : total])
            if features is not None:
                rows = rows._replace(features=_finite(features.take(count), features.name, total - count))
            if wanted.log:
                rows = rows._replace(logits=_logarithms(rows.logits, file, total - count))
            for kind, values in (("labels", rows.labels), ("features", rows.features)):
                if values is not None and len(values) < count:
                    raise ValueError(f"{file.name} has more rows than --{kind} has: one for each row is needed.")
            yield rows
    if labels is not None and len(labels) > total:
        raise ValueError(f"{wanted.labels} has {len(labels)} labels but {file.name} has {total} rows.")
    if features is not None and features.shape[0] > total:
        raise ValueError(f"{wanted.features} has {features.shape[0]} rows but {file.name} has {total}.")


def _read_labels(source: str, column: str | None) -> NDArray[Any]:
    with _stream(source) as (file, kind, name):
        if kind == ".npy":
            return as_text(ArrayStream(file, name).take(sys.maxsize))
        if kind in (".csv", ".parquet"):
            return read_label_column(file, kind, name, column)
    raise ValueError(f"{source}: --labels takes .npy, .csv and .parquet files.")


def _features(opened: tuple[IO[bytes], str, str]) -> ArrayStream:
    file, kind, name = opened
    if kind != ".npy":
        raise ValueError(f"{name}: --features takes .npy files.")
    stream = ArrayStream(file, name)
    if len(stream.shape) != 2 or stream.dtype.kind not in "biuf":
        raise ValueError(
            f"{name}: features have shape {stream.shape} and are {stream.dtype}: rows of numbers are needed."
        )
    return stream


def _finite(features: NDArray[Any], name: str, first: int) -> NDArray[Any]:
    check_finite(features, lambda row, column: f"{name}, {of_arrays(first + row)}, column {column}")
    return features


def _logarithms(probabilities: NDArray[Any], file: ScoreFile, first: int) -> NDArray[np.float64]:
    """Logits from probabilities."""
    outside = (probabilities < 0) | (probabilities > 1 + ROUNDING)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        where, hint = f"{file.name}, {file.place(first + int(row))}", ""
        if file.headings is not None:
            where += f", column {file.headings[column]!r}"
            hint = f" If the column is no class, leave it out with --ignore {as_option([file.headings[column]])}."
        raise ValueError(
            f"{where}: {probabilities[row, column]:g} is no probability (0 to 1), which --log wants, and a head that "
            f"was fitted with it.{hint} Divide percent by 100; leave --log out, also of fit, if these are logits."
        )
    return np.log(np.clip(probabilities.astype(np.float64), LEAST_PROBABILITY, None))


# ---- labels ----------------------------------------------------------------------------------------------------------


def _settled(labels: NDArray[Any], file: ScoreFile) -> NDArray[Any]:
    """Labels that are text in the file as whole numbers, if all of them are."""
    if labels.dtype != object:
        return labels
    missing = next((row for row, label in enumerate(labels.tolist()) if label is None), None)
    if missing is not None:
        raise ValueError(f"{file.name}, {file.place(missing)} has no label: fill it or leave the row out.")
    texts = labels.astype(np.str_)
    return texts.astype(np.int64) if _whole(set(texts.tolist())) else texts


def _whole(texts: Iterable[str]) -> bool:
    """Whether all are whole numbers, written as Python writes them."""
    return all(map(WHOLE.fullmatch, texts))


def _alike(names: list[str] | None, labels: NDArray[Any]) -> list[Any] | None:
    """Names of classes as numbers, if they are numbers and the labels are too."""
    return [int(name) for name in names] if names and labels.dtype.kind in "iuf" and _whole(names) else names
