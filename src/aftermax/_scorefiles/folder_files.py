"""The score files in a folder: none is left out without a word."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from aftermax._scorefiles.sources import FORMATS

HIDDEN = ("_", ".")  # by which names begin that programs skip when they read folders of tables


def find_files(source: Path, out: Path) -> dict[Path, str]:
    """The score files in a folder and the folders in it, in the order of their names, and the format of each.

    The keys are paths inside ``source``. Links are followed. ``out`` is where the predictions go; both are resolved.
    """
    if out == source or source in out.parents or out in source.parents:
        raise _inside_each_other(source, out)
    hidden: list[Path] = []
    formats = {path.relative_to(source): _format_of(path) for path in _visible_files(source, out, hidden)}
    found = {inside: formats[inside] for inside in sorted(formats) if formats[inside]}
    _warn_of_hidden(source, hidden)
    if not found:
        raise ValueError(f"{source} has no score files: their names should end in {', '.join(FORMATS)}.")
    kinds = sorted(set(found.values()))
    if len(kinds) > 1:
        raise ValueError(f"{source} has score files of several formats, {', '.join(kinds)}: use one folder for each.")
    return found


def _format_of(path: Path) -> str:
    """The format that the name of a file says, or nothing."""
    return next((one for one in FORMATS if path.name.lower().endswith(one)), "")


def _visible_files(source: Path, out: Path, hidden: list[Path]) -> Iterator[Path]:
    """The files in a folder and the folders in it. What has a hidden name is added to ``hidden``.

    A link to a folder above it is not followed: the files there are found anyway.
    """
    folders: list[tuple[Path, tuple[Path, ...]]] = [(source, (source,))]
    while folders:
        folder, above = folders.pop()
        for path in folder.iterdir():
            if path.name.startswith(HIDDEN):
                hidden.append(path)
                continue
            mode = _mode(path)
            if stat.S_ISDIR(mode):
                real = path.resolve()
                if real == out:
                    raise _inside_each_other(source, out)
                if real not in above:
                    folders.append((path, (*above, real)))
            elif stat.S_ISREG(mode):
                yield path
            elif _format_of(path):
                raise ValueError(f"{path} is a device or a pipe: put a file there, or remove it.")


def _mode(path: Path) -> int:
    """What a path is; of a link, what it points to."""
    try:
        return path.stat().st_mode
    except OSError as error:
        if not path.is_symlink():
            raise
        raise FileNotFoundError(
            f"{path} is a link to {os.readlink(path)}, which cannot be reached: restore that, or remove the link."
        ) from error


def _inside_each_other(source: Path, out: Path) -> ValueError:
    return ValueError(f"{out} and {source} are inside each other: write the predictions to a folder of their own.")


def _warn_of_hidden(source: Path, hidden: Iterable[Path]) -> None:
    """Say how many score files are skipped because of their names."""
    files = [file for path in sorted(hidden) for file in _files_under(path) if _format_of(file)]
    if files:
        count = "1 score file is" if len(files) == 1 else f"{len(files):,} score files are"
        warnings.warn(
            f"{count} skipped, as names that begin with _ or . are: {files[0].relative_to(source)}"
            f"{' and others' * (len(files) > 1)}.",
            UserWarning,
            stacklevel=2,
        )


def _files_under(path: Path) -> Iterator[Path]:
    """A file itself; the files in a folder, as far as it can be read."""
    if not os.path.isdir(path):  # for which pathlib may raise an error
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in sorted(names))
