"""Write predictions some rows at a time, to a file that is complete or absent, or to standard output."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.csv_parquet import check_pyarrow
from aftermax._utils.files import checked_output_path, write_atomically
from aftermax._utils.text import shortened

STANDARD_OUTPUT = "-"
PREDICTED, CERTAIN, PROBABILITIES = ARRAYS = ("predicted", "certain", "probabilities")
FORMATS = (".csv", ".csv.gz", ".parquet", ".npz", ".npy", ".jsonl", ".jsonl.gz")
FORMULA = re.compile(r"\s*(=|[+@-].*[(|!])", re.DOTALL)  # "-1" and "@home" are none
DIGITS = 9  # of a probability in text
ROW_GROUP = 2**23  # bytes of a row group of a .parquet file, at least
POWERS = np.array([float(f"1e{power}") for power in range(23)])  # the powers of ten that are exact


class Predictions(NamedTuple):
    """A head's predictions for some rows, and the columns that are copied from the input."""

    predicted: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None
    kept: dict[str, Any] | None = None
    certain: NDArray[np.bool_] | None = None  # where the head decides alone, if it leaves other rows to a person


class Writer(ABC):
    """Writes predictions, some rows at a time."""

    @abstractmethod
    def write(self, predictions: Predictions) -> None:
        """Append rows."""

    def close(self) -> None:  # noqa: B027  # optional
        """Finish the file after the last row."""


@contextmanager
def open_writer(
    out: str, classes: NDArray[Any], probabilities: bool, keep: tuple[str, ...] = (), *, certain: bool = False
) -> Iterator[Writer]:
    """A writer of predictions in the format of the file's name. After an error, the file is not written.

    Tables have the columns in ``keep``, ``predicted``, ``certain`` if the head leaves rows to a person, and with
    ``probabilities`` one for each class; so have the objects of a .jsonl file, in which the probabilities are an object
    of their own. An .npz file has ``predicted``, ``certain`` in such a case, and with ``probabilities`` also
    ``probabilities`` and ``classes``; an .npy file holds ``predicted``.
    """
    suffix = _format_of(out, probabilities, keep, certain)
    by_class = [PROBABILITIES] if suffix.startswith(".jsonl") else list(map(str, classes.tolist()))
    names = column_names(by_class if probabilities else [], keep, certain=certain)
    repeated = repeated_names(names)
    if repeated and suffix not in (".npz", ".npy"):
        raise ValueError(
            f"Two columns of the predictions would be called {min(repeated)}: write an .npz file, or change --keep."
        )
    if suffix.startswith(".csv"):
        _refuse_formulas(classes)
    with ExitStack() as stack:
        if out == STANDARD_OUTPUT:
            file = cast(IO[bytes], sys.stdout.buffer)
        else:
            file = stack.enter_context(
                stack.enter_context(write_atomically(checked_output_path(Path(out)))).open("w+b")
            )
        if suffix.endswith(".gz"):
            file = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)))
        if suffix in (".npz", ".npy"):
            members = [stack.enter_context(tempfile.TemporaryFile()) for _ in ARRAYS] if suffix == ".npz" else []
            shown = {CERTAIN: certain, PROBABILITIES: probabilities}
            writer: Writer = _ArrayWriter(file, members, classes, [name for name in shown if shown[name]])
        elif suffix.startswith(".jsonl"):
            writer = _JsonLinesWriter(file, classes)
        else:
            writer = _ParquetWriter(file, names) if suffix == ".parquet" else _CsvWriter(file, names)
        yield writer
        writer.close()


def column_names(by_class: Sequence[str], keep: Sequence[str], *, certain: bool) -> list[str]:
    """The columns of a table of predictions; ``by_class`` are those of the probabilities, if there are any."""
    return [*keep, PREDICTED, *([CERTAIN] if certain else []), *by_class]


def repeated_names(names: list[str]) -> set[str]:
    """Names that are there more than once."""
    return {name for name in names if names.count(name) > 1}


