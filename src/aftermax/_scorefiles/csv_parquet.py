"""Score files that are tables, .csv and .parquet. Read some rows at a time, with pyarrow."""

from __future__ import annotations

import csv
import gzip
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import LABEL_COLUMNS, ColumnRoles, assign_roles
from aftermax._scorefiles.messages import (
    NUMBERS_AS_WEIGHTS,
    check_finite,
    damaged_file,
    join_names,
    row_number,
    shell_argument,
)
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile, rows_per_batch

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

SEPARATORS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(rb"""(?:^|[;\t\n"])[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?["\r]?(?:[;\t\n]|$)""")
BLOCK = 2**19  # bytes of text at a time; pyarrow reads about thirty blocks ahead
MANY_COLUMNS, VALUES_OF_MANY_COLUMNS = 512, 2**22  # of more columns, so many rows or values at a time
GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)


def check_pyarrow() -> None:
    """If pyarrow is missing, raise an error that says what to install."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(".csv and .parquet files need pyarrow: pip install 'aftermax[cli]'") from error


# ---- .csv ------------------------------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """The first line of a .csv file, and the format of the lines after it."""

    names: list[str]
    separator: str
    decimal_point: str


class _Unread:
    """A file with its first bytes put back."""

    closed = False

    def __init__(self, first: bytes, file: IO[bytes]) -> None:
        self.first, self.file = first, file

    def read(self, size: int) -> bytes:
        first, self.first = self.first, b""
        return first or self.file.read(size)


def open_csv(file: IO[bytes], name: str, options: ReadOptions, size: int, position: Callable[[], int]) -> ScoreFile:
    """A .csv file with a heading for each column."""
    check_pyarrow()
    heading, file = _read_heading(file, name)
    options = replace(options, **_stripped(options))
    roles = assign_roles(heading.names, options, name)
    batches = _csv_batches(file, name, heading, roles)
    return _score_file(name, heading.names, roles, batches, lambda row: f"line {row + 2}", size, position)


def _stripped(options: ReadOptions) -> dict[str, Any]:
    """The names of single columns as headings are read: without white space around them."""
    single = {"label_column": options.label_column, "groups": options.groups, "weights": options.weights}
    return {option: name.strip() for option, name in single.items() if name is not None}


def _read_heading(file: IO[bytes], name: str) -> tuple[Heading, IO[bytes]]:
    """The headings of a .csv file, without white space around them, and the file behind them."""
    try:
        line = file.readline()
        while line.count(b'"') % 2 and (more := file.readline()):  # a heading may go over several lines
            line += more
    except GZIP_ERRORS as error:
        raise damaged_file(name, error) from error
    try:
        names, separator = _split(line.decode("utf-8-sig"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is not text in UTF-8: save it as CSV in UTF-8.") from error
    if not names:
        raise ValueError(f"{name} is empty: a line of headings and a line for each sample are needed.")
    if separator == ",":
        return Heading(names, separator, "."), file
    first = file.read(BLOCK)
    comma = DECIMAL_COMMA.search(first)
    return Heading(names, separator, "," if comma else "."), cast(IO[bytes], _Unread(first, file))


def _split(line: str) -> tuple[list[str], str]:
    """The cells of the first line and their separator: a comma, if there is one outside of quotes."""
    for separator in SEPARATORS:
        names = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        if len(names) > 1:
            break
    return [name.strip() for name in names], separator if len(names) > 1 else ","


def _csv_batches(file: IO[bytes], name: str, heading: Heading, roles: ColumnRoles) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow
    from pyarrow import csv as arrow_csv

    numbers = {*roles.logits, *roles.features, roles.weights}
    types = {one: pyarrow.float64() if one in numbers else pyarrow.string() for one in roles.columns}
    unique = [one or f"\0{j}" for j, one in enumerate(heading.names)]  # some columns may have no name
    try:
        yield from arrow_csv.open_csv(
            file,
            # One thread: errors then name their row, and reading is not slower.
            read_options=arrow_csv.ReadOptions(
                column_names=unique, block_size=max(BLOCK, 1000 * len(unique)), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=heading.separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=roles.columns, column_types=types, decimal_point=heading.decimal_point
            ),
        )
    except GZIP_ERRORS as error:
        raise damaged_file(name, error) from error
    except pyarrow.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return
        raise ValueError(_csv_error(str(error), name, heading.names, roles)) from error


def _csv_error(reason: str, name: str, names: list[str], roles: ColumnRoles) -> str:
    """The message for an error of pyarrow, which gives row, column and cell in its text only."""
    line = int(match[1]) + 1 if (match := re.search(r"Row #(\d+)", reason)) else None
    where = name if line is None else f"{name}, line {line}"
    if match := re.search(r"Expected (\d+) columns, got (\d+)", reason):
        return f"{where} has {match[2]} cells, but there are {match[1]} headings: correct the line."
    column = names[int(match[1])] if (match := re.search(r"column #(\d+)", reason)) else "?"
    if match := re.search(r"invalid value '(.*)'", reason, re.DOTALL):
        problem = f"{where}, column {column!r}: {match[1]!r} is not a number."
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", match[1]):
            return f"{problem} It has a decimal comma: save the file with decimal points."
        if column == roles.weights:
            return f"{problem} {NUMBERS_AS_WEIGHTS}"
        if line is not None and line > 2:  # the cells above are numbers
            return f"{problem} Correct the cell, or remove the row."
        return f"{problem} {_not_logits(column)}"
    if "UTF8" in reason:
        return f"{where}, column {column!r} is not text in UTF-8: save it as CSV in UTF-8."
    return str(damaged_file(where, ValueError(reason)))


def _not_logits(column: str) -> str:
    return (
        f"If the column does not hold logits, leave it out with --ignore {shell_argument([column])}; if it holds the "
        f"labels, name it with --label-column {shlex.quote(column)}."
    )


# ---- .parquet --------------------------------------------------------------------------------------------------------


def open_parquet(file: IO[bytes], name: str, options: ReadOptions) -> ScoreFile:
    """A .parquet file."""
    check_pyarrow()
    import pyarrow

    table = _read_parquet(file, name)
    schema = table.schema_arrow  # once: pyarrow makes a new one each time, of all columns
    names: list[str] = schema.names
    kinds = dict(zip(names, schema.types, strict=True))
    roles = assign_roles(names, options, name)
    weights = [] if roles.weights is None else [roles.weights]
    for one in [*roles.logits, *roles.features, *weights]:
        kind = kinds[one]
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            advice = NUMBERS_AS_WEIGHTS if one == roles.weights else f"numbers are needed. {_not_logits(one)}"
            raise ValueError(f"{name}, column {one!r} is of type {kind}: {advice}")
    done = 0

    def batches() -> Iterator[pyarrow.RecordBatch]:
        nonlocal done
        for batch in _parquet_batches(table, roles.columns, name):
            yield batch
            done += batch.num_rows

    return _score_file(name, names, roles, batches(), row_number, table.metadata.num_rows, lambda: done)


def _parquet_batches(table: parquet.ParquetFile, columns: list[str], name: str) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    rows = _rows_at_a_time(len(columns))
    try:
        yield from table.iter_batches(rows, columns=columns, use_threads=False)  # less memory, as fast
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged_file(name, error) from error


def _rows_at_a_time(columns: int) -> int:
    """Of many columns not too few rows: pyarrow makes an array for each column of each batch."""
    few = rows_per_batch(columns)
    return few if columns <= MANY_COLUMNS else max(few, min(MANY_COLUMNS, VALUES_OF_MANY_COLUMNS // columns))


def _read_parquet(file: IO[bytes], name: str) -> parquet.ParquetFile:
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(file, buffer_size=2**16, pre_buffer=False)  # or memory grows with every row group
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged_file(name, error) from error


# ---- both ------------------------------------------------------------------------------------------------------------


def _score_file(
    name: str,
    names: list[str],
    roles: ColumnRoles,
    batches: Iterator[pyarrow.RecordBatch],
    row_place: Callable[[int], str],
    size: int,
    position: Callable[[], int],
) -> ScoreFile:
    def rows() -> Iterator[Rows]:
        first = 0
        for batch in batches:
            logits, features = (
                numbers_of(batch, columns, name, first, row_place) for columns in (roles.logits, roles.features)
            )
            labels, groups = (
                None if one is None else _labels(batch.column(one), name) for one in (roles.label, roles.groups)
            )
            weights = None if roles.weights is None else batch.column(roles.weights).to_numpy(zero_copy_only=False)
            kept = {one: batch.column(one) for one in roles.keep}
            yield Rows(logits, labels, features if roles.features else None, kept, groups, weights)
            first += batch.num_rows

    contents = f"Its columns are {join_names(names)}"
    return ScoreFile(name, rows(), roles.logits, roles.found_by_name, contents, row_place, size, position)


def numbers_of(
    batch: pyarrow.RecordBatch, columns: list[str], name: str, first: int, row_place: Callable[[int], str]
) -> NDArray[Any]:
    """Some columns of a record batch as an array of finite numbers; ``first`` is the number of rows before it."""
    places = {one: place for place, one in enumerate(batch.schema.names)}
    parts = [batch.column(places[one]).to_numpy(zero_copy_only=False) for one in columns]
    single_precision = bool(parts) and all(part.dtype == np.float32 for part in parts)
    values = np.empty((batch.num_rows, len(columns)), np.float32 if single_precision else np.float64)
    for j, part in enumerate(parts):
        values[:, j] = part
    check_finite(values, lambda row, column: f"{name}, {row_place(first + row)}, column {columns[column]!r}")
    return values


def read_label_column(file: IO[bytes], kind: str, name: str, label_column: str | None) -> NDArray[Any]:
    """The labels of a table: its only column, or the one that is called ``label_column``, label or labels."""
    check_pyarrow()
    if kind == ".csv":
        heading, file = _read_heading(file, name)
        column = _find_label_column(heading.names, name, label_column)
        batches = _csv_batches(file, name, heading, ColumnRoles([], column, [], [], found_by_name=True))
    else:
        table = _read_parquet(file, name)
        column = _find_label_column(table.schema_arrow.names, name, label_column)
        batches = _parquet_batches(table, [column], name)
    parts = [_labels(batch.column(column), name) for batch in batches]
    return np.concatenate(parts) if parts else np.empty(0)


def _find_label_column(names: list[str], name: str, label_column: str | None) -> str:
    candidates = [one for one in ((label_column,) if label_column else LABEL_COLUMNS) if one in names] or names
    if len(candidates) != 1 or (label_column and candidates != [label_column]):
        raise ValueError(f"{name} has columns {join_names(names)}: name the one with the labels with --label-column.")
    return candidates[0]


def _labels(column: pyarrow.Array, name: str) -> NDArray[Any]:
    """Labels or groups as numbers if the column has a numeric type, else as text without white space around it.

    None where one is missing.
    """
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not column.null_count and (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        return np.asarray(column)
    try:
        values = column.to_pylist()
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:  # times in no zone, or out of range
        raise damaged_file(name, error) from error
    texts = [None if value is None else str(value).strip() for value in values]
    return np.array([text or None for text in texts], dtype=object)
