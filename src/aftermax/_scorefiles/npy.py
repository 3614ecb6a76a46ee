"""Score files in numpy's formats, .npz and .npy. Read some rows at a time; pickles are refused."""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.labels import decode_bytes
from aftermax._scorefiles.messages import check_finite, damaged_file, join_names, row_number
from aftermax._scorefiles.types import ONE_SCORE, ReadOptions, Rows, ScoreFile, rows_per_batch
from aftermax._scorefiles.unpacked import check_expansion
from aftermax._utils.files import existing_file
from aftermax.data import DAMAGE

PIECE = 2**26  # bytes
MOST_OF_HEADER = 2**16  # bytes; numpy refuses headers of more than 10,000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # zipfile unpacks the others without a limit
ARRAYS = ("logits", "labels", "features")


class ArrayStream:
    """An array in numpy's format, read from a file some rows at a time. The file need not be seekable.

    ``packed`` is its size in a compressed file.
    """

    def __init__(self, file: IO[bytes], name: str, packed: int | None = None) -> None:
        self.file, self.name, self.packed = file, name, packed
        try:
            self.shape, fortran_order, self.dtype = _read_header(file)
        except DAMAGE as error:
            raise damaged_file(name, error) from error
        if any(type(size) is not int or size < 0 for size in self.shape) or self.dtype.itemsize == 0:
            raise damaged_file(name, ValueError(f"its shape is {self.shape}, its type {self.dtype}"))
        if self.dtype.hasobject:
            raise ValueError(
                f"{name} holds Python objects, which are not read, as loading them could run any code: save strings as "
                "array.astype(str), and numbers as array.astype(float)."
            )
        self._whole = self._read_whole() if fortran_order and len(self.shape) > 1 else None
        self._next = 0

    def read(self, rows: int) -> NDArray[Any]:
        """The next rows, or as many of them as are left."""
        if not self.shape:
            raise ValueError(f"{self.name} holds a single value: an array with rows is needed.")
        first, self._next = self._next, min(self._next + rows, self.shape[0])
        if self._whole is not None:
            return self._whole[first : self._next]
        shape = (self._next - first, *self.shape[1:])
        return self._values(math.prod(shape)).reshape(shape)

    def read_labels(self, rows: int) -> NDArray[Any]:
        """The next labels or groups; bytes as text."""
        labels = self.read(rows)
        try:
            return decode_bytes(labels)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.name} holds bytes that are not text in UTF-8: save text, numpy.char.decode(array, encoding)."
            ) from error

    def _read_whole(self) -> NDArray[Any]:
        """An array that is stored by columns (Fortran order) cannot be read by rows."""
        if self.packed is not None:
            check_expansion(math.prod(self.shape) * self.dtype.itemsize, self.packed, self.name)
        return self._values(math.prod(self.shape)).reshape(self.shape, order="F")

    def _values(self, count: int) -> NDArray[Any]:
        size = count * self.dtype.itemsize
        try:
            content = _read(self.file, size)
        except DAMAGE as error:
            raise damaged_file(self.name, error) from error
        if len(content) < size:
            raise ValueError(
                f"{self.name} is truncated: it should have {self.shape[0]:,} rows. Write or copy the file again."
            )
        return np.frombuffer(content, self.dtype, count)


def _read_header(file: IO[bytes]) -> tuple[Any, bool, np.dtype[Any]]:
    """Shape, order and type, which numpy reads as Python source: with a backslash in it, Python may warn."""
    version = np.lib.format.read_magic(file)
    read, size = {
        (1, 0): (np.lib.format.read_array_header_1_0, 2),
        (2, 0): (np.lib.format.read_array_header_2_0, 4),
    }[version]
    length = file.read(size)
    header = file.read(min(int.from_bytes(length, "little"), MOST_OF_HEADER))
    if b"\\" in header:
        raise ValueError("its header holds a backslash")
    shape, fortran_order, dtype = read(io.BytesIO(length + header))
    return shape, fortran_order, dtype


def _read(file: IO[bytes], size: int) -> bytes | bytearray:
    """So many bytes, or as many as there are: piece by piece, as a header may promise more than memory can hold."""
    if size <= PIECE:
        return file.read(size)
    content = bytearray()
    while len(content) < size and (piece := file.read(min(PIECE, size - len(content)))):
        content += piece
    return content


def open_npy(file: IO[bytes], name: str, options: ReadOptions) -> ScoreFile:
    """Logits from an .npy file."""
    for option, array in (("--groups", options.groups), ("--weights", options.weights)):
        if array is not None:
            raise ValueError(
                f"{name} has no {array!r} for {option}: an .npy file holds logits only. Save logits, labels and "
                f"{array} in one .npz file, with numpy.savez."
            )
    streams = {"logits": ArrayStream(file, name)}
    return _score_file(name, streams, "An .npy file holds logits only", options)


def read_npy(path: Path) -> NDArray[Any]:
    """The whole array of an .npy file."""
    with existing_file(path).open("rb") as file:
        return ArrayStream(file, str(path)).read(sys.maxsize)


