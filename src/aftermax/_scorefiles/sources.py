"""The bytes of a score file or of standard input, and which format they have."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from aftermax._utils.files import existing_file

STANDARD_INPUT = "-"
JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
FORMATS = (".npz", ".npy", ".csv", ".csv.gz", ".parquet", *JSON_LINES)
MAX_LINE = 2**20  # bytes of a line by which the format is told
SPREADSHEETS = (".xlsx", ".xls", ".ods")
FIRST_BYTES = {b"PK\x03\x04": ".npz", b"\x93NUM": ".npy", b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"{": ".jsonl"}


class Source(NamedTuple):
    """An open file, its format and its name for messages."""

    file: IO[bytes]
    format: str
    name: str


@contextmanager
def open_source(path: str) -> Iterator[Source]:
    """Open a file, whose format is in its name, or standard input, whose format is in its first bytes."""
    if path == STANDARD_INPUT:
        file = cast(io.BufferedReader, sys.stdin.buffer)
        start = file.peek(4)[:64]
        text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        start = text if text.startswith(b"{") else start
        suffix = next((suffix for first, suffix in FIRST_BYTES.items() if start.startswith(first)), ".csv")
        yield Source(file, suffix, "standard input")
        return
    suffix = _format_of(path)
    with existing_file(Path(path)).open("rb") as opened:
        if Path(path).is_file() and os.fstat(opened.fileno()).st_size == 0:
            raise ValueError(f"{path} is empty.")
        yield Source(opened, suffix, path)


def _format_of(path: str) -> str:
    """The format that the name of a file says."""
    suffix = next((one for one in FORMATS if Path(path).name.lower().endswith(one)), None)
    if suffix is not None:
        return suffix
    if path.lower().endswith(SPREADSHEETS):
        raise ValueError(f"{path} is a spreadsheet: save it as CSV.")
    existing_file(Path(path))
    if path.lower().endswith((".txt", ".tsv")):
        return ".csv"
    if path.lower().endswith((".txt.gz", ".tsv.gz")):
        return ".csv.gz"
    if path.lower().endswith(".json") and _has_objects_on_lines(Path(path)):
        return ".jsonl"
    if path.lower().endswith(".json"):
        raise ValueError(f"{path}: put one JSON object on each line, for each sample, and call the file .jsonl.")
    raise ValueError(f"{path} is not a score file by its name: it should end in {', '.join(FORMATS)}.")


def _has_objects_on_lines(path: Path) -> bool:
    """Whether the first line is a JSON object, whole: then each line is one, for a sample."""
    with path.open("rb") as file:
        try:
            return isinstance(json.loads(file.readline(MAX_LINE)), dict)
        except (ValueError, RecursionError):
            return False


@contextmanager
def seekable(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file itself or, for a pipe, a temporary copy on disk."""
    if file.seekable():
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        yield copy


def size_and_position(file: IO[bytes]) -> tuple[int, Callable[[], int]]:
    """The number of bytes of a file, and a function that returns how many were read; 0 for a pipe."""
    return (os.fstat(file.fileno()).st_size, file.tell) if file.seekable() else (0, lambda: 0)
