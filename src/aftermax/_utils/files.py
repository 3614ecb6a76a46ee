"""Paths of files that are checked, and files that are written completely or not at all."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MAX_LETTERS = 40  # of a name, in that of its unfinished file: the longest names have 255 bytes
PARTIAL = ".partial"
DAY = 24 * 60 * 60  # seconds


def existing_file(path: Path) -> Path:
    """The path of a file to read, if it exists."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    return path


def checked_output_path(path: Path) -> Path:
    """The path of a file to write, if its folder exists; of a link, that of the file that it points to."""
    path = path.resolve() if path.is_symlink() else path
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: folder {path.parent} is not there.")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a device or a pipe, which cannot be replaced: name a file.")
    return path


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """A temporary path that replaces ``path`` once it is written; after an error, it is removed.

    The new file has the permissions of the old one. What a killed process left there is removed, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from aftermax._utils.files import write_atomically
    >>> with write_atomically(Path("results/table.md")) as unfinished:  # doctest: +SKIP
    ...     unfinished.write_text("...")
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    start = f".{path.name[:MAX_LETTERS]}.{_host()}."
    _remove_abandoned(path.parent, start)
    unfinished = path.with_name(f"{start}{os.getpid()}.{threading.get_ident()}{PARTIAL}")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
        os.close(os.open(unfinished, os.O_CREAT | os.O_WRONLY, 0o666 if mode is None else mode & 0o600))
        yield unfinished
        if mode is not None:
            unfinished.chmod(mode)
        os.replace(unfinished, path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(unfinished), unfinished):
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from error  # of which only the temporary name is told
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_abandoned(folder: Path, start: str) -> None:
    """Remove unfinished files of processes of this machine that have ended."""
    for entry in folder.glob(f"{glob.escape(start)}*{PARTIAL}"):
        process = entry.name.removeprefix(start).partition(".")[0]
        if process.isdecimal() and not _is_running(int(process)):
            with suppress(OSError):
                entry.unlink()


def remove_abandoned(folder: Path) -> None:
    """Remove unfinished files of processes that have ended, in a folder and the folders in it.

    Of other machines' processes nothing is known but when they last wrote: theirs are removed after a day.
    """
    for entry in folder.rglob(f".*{PARTIAL}"):
        *_, host, process, _ = f"...{entry.name.removesuffix(PARTIAL)}".rsplit(".", 3)
        with suppress(OSError):
            own = host == _host() and process.isdecimal()
            if not _is_running(int(process)) if own else time.time() - entry.stat().st_mtime > DAY:
                entry.unlink()


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere a signal would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _host() -> str:
    """A few letters that tell this machine from others that may write to the same folder."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with write_atomically(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
