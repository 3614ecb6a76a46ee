"""Score files that are tables: .csv and .parquet. Read some rows at a time, with pyarrow."""

from __future__ import annotations

import csv
import gzip
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import LABEL_COLUMNS, Plan, plan
from aftermax._scorefiles.npy import damaged
from aftermax._scorefiles.types import (
    Rows,
    ScoreFile,
    Wanted,
    as_option,
    check_finite,
    listed,
    of_arrays,
    rows_at_a_time,
)

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

SEPARATORS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(rb"""(?:^|[;\t\n"])[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?["\r]?(?:[;\t\n]|$)""")
BLOCK = 2**19  # bytes of text at a time; the reader looks some thirty of them ahead
PACKED_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)


def need_pyarrow() -> None:
    """Say what to install if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(".csv and .parquet files need pyarrow: pip install 'aftermax[cli]'") from error


# ---- .csv ------------------------------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """The first line of a table of text, and how the lines after it are written."""

    names: list[str]
    separator: str
    decimal_point: str


class _Again:
    """A file of which some bytes are read once more."""

    closed = False

    def __init__(self, start: bytes, file: IO[bytes]) -> None:
        self.start, self.file = start, file

    def read(self, size: int) -> bytes:
        start, self.start = self.start, b""
        return start or self.file.read(size)


def open_csv(file: IO[bytes], name: str, wanted: Wanted, size: int, position: Callable[[], int]) -> ScoreFile:
    """A table of text with a heading for each column."""
    need_pyarrow()
    heading, file = _headed(file, name)
    chosen = plan(heading.names, wanted, name)
    batches = _csv_batches(file, name, heading, chosen)
    return _score_file(name, heading.names, chosen, batches, lambda row: f"line {row + 2}", size, position)


def _headed(file: IO[bytes], name: str) -> tuple[Heading, IO[bytes]]:
    """The headings, and the rest of the file."""
    try:
        line = file.readline()
        while line.count(b'"') % 2 and (more := file.readline()):  # a heading may go over several lines
            line += more
    except PACKED_DAMAGE as error:
        raise damaged(name, error) from error
    try:
        names, separator = _split(line.decode("utf-8-sig"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is no text in UTF-8: save it as CSV in UTF-8.") from error
    if not names:
        raise ValueError(f"{name} is empty: a line of headings and a line for each row are needed.")
    if separator == ",":
        return Heading(names, separator, "."), file
    start = file.read(BLOCK)
    comma = DECIMAL_COMMA.search(start)
    return Heading(names, separator, "," if comma else "."), cast(IO[bytes], _Again(start, file))


def _split(line: str) -> tuple[list[str], str]:
    """The cells of the first line, and what is between them: commas, if there is one outside of quotes."""
    for separator in SEPARATORS:
        names = next(csv.reader([line], delimiter=separator), [])
        if len(names) > 1:
            return names, separator
    return names, ","


def _csv_batches(file: IO[bytes], name: str, heading: Heading, chosen: Plan) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow
    from pyarrow import csv as arrow_csv

    numbers = [*chosen.logits, *chosen.features]
    types = {one: pyarrow.float64() if one in numbers else pyarrow.string() for one in chosen.columns}
    unique = [one or f"\0{place}" for place, one in enumerate(heading.names)]  # columns without a name
    try:
        yield from arrow_csv.open_csv(
            file,
            # One thread: then errors know their row, and it is no slower.
            read_options=arrow_csv.ReadOptions(
                column_names=unique, block_size=max(BLOCK, 1000 * len(unique)), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=heading.separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=chosen.columns, column_types=types, decimal_point=heading.decimal_point
            ),
        )
    except PACKED_DAMAGE as error:
        raise damaged(name, error) from error
    except pyarrow.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return
        raise ValueError(_csv_error(str(error), name, heading.names)) from error


def _csv_error(text: str, name: str, names: list[str]) -> str:
    """pyarrow's words in ours."""
    line = int(found[1]) + 1 if (found := re.search(r"Row #(\d+)", text)) else None
    where = name if line is None else f"{name}, line {line}"
    if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
        return f"{where} has {found[2]} cells where the headings are {found[1]}: mend the line."
    column = names[int(found[1])] if (found := re.search(r"column #(\d+)", text)) else "?"
    if found := re.search(r"invalid value '(.*)'", text, re.DOTALL):
        wrong = f"{where}, column {column!r}: {found[1]!r} is no number."
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", found[1]):
            return f"{wrong} It has a decimal comma: save the file with decimal points."
        if line is not None and line > 2:  # the cells above are numbers
            return f"{wrong} Mend the cell, or leave the row out."
        return f"{wrong} {_no_logits(column)}"
    if "UTF8" in text:
        return f"{where}, column {column!r} is no text in UTF-8: save it as CSV in UTF-8."
    return f"{where} is damaged, or of another kind than its name says ({' '.join(text.split())})."


