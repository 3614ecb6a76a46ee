"""Score files of numpy's: .npz, and .npy with its labels next to it. Read some rows at a time, and never a pickle."""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.types import Rows, ScoreFile, Wanted, check_finite, listed, of_arrays, rows_at_a_time
from aftermax._utils.files import existing_file
from aftermax.data import DAMAGE

KINDS = ("logits", "labels", "features")


class ArrayStream:
    """An array in numpy's format, read row by row from a file that need not be seekable."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.file, self.name = file, name
        try:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            self.shape, by_columns, self.dtype = read[version](file)
        except DAMAGE as error:
            raise damaged(name, error) from error
        if self.dtype.hasobject:
            raise ValueError(
                f"{name} holds Python objects, which are not read, as they could run anything: save strings as "
                "array.astype(str), and numbers as array.astype(float)."
            )
        self._whole = self._read_whole() if by_columns and len(self.shape) > 1 else None
        self._next = 0

    def take(self, rows: int) -> NDArray[Any]:
        """The next rows, as many as are left at most."""
        if not self.shape:
            raise ValueError(f"{self.name} holds a single value: an array with rows is needed.")
        first, self._next = self._next, min(self._next + rows, self.shape[0])
        if self._whole is not None:
            return self._whole[first : self._next]
        shape = (self._next - first, *self.shape[1:])
        return self._values(math.prod(shape)).reshape(shape)

    def _read_whole(self) -> NDArray[Any]:
        """An array that is stored column by column cannot be read by rows."""
        return self._values(math.prod(self.shape)).reshape(self.shape, order="F")

    def _values(self, count: int) -> NDArray[Any]:
        wanted = count * self.dtype.itemsize
        try:
            found = self.file.read(wanted)
        except (OSError, *DAMAGE) as error:
            raise damaged(self.name, error) from error
        if len(found) < wanted:
            raise ValueError(f"{self.name} is cut short: it should have {self.shape[0]:,} rows. Make it anew.")
        return np.frombuffer(found, self.dtype, count)


def damaged(name: str, error: Exception) -> ValueError:
    """The error for a file that is not what its name says."""
    what = " ".join(str(error).split())
    return ValueError(f"{name} is damaged, or of another kind than its name says ({what}): make it anew.")


def open_npy(file: IO[bytes], name: str) -> ScoreFile:
    """Logits from an .npy file."""
    return _score_file(name, {"logits": ArrayStream(file, name)}, "An .npy file holds logits only")


def read_npy(path: Path) -> NDArray[Any]:
    """The whole of an .npy file."""
    with existing_file(path).open("rb") as file:
        stream = ArrayStream(file, str(path))
        return stream.take(sys.maxsize)


@contextmanager
def open_npz(file: IO[bytes], name: str, wanted: Wanted) -> Iterator[ScoreFile]:
    """Logits, and labels and features if there are any, from an .npz file."""
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
        except zipfile.BadZipFile as error:
            raise damaged(name, error) from error
        arrays = [member.removesuffix(".npy") for member in archive.namelist()]
        prefix = _prefix(arrays, wanted.part, name)
        kinds = [kind for kind in KINDS if prefix + kind in arrays and (kind != "features" or wanted.with_features)]
        streams = {}
        for kind in kinds:
            try:
                member = stack.enter_context(archive.open(f"{prefix}{kind}.npy"))
            except DAMAGE as error:
                raise damaged(name, error) from error
            streams[kind] = ArrayStream(member, f"{name}, {prefix}{kind},")
        yield _score_file(name, streams, f"It holds {listed(arrays)}")


def _prefix(arrays: list[str], part: str | None, name: str) -> str:
    """What the names of the arrays begin with."""
    parts = [one.removesuffix("_logits") for one in arrays if one.endswith("_logits")]
    if part is not None:
        if f"{part}_logits" in arrays:
            return f"{part}_"
        there = f"parts: {', '.join(parts)}" if parts else f"no parts but {listed(arrays)}"
        raise ValueError(f"{name} has no array {part}_logits for --part {part}; it has {there}.")
    if "logits" in arrays:
        return ""
    if parts:
        raise ValueError(f"{name} has parts, {', '.join(parts)}: choose one, such as --part {parts[0]}.")
    raise ValueError(
        f"{name} has no array called logits, but {listed(arrays) or 'nothing at all'}: save it with "
        "numpy.savez(path, logits=..., labels=...)."
    )


def _score_file(name: str, streams: dict[str, ArrayStream], contents: str) -> ScoreFile:
    """Arrays that go together as one file, checked for their shapes."""
    logits = streams["logits"]
    if len(logits.shape) != 2 or logits.shape[1] < 2:
        raise ValueError(
            f"{name}: logits have shape {logits.shape}: a row for each sample and a column for each class are needed, "
            "so at least two columns."
        )
    for kind in ("logits", "features"):
        if kind in streams and streams[kind].dtype.kind not in "biuf":
            raise ValueError(f"{name}: {kind} are of type {streams[kind].dtype}: numbers are needed.")
    total = logits.shape[0]
    for kind, stream in streams.items():
        if stream.shape[:1] != (total,):
            rows = stream.shape[0] if stream.shape else "no"
            raise ValueError(f"{name}: logits have {total} rows but {kind} {rows}: one for each is needed.")
    done = 0

    def checked(kind: str, first: int, step: int) -> NDArray[Any]:
        values = streams[kind].take(step)
        check_finite(values, lambda row, column: f"{name}: {kind}, {of_arrays(first + row)}, column {column}")
        return values

    def batches() -> Iterator[Rows]:
        nonlocal done
        step = rows_at_a_time(logits.shape[1])
        for first in range(0, total, step):
            some = checked("logits", first, step)
            labels = as_text(streams["labels"].take(step)) if "labels" in streams else None
            yield Rows(some, labels, checked("features", first, step) if "features" in streams else None)
            done = first + len(some)

    return ScoreFile(name, batches(), contents=contents, size=total, position=lambda: done)


def as_text(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels that are bytes as text; others as they are."""
    return np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
