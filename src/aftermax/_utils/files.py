"""Files: are they there, and written whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def existing_file(path: Path) -> Path:
    """The path of a file that is to be read, if it is there."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    return path


def checked_output_path(path: Path) -> Path:
    """The path of a file that is to be written, if its folder is there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: folder {path.parent} is not there.")
    return path


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """A path to write to that takes the place of ``path`` once all is written; after an error, nothing is left of it.

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
    """Write a text file, whole or not at all."""
    with write_atomically(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
