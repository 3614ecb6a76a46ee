"""Compressed score files: a small one that was made to expand until memory ends is refused."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from aftermax._scorefiles.types import Rows, ScoreFile

MOST_TIMES = 100  # as large as the file; logits shrink to a half at best, and few digits to a tenth
ALWAYS_ALLOWED = 2**26  # bytes


def check_expansion(unpacked: int, packed: int, name: str) -> None:
    """Refuse to unpack more, if it is much already, and far more than the file has."""
    if unpacked > max(ALWAYS_ALLOWED, MOST_TIMES * packed):
        raise ValueError(
            f"{name} expands to more than {MOST_TIMES} times its size ({packed:,} bytes), as if it were made to fill "
            "the memory. If that is what you want, write it uncompressed: as .csv or .jsonl, or with numpy.savez."
        )


class _Packed:
    """Counts the bytes that are read of a compressed file."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self.file.read(size)
        self.count += len(content)
        return content


class _Unpacked(io.RawIOBase):
    """What is unpacked, as long as it is not too much."""

    def __init__(self, text: gzip.GzipFile, packed: _Packed, name: str) -> None:
        self.text, self.packed, self.name, self.count = text, packed, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self.text.readinto(buffer)
        self.count += count
        check_expansion(self.count, self.packed.count, self.name)
        return count


@contextmanager
def unpacked(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """The text of a .gz file."""
    packed = _Packed(file)
    with gzip.GzipFile("", "rb", fileobj=cast(IO[bytes], packed)) as text:
        yield cast(IO[bytes], io.BufferedReader(_Unpacked(text, packed, name), 2**16))


def all_rows(file: ScoreFile) -> list[Rows]:
    """Every row of a file, to be kept in memory."""
    batches, held = [], 0
    for rows in file.batches:
        batches.append(rows)
        held += rows.logits.nbytes + (0 if rows.features is None else rows.features.nbytes)
        if file.bytes_on_disk is not None:
            check_expansion(held, file.bytes_on_disk, file.name)
    if not batches:
        raise ValueError(f"{file.name} has no rows: at least two are needed, of different classes.")
    return batches
