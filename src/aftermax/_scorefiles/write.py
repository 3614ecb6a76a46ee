"""Predictions written some rows at a time, to a file that is there whole or not at all, or to standard output."""

from __future__ import annotations

import csv
import gzip
import io
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

from aftermax._scorefiles.csv_parquet import need_pyarrow
from aftermax._utils.files import checked_output_path, write_atomically

STANDARD_OUTPUT = "-"
PREDICTED, PROBABILITIES = ARRAYS = ("predicted", "probabilities")
KINDS = (".csv", ".csv.gz", ".parquet", ".npz", ".npy")
DIGITS = 9  # of probabilities in text
POWERS = np.array([float(f"1e{power}") for power in range(23)])  # the powers of ten that are exact


class Predictions(NamedTuple):
    """What a head says of some rows, and what of the rows is handed on."""

    answers: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None
    kept: dict[str, Any] | None = None


class Writer(ABC):
    """Takes predictions, some rows at a time."""

    @abstractmethod
    def write(self, some: Predictions) -> None:
        """Add rows."""

    def close(self) -> None:  # noqa: B027  # most have nothing to do
        """Finish, when all rows are there."""


@contextmanager
def writing(out: str, classes: NDArray[Any], probabilities: bool, keep: tuple[str, ...] = ()) -> Iterator[Writer]:
    """A writer of predictions, by what the file is called. After an error, nothing is left of it.

    Tables have the columns that are kept, ``predicted``, and one for each class if probabilities are wanted. An .npz
    file has ``predicted``, and ``probabilities`` and ``classes`` if these are wanted; an .npy file is ``predicted``.
    """
    kind = _kind(out, probabilities, keep)
    names = [*keep, PREDICTED, *(map(str, classes.tolist()) if probabilities else ())]
    twice = {name for name in names if names.count(name) > 1}
    if twice and kind not in (".npz", ".npy"):
        raise ValueError(
            f"Two columns of the predictions would be called {min(twice)}: write an .npz file, or keep less."
        )
    with ExitStack() as stack:
        if out == STANDARD_OUTPUT:
            file = cast(IO[bytes], sys.stdout.buffer)
        else:
            file = stack.enter_context(
                stack.enter_context(write_atomically(checked_output_path(Path(out)))).open("w+b")
            )
        if kind == ".csv.gz":
            file = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)))
        if kind in (".npz", ".npy"):
            aside = [stack.enter_context(tempfile.TemporaryFile()) for _ in ARRAYS] if kind == ".npz" else []
            writer: Writer = _Arrays(file, aside, classes, probabilities)
        else:
            writer = _Parquet(file, names) if kind == ".parquet" else _Text(file, names)
        yield writer
        writer.close()


def _kind(out: str, probabilities: bool, keep: tuple[str, ...]) -> str:
    """Which kind of file it is to be, if it can hold what is wanted."""
    if out == STANDARD_OUTPUT:
        return ".csv"
    kind = next((kind for kind in KINDS if out.lower().endswith(kind)), None)
    if kind is None:
        raise ValueError(f"{out}: predictions go to files that end in {', '.join(KINDS)}, or to - (as .csv).")
    if kind == ".npy" and probabilities:
        raise ValueError(f"{out}: an .npy file holds one array, so no --probabilities: write an .npz file.")
    if kind in (".npz", ".npy") and keep:
        raise ValueError(f"{out} cannot --keep columns: write a .csv or .parquet file.")
    return kind


class _Table(Writer):
    """Writes Arrow tables."""

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        need_pyarrow()
        self.file, self.names = file, names

    def table(self, some: Predictions) -> Any:
        import pyarrow

        columns = [*(some.kept or {}).values(), pyarrow.array(some.answers)]
        if some.probabilities is not None:
            columns += [pyarrow.array(column) for column in some.probabilities.T]
        return pyarrow.Table.from_arrays(columns, self.names)


class _Text(_Table):
    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        super().__init__(file, names)
        headings = io.StringIO()
        csv.writer(headings, lineterminator="\n").writerow(names)
        file.write(headings.getvalue().encode())

    def write(self, some: Predictions) -> None:
        from pyarrow import csv as arrow_csv

        shares = None if some.probabilities is None else rounded(some.probabilities)
        table = self.table(some._replace(probabilities=shares))
        options = {"include_header": False, "quoting_style": "needed" if _needs_quotes(table) else "none"}
        arrow_csv.write_csv(table, self.file, arrow_csv.WriteOptions(**options))


class _Parquet(_Table):
    writer: Any = None

    def write(self, some: Predictions) -> None:
        from pyarrow import parquet

        table = self.table(some)
        self.writer = self.writer or parquet.ParquetWriter(self.file, table.schema)
        self.writer.write_table(table)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def rounded(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities to nine digits, or to 22 places where they are very small: the nearest float, so text is short.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._scorefiles.write import rounded
    >>> rounded(np.array([2 / 3, 0.00012345678912345]))
    array([6.66666667e-01, 1.23456789e-04])
    """
    with np.errstate(divide="ignore"):
        before = np.floor(np.log10(shares))  # the place of the first digit
    scale = POWERS[np.clip(DIGITS - 1 - before, 0, len(POWERS) - 1).astype(np.intp)]
    return np.asarray(np.rint(shares * scale) / scale)


def _needs_quotes(table: Any) -> bool:
    """Whether any text has a character that means something in a .csv file."""
    import pyarrow
    from pyarrow import compute

    texts = [column for column in table.columns if pyarrow.types.is_string(column.type)]
    return any(compute.any(compute.match_substring_regex(column, '[",\r\n]')).as_py() for column in texts)


class _Arrays(Writer):
    """Writes an .npy file, or two of them on the side that go into one .npz file at the end."""

    def __init__(self, file: IO[bytes], aside: Sequence[IO[bytes]], classes: NDArray[Any], probabilities: bool) -> None:
        self.file, self.packed, self.classes = file, bool(aside), classes
        places = dict(zip(ARRAYS, aside or [file], strict=False))
        self.streams = {PREDICTED: _Growing(places[PREDICTED], (), classes.dtype)}
        if probabilities:
            self.streams[PROBABILITIES] = _Growing(places[PROBABILITIES], classes.shape, np.dtype(np.float64))

    def write(self, some: Predictions) -> None:
        self.streams[PREDICTED].append(some.answers)
        if some.probabilities is not None:
            self.streams[PROBABILITIES].append(some.probabilities)

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()
        if not self.packed:
            return
        with zipfile.ZipFile(self.file, "w") as archive:
            for name, stream in self.streams.items():
                stream.file.seek(0)
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    shutil.copyfileobj(stream.file, member)
            if PROBABILITIES in self.streams:
                with archive.open("classes.npy", "w") as member:
                    np.lib.format.write_array(member, self.classes, allow_pickle=False)


class _Growing:
    """An array in numpy's format whose number of rows is known at the end only."""

    def __init__(self, file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.file, self.shape, self.dtype, self.rows = file, shape, dtype, 0
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        self.file.write(np.ascontiguousarray(values, self.dtype).tobytes())
        self.rows += len(values)

    def close(self) -> None:
        """Say how many rows there are. numpy leaves room for it: the length of the header stays the same."""
        self.file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        described = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self.file, described | {"shape": (self.rows, *self.shape)})
