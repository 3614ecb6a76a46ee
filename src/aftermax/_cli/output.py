"""What the commands print, and where they may write."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from aftermax._utils.files import checked_output_path
from aftermax._utils.text import escaped_controls, visible_lines
from aftermax._utils.warned import warn_once_each


def print_json(content: dict[str, object]) -> None:
    """Print plain data on standard output, with \\u.... for what does not belong on a terminal or cannot be shown."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, indent=2, allow_nan=False)
    print(escaped_controls(text))


def print_result(result: object) -> None:
    """Print text on standard output."""
    print(visible_lines(str(result)))


def print_message(text: str) -> None:
    """Print on standard error: standard output is for tables, predictions and JSON."""
    print(visible_lines(text), file=sys.stderr)


def print_warnings(messages: Iterable[str]) -> None:
    """Print each warning on standard error. Where a result is printed as text, it has them."""
    warn_once_each(messages)


def announce_compilation() -> None:
    """Print that compiling takes time, if nothing is compiled yet."""
    from aftermax._utils.compiled import compilation_is_announced, is_cached
    from aftermax._utils.softmax_kernels import certainties

    if not is_cached(certainties):
        compilation_is_announced()
        print_message("aftermax: the first run on a machine compiles code, which may take a minute.")


def check_output(path: Path, inputs: Sequence[Path | None], suffixes: tuple[str, ...] | None = None) -> None:
    """Refuse a path that cannot or must not be written, before the work rather than after it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if suffixes is not None and not path.name.lower().endswith(suffixes):
        raise ValueError(f"{path}: the name of this file should end in {' or '.join(suffixes)}.")
    if any(one is not None and path.exists() and one.exists() and path.samefile(one) for one in inputs):
        raise ValueError(f"{path} is one of the inputs and would be overwritten: choose another name.")
    check_output_folder(path)


def check_output_folder(path: Path) -> None:
    """Refuse the path of a file or folder that does not exist and whose own folder cannot be written."""
    if not os.access(checked_output_path(path).parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: you have no permission to write to folder {path.parent}.")
