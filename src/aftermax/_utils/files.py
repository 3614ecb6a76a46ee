"""Paths of files that are checked, and files that are written completely or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def existing_file(path: Path) -> Path:
    """The path of a file to read, if it exists."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    return path


def checked_output_path(path: Path) -> Path:
    """The path of a file to write, if its folder exists."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: folder {path.parent} is not there.")
    return path


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """A temporary path that replaces ``path`` once it is written; after an error, it is removed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from aftermax._utils.files import write_atomically
    >>> with write_atomically(Path("results/table.md")) as unfinished:  # doctest: +SKIP
    ...     unfinished.write_text("...")
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with write_atomically(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
