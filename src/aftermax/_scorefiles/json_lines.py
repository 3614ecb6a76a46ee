"""Score files with a JSON object on each line: the scores of a sample by class, its label, and whatever else."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.csv_parquet import GZIP_ERRORS
from aftermax._scorefiles.messages import check_finite, damaged_file, join_names
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile, rows_per_batch
from aftermax._utils.large import LARGEST_VALUE
from aftermax._utils.softmax import MIN_PROBABILITY
from aftermax._utils.text import shortened
from aftermax.answers.kinds import LOGITS, PROBABILITIES
from aftermax.answers.names import Columns
from aftermax.answers.reader import AnswerReader

SCORES_KEY = "scores"
LABEL_KEYS = ("label", "labels")
FEATURES_KEY = "features"
MAX_WEIGHT = LARGEST_VALUE
MAX_SHOWN = 80  # characters of a line in a message


class _Repeated:
    """Values of which many are equal, as labels are: four bytes for each."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._each = array("i")

    def __len__(self) -> int:
        return len(self._each)

    def append(self, value: Any) -> None:
        """Add one."""
        self._each.append(self._numbers.setdefault(value, len(self._numbers)))

    def texts(self) -> NDArray[Any]:
        """All of them as text; None where one is missing."""
        different = np.empty(len(self._numbers), dtype=object)
        different[:] = [None if value in (None, "") else str(value) for value in self._numbers]
        return np.asarray(different[np.frombuffer(self._each, np.int32)] if len(self) else different)


@dataclass
class _Samples:
    """What is read of some lines, apart from the scores: column by column, as a line takes ten times as much."""

    labels: _Repeated = field(default_factory=_Repeated)
    groups: _Repeated = field(default_factory=_Repeated)
    weights: array[float] = field(default_factory=lambda: array("d"))
    features: list[Any] = field(default_factory=list)
    kept: dict[str, list[Any]] = field(default_factory=dict)


def open_json_lines(
    file: IO[bytes], name: str, options: ReadOptions, size: int, position: Callable[[], int]
) -> ScoreFile:
    """A file with a JSON object on each line.

    For a head, rows are read some at a time, as the answers that it was fitted on were. Otherwise all are read at once:
    which classes there are, and which kind of scores, is told from all of them.
    """
    reader = _Reader(name, options)
    lines = _numbered_objects(file, name)
    batches = reader.batches(lines) if options.columns else iter(list(reader.batches(lines, at_once=True)))
    made = reader.answers.answer_format
    contents = f"Its lines hold JSON objects, and none has {options.label_column or 'label'!r}"
    return ScoreFile(name, batches, reader.names, True, contents, line_number, size, position, made)


def line_number(row: int) -> str:
    """Where a row is in the file."""
    return f"line {row + 1}"


# ---- lines -----------------------------------------------------------------------------------------------------------