def _no_logits(column: str) -> str:
    named = as_option([column])
    return (
        f"If the column holds no logits, leave it out with --ignore {named}; if it holds the labels, name it with "
        f"--label-column {shlex.quote(column)}."
    )


# ---- .parquet --------------------------------------------------------------------------------------------------------


def open_parquet(file: IO[bytes], name: str, wanted: Wanted) -> ScoreFile:
    """A table in Parquet's format."""
    need_pyarrow()
    import pyarrow

    table = _parquet(file, name)
    names: list[str] = table.schema_arrow.names
    chosen = plan(names, wanted, name)
    for one in [*chosen.logits, *chosen.features]:
        kind = table.schema_arrow.field(one).type
        if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
            raise ValueError(f"{name}, column {one!r} is of type {kind}, no numbers. {_no_logits(one)}")
    done = 0

    def batches() -> Iterator[pyarrow.RecordBatch]:
        nonlocal done
        try:
            step = rows_at_a_time(len(chosen.columns))
            for batch in table.iter_batches(step, columns=chosen.columns, use_threads=False):  # less memory, as fast
                yield batch
                done += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise damaged(name, error) from error

    return _score_file(name, names, chosen, batches(), of_arrays, table.metadata.num_rows, lambda: done)


def _parquet(file: IO[bytes], name: str) -> parquet.ParquetFile:
    import pyarrow
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(file, buffer_size=2**16, pre_buffer=False)  # else memory grows with every group
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(name, error) from error


# ---- both ------------------------------------------------------------------------------------------------------------


def _score_file(
    name: str,
    names: list[str],
    chosen: Plan,
    batches: Iterator[pyarrow.RecordBatch],
    place: Callable[[int], str],
    size: int,
    position: Callable[[], int],
) -> ScoreFile:
    def rows() -> Iterator[Rows]:
        first = 0
        for batch in batches:
            logits, features = (_numbers(batch, some, name, first, place) for some in (chosen.logits, chosen.features))
            labels = None if chosen.label is None else _labels(batch.column(chosen.label))
            kept = {one: batch.column(one) for one in chosen.keep}
            yield Rows(logits, labels, features if chosen.features else None, kept)
            first += batch.num_rows

    contents = f"Its columns are {listed(names)}"
    return ScoreFile(name, rows(), chosen.logits, chosen.by_name, contents, place, size, position)


def _numbers(
    batch: pyarrow.RecordBatch, columns: list[str], name: str, first: int, place: Callable[[int], str]
) -> NDArray[Any]:
    parts = [batch.column(one).to_numpy(zero_copy_only=False) for one in columns]
    narrow = bool(parts) and all(part.dtype == np.float32 for part in parts)
    values = np.empty((batch.num_rows, len(columns)), np.float32 if narrow else np.float64)
    for j, part in enumerate(parts):
        values[:, j] = part
    check_finite(values, lambda row, column: f"{name}, {place(first + row)}, column {columns[column]!r}")
    return values


def read_label_column(file: IO[bytes], kind: str, name: str, column: str | None) -> NDArray[Any]:
    """The labels in a table that has nothing else, or has them in a column of that name."""
    need_pyarrow()
    heading = None
    if kind == ".csv":
        heading, file = _headed(file, name)
    names = _parquet(file, name).schema_arrow.names if heading is None else heading.names
    found = [one for one in ((column,) if column else LABEL_COLUMNS) if one in names] or names
    if len(found) > 1 or (column and found != [column]):
        raise ValueError(f"{name} has columns {listed(names)}: say which has the labels with --label-column.")
    if heading is not None:
        batches = _csv_batches(file, name, heading, Plan([], found[0], [], [], by_name=True))
    else:
        batches = _parquet(file, name).iter_batches(columns=found)
    parts = [_labels(batch.column(found[0])) for batch in batches]
    return np.concatenate(parts) if parts else np.empty(0)


def _labels(column: pyarrow.Array) -> NDArray[Any]:
    """Labels as whole numbers where the file says so, else as text; None where there is none."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if not column.null_count and (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        return np.asarray(column)
    values = column.to_pylist()
    return np.array([None if value in (None, "") else str(value) for value in values], dtype=object)