@contextmanager
def open_npz(file: IO[bytes], name: str, options: ReadOptions) -> Iterator[ScoreFile]:
    """Logits, and labels and features if there are any, from an .npz file."""
    with ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
        except DAMAGE as error:
            raise damaged_file(name, error) from error
        arrays = [member.removesuffix(".npy") for member in archive.namelist()]
        prefix = _prefix(arrays, options.part, name)
        streams = {}
        for kind, array in _arrays_to_read(arrays, prefix, options, name).items():
            try:
                packed = archive.getinfo(f"{array}.npy")
                if packed.compress_type not in METHODS:
                    raise NotImplementedError("it is compressed in a way that numpy does not use")
                member = stack.enter_context(archive.open(packed))
            except DAMAGE as error:
                raise damaged_file(name, error) from error
            if not options.columns:  # they are to be held in memory, all of them
                check_expansion(packed.file_size, packed.compress_size, f"{name}, {array},")
            streams[kind] = ArrayStream(member, f"{name}, {array},", packed.compress_size)
        yield _score_file(name, streams, f"It holds {join_names(arrays)}", options)


def _arrays_to_read(arrays: list[str], prefix: str, options: ReadOptions, name: str) -> dict[str, str]:
    """The name of the array of each kind that is read."""
    wanted = {kind: prefix + kind for kind in ARRAYS if prefix + kind in arrays}
    if not options.with_features:
        wanted.pop("features", None)
    for kind, array in (("groups", options.groups), ("weights", options.weights)):
        if array is not None:
            found = [one for one in (prefix + array, array) if one in arrays]
            if not found:
                raise ValueError(f"{name} has no array {array!r} for --{kind}: it holds {join_names(arrays)}.")
            wanted[kind] = found[0]
    return wanted


def _prefix(arrays: list[str], part: str | None, name: str) -> str:
    """The prefix of the names of the arrays that are read, such as "val_"."""
    parts = [one.removesuffix("_logits") for one in arrays if one.endswith("_logits")]
    if part is not None:
        if f"{part}_logits" in arrays:
            return f"{part}_"
        present = f"parts: {', '.join(parts)}" if parts else f"no parts but {join_names(arrays)}"
        raise ValueError(f"{name} has no array {part}_logits for --part {part}; it has {present}.")
    if "logits" in arrays:
        return ""
    if parts:
        raise ValueError(f"{name} has parts, {', '.join(parts)}: choose one, such as --part {parts[0]}.")
    if "head.json" in arrays:
        raise ValueError(f"{name} is a head file: name a file with scores, that is logits and their labels, instead.")
    raise ValueError(
        f"{name} has no array called logits, but {join_names(arrays) or 'nothing at all'}: save it with "
        "numpy.savez(path, logits=..., labels=...)."
    )


def _score_file(name: str, streams: dict[str, ArrayStream], contents: str, options: ReadOptions) -> ScoreFile:
    """Arrays that belong together as one score file."""
    _check_shapes(name, streams, options)
    total, *columns = streams["logits"].shape
    done = 0

    def read_finite(kind: str, first: int, count: int) -> NDArray[Any]:
        values = streams[kind].read(count)
        values = values.reshape(len(values), -1) if kind == "logits" else values  # one logit for each sample
        check_finite(values, lambda row, column: f"{name}: {kind}, {row_number(first + row)}, column {column}")
        return values

    def batches() -> Iterator[Rows]:
        nonlocal done
        step = rows_per_batch(math.prod(columns))
        for first in range(0, total, step):
            logits = read_finite("logits", first, step)
            labels = streams["labels"].read_labels(step) if "labels" in streams else None
            features = read_finite("features", first, step) if "features" in streams else None
            groups = streams["groups"].read_labels(step) if "groups" in streams else None
            weights = streams["weights"].read(step) if "weights" in streams else None
            yield Rows(logits, labels, features, None, groups, weights)
            done = first + len(logits)

    return ScoreFile(name, batches(), contents=contents, size=total, position=lambda: done)


def _check_shapes(name: str, streams: dict[str, ArrayStream], options: ReadOptions) -> None:
    logits = streams["logits"]
    columns = {1: 1, 2: logits.shape[-1]}.get(len(logits.shape), 0) if logits.shape else 0
    if columns < options.least_columns:
        raise ValueError(
            f"{name}: logits have shape {logits.shape}: a row for each sample and a column for each class are needed, "
            f"so at least two columns. {ONE_SCORE}"
        )
    for kind in ("logits", "features", "weights"):
        if kind in streams and streams[kind].dtype.kind not in "biuf":
            raise ValueError(f"{name}: {kind} are of type {streams[kind].dtype}: numbers are needed.")
    if "features" in streams and (len(streams["features"].shape) != 2 or streams["features"].shape[1] == 0):
        raise ValueError(
            f"{name}: features have shape {streams['features'].shape}: a row for each sample is needed. Flatten a "
            "layer with more axes first: features.reshape(len(features), -1)."
        )
    for kind in ("groups", "weights"):
        if kind in streams and len(streams[kind].shape) != 1:
            raise ValueError(
                f"{name}: {kind} have shape {streams[kind].shape}: one value for each row is needed. Flatten the array."
            )
    total = logits.shape[0]
    for kind, stream in streams.items():
        if stream.shape[:1] != (total,):
            rows = stream.shape[0] if stream.shape else "no"
            raise ValueError(
                f"{name}: logits have {total} rows but {kind} have {rows}: one row for each sample is needed."
            )