def _numbered_objects(file: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of each line, from 1, and the object on it. Only at the end may there be empty lines."""
    empty = None
    try:
        for number, line in enumerate(file, start=1):
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text:
                empty = empty or number
                continue
            if empty is not None:
                raise ValueError(f"{name}, line {empty} is empty: remove it.")
            yield number, _object(text, f"{name}, line {number}")
    except GZIP_ERRORS as error:
        raise damaged_file(name, error) from error


def _object(text: bytes, place: str) -> dict[str, Any]:
    try:
        found = _DECODER.decode(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        shown = text[:MAX_SHOWN].decode("utf-8", "replace") + "..." * (len(text) > MAX_SHOWN)
        raise ValueError(
            f"{place} is not a JSON object ({error}): '{shown}'. Each line holds one, whole, such as "
            '{"scores": {"cat": 0.9, "dog": 0.1}, "label": "cat"}.'
        ) from error
    if not isinstance(found, dict):
        raise ValueError(
            f'{place} holds no JSON object, but a {type(found).__name__}: write {{"scores": ..., "label": ...}}.'
        )
    return found


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # json.loads would make one for each line


def find(found: Any, key: str) -> Any:
    """The value of a key; "a.b.0" is the first element of what is under b of a. None if there is none.

    Examples
    --------
    >>> from aftermax._scorefiles.json_lines import find
    >>> find({"choices": [{"logprobs": {"top": 1}}]}, "choices.0.logprobs.top")
    1
    >>> find({"a.b": 2}, "a.b"), find({"a": 2}, "a.b")
    (2, None)
    """
    if isinstance(found, dict) and key in found:
        return found[key]
    for part in key.split("."):
        if isinstance(found, dict):
            found = found.get(part)
        elif isinstance(found, list) and part.isascii() and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found


# ---- rows ------------------------------------------------------------------------------------------------------------


class _Reader:
    """Makes rows of objects."""

    def __init__(self, name: str, options: ReadOptions) -> None:
        self.name, self.options = name, options
        self.names: list[str] | None = None  # of the columns
        classes = options.columns[-1] if options.columns else options.classes
        if len(classes) == 1:
            raise ValueError(f"{name} holds scores by class, but this head takes one score, {classes[0]}: write CSV.")
        kind = options.scores_kind or (PROBABILITIES if options.log and options.answers is None else None)
        if options.log and kind not in (None, PROBABILITIES):
            raise ValueError(f"--log says that the scores are probabilities, --scores-kind {kind}: leave one out.")
        # A head that was fitted on a table knows nothing of answers: it needs all scores, as they are in the table.
        self.complete = bool(options.columns) and options.answers is None
        kind = kind or (LOGITS if self.complete else None)
        self.answers = AnswerReader(list(classes) or None, options.answers, kind, options.ignore)
        self._n_read = 0

    def place(self, row: int) -> str:
        """Where a row is: empty lines are at the end of the file only."""
        return f"{self.name}, {line_number(row)}"

    def batches(self, lines: Iterator[tuple[int, dict[str, Any]]], *, at_once: bool = False) -> Iterator[Rows]:
        """The rows, some at a time or all at once."""
        samples = self._no_samples()
        most: float = np.inf if at_once else rows_per_batch(len(self.options.columns[-1]))
        for number, found in lines:
            place = f"{self.name}, line {number}"
            self.answers.add(self._scores(found, place), place)
            self._add(samples, found, place)
            self._n_read += 1
            if len(samples.labels) >= most:
                yield self._rows(samples)
                samples = self._no_samples()
        if len(samples.labels):
            yield self._rows(samples)
        self.answers.end(self.name, stacklevel=4)

    def _scores(self, found: dict[str, Any], place: str) -> Any:
        key = self.options.scores_key or SCORES_KEY
        scores = find(found, key)
        if scores is None:
            if self._n_read:  # the lines before have it
                raise ValueError(f"{place} has no scores under {key!r}: remove the line, or ask the service again.")
            raise ValueError(
                f"{place} has no key {key!r} with scores, but {join_names(_paths(found))}: name it with --scores-key."
            )
        if isinstance(scores, dict) and not _scores_in(scores) and (inner := _paths(scores)):
            keys = join_names(inner)
            raise ValueError(f"{place}: {key!r} holds no scores, but {keys}: name the one, as {key}.{inner[0]}.")
        if scores and _are_numbers(scores):
            scores = dict(enumerate(scores))  # without names: the classes are numbered
        if self.complete and self.options.log and isinstance(scores, dict):  # as in a table
            return {name: score or MIN_PROBABILITY for name, score in scores.items()}
        return scores

    def _no_samples(self) -> _Samples:
        return _Samples(kept={key: [] for key in self.options.keep})

    def _add(self, samples: _Samples, found: dict[str, Any], place: str) -> None:
        """Add one line's."""
        options = self.options
        keys = (options.label_column,) if options.label_column else LABEL_KEYS
        label = next((value for key in keys if (value := find(found, key)) is not None), None)
        if label is not None and (isinstance(label, bool | float) or not isinstance(label, str | int)):
            raise ValueError(f"{place}: the label {label!r} is neither text nor an integer: correct it.")
        samples.labels.append(label)
        if options.groups is not None:
            group = find(found, options.groups)
            samples.groups.append(None if group in (None, "") else str(group))
        if options.weights is not None:
            weight = find(found, options.weights)
            if not (_are_numbers([weight]) and abs(weight) <= MAX_WEIGHT):
                shown = shortened(repr(weight), MAX_SHOWN)
                raise ValueError(
                    f"{place} has no number as {options.weights!r} for --weights, but {shown}: correct it."
                )
            samples.weights.append(weight)
        if options.with_features:
            samples.features.append(find(found, FEATURES_KEY))
        for key, values in samples.kept.items():
            values.append(find(found, key))
            if self._n_read == 0 and values[0] is None:
                raise ValueError(f"{place} has no key {key!r} for --keep: it has {join_names(list(found))}.")

    def _rows(self, samples: _Samples) -> Rows:
        """The samples since the last call. The answers hold their scores."""
        first = self._n_read - len(samples.labels)
        try:
            scores = self.answers.finish(lambda row: self.place(first + row))
        except ValueError as error:
            if str(error).startswith(self.name):
                raise
            raise ValueError(f"{self.name}: {error}") from error
        self.names = [str(label) for label in scores.columns]
        if self.complete and not scores.told.all():
            row, column = np.argwhere(~scores.told)[0]
            raise ValueError(
                f"{self.place(first + int(row))} has no score of {self.names[column]!r}, but the head was "
                "fitted on a table with all scores: fit it on answers like these, or pass all scores."
            )
        labels = self._labels(samples.labels.texts(), self.names)
        options = self.options
        return Rows(
            scores.values,
            labels if any(label is not None for label in labels) else None,
            self._features(samples.features, first),
            samples.kept,
            samples.groups.texts() if options.groups else None,
            np.array(samples.weights) if options.weights else None,
            scores.told,
        )

    def _labels(self, labels: NDArray[Any], names: list[str]) -> NDArray[Any]:
        """The labels, spelt as the classes; None where one is missing."""
        columns = Columns(names)
        for row, label in enumerate(labels):
            column = None if label is None else columns.find(label)
            if column is not None:
                labels[row] = names[column]
        if not self.options.columns:
            columns.warn_of_spelling(self.name, stacklevel=6)
        return labels

    def _features(self, lists: list[Any], first: int) -> NDArray[np.float64] | None:
        """The features of all samples, or None if none has any."""
        if all(one is None for one in lists):
            return None
        width = next((len(one) for one in lists if isinstance(one, list)), 0)
        for row, one in enumerate(lists):
            if not _are_numbers(one) or len(one) != width:
                raise ValueError(
                    f"{self.place(first + row)}: features must be a list of {width} numbers, as on the other lines."
                )
        try:
            features = np.array(lists, dtype=np.float64)
        except OverflowError as error:
            row = next(row for row, one in enumerate(lists) if max(map(abs, one)) > LARGEST_VALUE)
            raise ValueError(
                f"{self.place(first + row)}: a feature is too large: finite numbers are needed."
            ) from error
        check_finite(features, lambda row, column: f"{self.place(first + row)}, feature {column}")
        return features


def _paths(found: dict[str, Any], depth: int = 3) -> list[str]:
    """The keys of an object and, after dots, those of the objects in it."""
    paths = []
    for key, value in found.items():
        inner = _paths(value, depth - 1) if isinstance(value, dict) and depth > 1 else []
        paths += [f"{key}.{path}" for path in inner] or [key]
    return paths


def _scores_in(answer: dict[str, Any]) -> bool:
    """Whether an object may be an answer: it holds numbers, or the lists of a zero-shot pipeline."""
    return any(not isinstance(value, dict | list) for value in answer.values()) or {"labels", "scores"} <= set(answer)


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) in (int, float) for value in values)