def _refuse_formulas(classes: NDArray[Any]) -> None:
    """A spreadsheet that opens a .csv file would run them; heads and score files may be of anyone."""
    formula = next((name for name in map(str, classes.tolist()) if FORMULA.match(name)), None)
    if formula is not None:
        raise ValueError(
            f"The class {shortened(repr(formula), 80)} would be a formula to a spreadsheet that opens a .csv file: "
            "write a .parquet, .jsonl or .npz file, or rename the class."
        )


def _format_of(out: str, probabilities: bool, keep: tuple[str, ...], certain: bool) -> str:
    """The format that the file's name says, if it can hold what is to be written."""
    if out == STANDARD_OUTPUT:
        return ".csv"
    suffix = next((one for one in FORMATS if out.lower().endswith(one)), None)
    if suffix is None:
        raise ValueError(
            f"{out}: predictions are written to files that end in {', '.join(FORMATS)}, or to - (standard output, as "
            ".csv)."
        )
    if suffix == ".npy" and probabilities:
        raise ValueError(
            f"{out}: an .npy file holds one array, so it has no room for --probabilities: write an .npz file."
        )
    if suffix == ".npy" and certain:
        raise ValueError(
            f"{out}: an .npy file holds one array, so it cannot say which rows are for a person: write an .npz file."
        )
    if suffix in (".npz", ".npy") and keep:
        raise ValueError(f"{out} cannot hold the columns of --keep: write a .csv or .parquet file.")
    return suffix


class _TableWriter(Writer):
    """Makes Arrow tables of predictions."""

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        check_pyarrow()
        self.file, self.names = file, names

    def table(self, predictions: Predictions) -> Any:
        import pyarrow

        return pyarrow.Table.from_arrays(arrow_columns(predictions), self.names)


def arrow_columns(predictions: Predictions) -> list[Any]:
    """Predictions as Arrow arrays, in the order of :func:`column_names`."""
    import pyarrow

    kept = [_as_column(values) for values in (predictions.kept or {}).values()]
    columns = [*kept, pyarrow.array(predictions.predicted)]
    if predictions.certain is not None:
        columns.append(pyarrow.array(predictions.certain))
    if predictions.probabilities is not None:
        columns += [pyarrow.array(column) for column in predictions.probabilities.T]
    return columns


def _as_column(values: Any) -> Any:
    """An Arrow array as it is; values of JSON objects as text."""
    import pyarrow

    if not isinstance(values, list):
        return values
    texts = [value if isinstance(value, str | None) else json.dumps(value) for value in values]
    return pyarrow.array(texts, pyarrow.string())


class _CsvWriter(_TableWriter):
    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        super().__init__(file, names)
        headings = io.StringIO()
        csv.writer(headings, lineterminator="\n").writerow(names)
        file.write(headings.getvalue().encode())

    def write(self, predictions: Predictions) -> None:
        from pyarrow import csv as arrow_csv

        if predictions.probabilities is not None:
            predictions = predictions._replace(probabilities=round_for_text(predictions.probabilities))
        table = self.table(predictions)
        options = {"include_header": False, "quoting_style": "needed" if _needs_quotes(table) else "none"}
        arrow_csv.write_csv(table, self.file, arrow_csv.WriteOptions(**options))


class _JsonLinesWriter(Writer):
    def __init__(self, file: IO[bytes], classes: NDArray[Any]) -> None:
        self.file, self.classes = file, list(map(str, classes.tolist()))

    def write(self, predictions: Predictions) -> None:
        kept = {
            name: values if isinstance(values, list) else values.to_pylist()
            for name, values in (predictions.kept or {}).items()
        }
        columns: dict[str, list[Any]] = kept | {PREDICTED: predictions.predicted.tolist()}
        if predictions.certain is not None:
            columns[CERTAIN] = predictions.certain.tolist()
        if predictions.probabilities is not None:
            rounded = round_for_text(predictions.probabilities).tolist()
            columns[PROBABILITIES] = [dict(zip(self.classes, row, strict=True)) for row in rounded]
        for row in zip(*columns.values(), strict=True):
            line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str)
            self.file.write(line.encode() + b"\n")


