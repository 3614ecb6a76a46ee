"""Score files that are tables: .csv and .parquet. Read some rows at a time, with pyarrow."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax.scorefiles.arrays import damaged
from aftermax.scorefiles.rows import Rows, ScoreFile, Wanted, check_finite, listed, of_arrays, rows_at_a_time

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet

LABEL_COLUMNS = ("label", "labels")
FEATURE_PREFIX = "feature_"
UNNAMED = ("", "__index_level_0__")  # where pandas puts the index of a data frame
BLOCK = 2**19  # bytes of text at a time; the reader looks some thirty of them ahead
PACKED_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error)
ENOUGH_TO_TELL = 20  # rows, of whether a column counts them


def need_pyarrow() -> None:
    """Say what to install if pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(".csv and .parquet files need pyarrow: pip install 'aftermax[cli]'") from error


# ---- which column is what --------------------------------------------------------------------------------------------


class Plan(NamedTuple):
    """Which columns of a table are read, and as what."""

    logits: list[str]
    label: str | None
    features: list[str]
    keep: list[str]
    by_name: bool  # whether the classes' names told which columns are logits

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        label = [] if self.label is None else [self.label]
        return list(dict.fromkeys([*self.logits, *label, *self.features, *self.keep]))


def plan(names: list[str], wanted: Wanted, name: str) -> Plan:
    """Which of the columns are what, by their names."""
    twice = [one for one, times in Counter(names).items() if times > 1 and one not in UNNAMED]
    if twice:
        raise ValueError(f"{name} has more than one column called {listed(twice)}: rename or remove all but one.")
    asked = {"--label-column": [wanted.label_column or ""], "--ignore": wanted.ignore, "--keep": wanted.keep}
    for option, columns in asked.items():
        missing = [one for one in columns if one and one not in names]
        if missing:
            raise ValueError(f"{name} has no column {missing[0]!r} for {option}: it has {listed(names)}.")
    label = wanted.label_column or _label_column(names, wanted, name)
    others = [one for one in names if one not in (label, *wanted.ignore, *wanted.keep, *UNNAMED)]
    features = [one for one in others if one.startswith(FEATURE_PREFIX) and one not in wanted.classes]
    by_name = bool(wanted.classes) and set(wanted.classes) <= set(others)
    logits = list(wanted.classes) if by_name else [one for one in others if one not in features]
    if len(logits) < 2:
        raise ValueError(
            f"{name} has {len(logits)} columns that can be logits, of {listed(names)}: one for each class is needed, "
            "so at least two, separated by commas."
        )
    return Plan(logits, label, features if wanted.with_features else [], list(wanted.keep), by_name)


def _label_column(names: list[str], wanted: Wanted, name: str) -> str | None:
    found = [one for one in LABEL_COLUMNS if one in names and one not in (*wanted.ignore, *wanted.classes)]
    if len(found) > 1:
        raise ValueError(f"{name} has columns {listed(found)}: say which has the labels with --label-column.")
    return found[0] if found else None


# ---- .csv ------------------------------------------------------------------------------------------------------------


def open_csv(file: IO[bytes], name: str, wanted: Wanted, size: int, position: Callable[[], int]) -> ScoreFile:
    """A table of text with a heading for each column."""
    need_pyarrow()
    names = _headings(file, name)
    chosen = plan(names, wanted, name)
    batches = _csv_batches(file, name, names, chosen)
    return _score_file(name, names, chosen, batches, lambda row: f"line {row + 2}", size, position)


def _headings(file: IO[bytes], name: str) -> list[str]:
    try:
        line = file.readline()
        while line.count(b'"') % 2 and (more := file.readline()):  # a heading may go over several lines
            line += more
    except PACKED_DAMAGE as error:
        raise damaged(name, error) from error
    try:
        names = next(csv.reader([line.decode("utf-8-sig")]), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{name} is no text in UTF-8 ({error}): save it as CSV in UTF-8.") from error
    if not names:
        raise ValueError(f"{name} is empty: a line of headings and a line for each row are needed.")
    return names


def _csv_batches(file: IO[bytes], name: str, names: list[str], chosen: Plan) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow
    from pyarrow import csv as arrow_csv

    numbers = [*chosen.logits, *chosen.features]
    types = {one: pyarrow.float64() if one in numbers else pyarrow.string() for one in chosen.columns}
    unique = [one or f"\0{place}" for place, one in enumerate(names)]  # columns without a name
    try:
        yield from arrow_csv.open_csv(
            file,
            # One thread: then errors know their row, and it is no slower.
            read_options=arrow_csv.ReadOptions(
                column_names=unique, block_size=max(BLOCK, 1000 * len(names)), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(include_columns=chosen.columns, column_types=types),
        )
    except PACKED_DAMAGE as error:
        raise damaged(name, error) from error
    except pyarrow.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return
        raise ValueError(_csv_error(str(error), name, names)) from error


def _csv_error(text: str, name: str, names: list[str]) -> str:
    """pyarrow's words in ours."""
    line = int(found[1]) + 1 if (found := re.search(r"Row #(\d+)", text)) else None
    where = name if line is None else f"{name}, line {line}"
    if found := re.search(r"Expected (\d+) columns, got (\d+)", text):
        return f"{where} has {found[2]} cells where the headings are {found[1]}: mend the line."
    column = names[int(found[1])] if (found := re.search(r"column #(\d+)", text)) else "?"
    if found := re.search(r"invalid value '(.*)'", text, re.DOTALL):
        return (
            f"{where}, column {column!r}: {found[1]!r} is no number. If the column holds no logits, leave it out with "
            f"--ignore {column}; if it holds the labels, name it with --label-column {column}."
        )
    if "UTF8" in text:
        return f"{where}, column {column!r} is no text in UTF-8: save it as CSV in UTF-8."
    return f"{where} is damaged or no .csv file ({' '.join(text.split())})."


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
            raise ValueError(
                f"{name}, column {one!r} is of type {kind}, no numbers. If it holds no logits, leave it out with "
                f"--ignore {one}; if it holds the labels, name it with --label-column {one}."
            )
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
            if first == 0 and not chosen.by_name:
                _refuse_row_numbers(logits, chosen.logits, name)
            labels = None if chosen.label is None else _labels(batch.column(chosen.label))
            kept = {one: batch.column(one) for one in chosen.keep}
            yield Rows(logits, labels, features if chosen.features else None, kept)
            first += batch.num_rows

    return ScoreFile(name, rows(), chosen.logits, f"Its columns are {listed(names)}", place, size, position)


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
    names = _headings(file, name) if kind == ".csv" else _parquet(file, name).schema_arrow.names
    found = [one for one in ((column,) if column else LABEL_COLUMNS) if one in names] or names
    if len(found) > 1 or (column and found != [column]):
        raise ValueError(f"{name} has columns {listed(names)}: say which has the labels with --label-column.")
    if kind == ".csv":
        batches = _csv_batches(file, name, names, Plan([], found[0], [], [], by_name=True))
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


def _refuse_row_numbers(logits: NDArray[Any], columns: list[str], name: str) -> None:
    """Refuse a column of whole numbers, no two alike, among columns that are not whole: it counts or names the rows."""
    if len(logits) < ENOUGH_TO_TELL:
        return
    whole = (logits == np.floor(logits)).all(axis=0)
    for j in np.flatnonzero(whole) if not whole.all() else ():
        if len(np.unique(logits[:, j])) == len(logits):
            raise ValueError(
                f"{name}, column {columns[j]!r} holds a different whole number in each row, so it is hardly a class's "
                f"logits: leave it out with --ignore {columns[j]}, or name the classes' columns with --classes."
            )
