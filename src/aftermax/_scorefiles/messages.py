"""Parts of error messages about score files: where an error is, and names of columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import LARGEST_VALUE, are_usable
from aftermax._utils.text import shortened

MAX_NAMES_SHOWN = 12
MAX_LETTERS = 200  # of a reason or a name
NUMBERS_AS_WEIGHTS = "--weights needs numbers of at least 0, one for each row: correct the column, or name another one."


def row_number(row: int) -> str:
    """Where a row is, in a file that has no lines."""
    return f"row {row} (counted from 0)"


def join_names(names: list[str]) -> str:
    """Names of columns or arrays, separated by commas; of many, the first dozen."""
    shown = ", ".join(shortened(name, MAX_LETTERS) for name in names[:MAX_NAMES_SHOWN])
    return shown if len(names) <= MAX_NAMES_SHOWN else f"{shown}, ... {len(names)} in all"


def shell_argument(names: list[str]) -> str:
    """Names of columns as they are typed after an option in a shell.

    Examples
    --------
    >>> from aftermax._scorefiles.messages import shell_argument
    >>> print(shell_argument(["id"]), shell_argument(["id", "born on"]))
    id 'id,born on'
    """
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def damaged_file(name: str, error: Exception) -> ValueError:
    """The error for a file whose content is not what its name says."""
    reason = shortened(" ".join(str(error).split()) or type(error).__name__, MAX_LETTERS)
    return ValueError(
        f"{name} is damaged, or its format is not the one of its file name ({reason}): write the file again."
    )


def check_finite(values: NDArray[Any], place: Callable[[int, int], str]) -> None:
    """Refuse values that are not finite; ``place`` gives the position of a row and column as text."""
    if are_usable(values):
        return
    with np.errstate(invalid="ignore"):  # a NaN of the signalling kind
        row, column = np.argwhere(~(np.abs(values.astype(np.float64)) <= LARGEST_VALUE))[0]
    value = values[row, column]
    if np.isnan(value):
        raise ValueError(f"{place(row, column)} is empty or NaN: fill it in or remove the row.")
    raise ValueError(
        f"{place(row, column)} is {value}: finite numbers up to {LARGEST_VALUE:g} are needed. For the logit of a class "
        "that is masked out, write -1e4."
    )