class _ParquetWriter(_TableWriter):
    """Writes row groups of many batches, as readers take longer for many small ones."""

    writer: Any = None

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        super().__init__(file, names)
        self.waiting: list[Any] = []

    def write(self, predictions: Predictions) -> None:
        self.waiting.append(self.table(predictions))
        if sum(table.nbytes for table in self.waiting) >= ROW_GROUP:
            self._write_waiting()

    def _write_waiting(self) -> None:
        import pyarrow
        from pyarrow import parquet

        table = pyarrow.concat_tables(self.waiting)
        self.writer = self.writer or parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)
        self.waiting = []

    def close(self) -> None:
        if self.waiting:
            self._write_waiting()
        if self.writer is not None:
            self.writer.close()


def round_for_text(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities rounded to nine digits, or to 22 decimal places where they are very small, so that text is short.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._scorefiles.write import round_for_text
    >>> round_for_text(np.array([2 / 3, 0.00012345678912345]))
    array([6.66666667e-01, 1.23456789e-04])
    """
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(probabilities))  # of the first digit
    scale = POWERS[np.clip(DIGITS - 1 - exponents, 0, len(POWERS) - 1).astype(np.intp)]
    return np.asarray(np.rint(probabilities * scale) / scale)


def _needs_quotes(table: Any) -> bool:
    """Whether any text has a character that needs quotes in a .csv file."""
    import pyarrow
    from pyarrow import compute

    texts = [column for column in table.columns if pyarrow.types.is_string(column.type)]
    return any(compute.any(compute.match_substring_regex(column, '[",\r\n]')).as_py() for column in texts)


class _ArrayWriter(Writer):
    """Writes an .npy file, or temporary ones that become the members of one .npz file at the end."""

    def __init__(
        self, file: IO[bytes], members: Sequence[IO[bytes]], classes: NDArray[Any], others: Sequence[str]
    ) -> None:
        self.file, self.is_archive, self.classes = file, bool(members), classes
        files = dict(zip(ARRAYS, members or [file], strict=False))
        self.streams = {PREDICTED: _NpyStream(files[PREDICTED], (), classes.dtype)}
        if CERTAIN in others:
            self.streams[CERTAIN] = _NpyStream(files[CERTAIN], (), np.dtype(bool))
        if PROBABILITIES in others:
            self.streams[PROBABILITIES] = _NpyStream(files[PROBABILITIES], classes.shape, np.dtype(np.float64))

    def write(self, predictions: Predictions) -> None:
        self.streams[PREDICTED].append(predictions.predicted)
        if predictions.certain is not None:
            self.streams[CERTAIN].append(predictions.certain)
        if predictions.probabilities is not None:
            self.streams[PROBABILITIES].append(predictions.probabilities)

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()
        if not self.is_archive:
            return
        with zipfile.ZipFile(self.file, "w") as archive:
            for name, stream in self.streams.items():
                stream.file.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    shutil.copyfileobj(stream.file, member)
            if PROBABILITIES in self.streams:
                with archive.open("classes.npy", "w") as member:
                    np.lib.format.write_array(member, self.classes, allow_pickle=False)


class _NpyStream:
    """An array in numpy's format whose number of rows is known only at the end."""

    def __init__(self, file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.file, self.shape, self.dtype, self.rows = file, shape, dtype, 0
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        self.file.write(np.ascontiguousarray(values, self.dtype).tobytes())
        self.rows += len(values)

    def close(self) -> None:
        """Write the number of rows into the header. numpy pads the header, so its length stays the same."""
        self.file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self.file, header | {"shape": (self.rows, *self.shape)})
