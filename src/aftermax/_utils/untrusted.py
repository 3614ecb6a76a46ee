"""Checks of values from a file that anyone may have written: each is returned only if it has the expected form.

Errors name the value by ``what``, and are worded to follow "the file is damaged: ".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from aftermax._utils.text import shortened

LARGEST = 1e150  # of any number that predicts; a head of the largest logits that are taken needs 1e100


def shown(value: object) -> str:
    """A value in a message: its beginning, if it is long."""
    return shortened(repr(value), 80)


def fields(value: object, names: Collection[str] | None, what: str) -> dict[str, Any]:
    """A dict with exactly these keys; with any keys, if None."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is missing")
    if names is not None and set(value) != set(names):
        unexpected = sorted(set(value) ^ set(names))
        raise ValueError(f"{what} has missing or unknown fields: {', '.join(map(shown, unexpected[:5]))}")
    return value


def some(value: object, length: int | None, what: str) -> list[Any]:
    """A list of this length; of any length, if None."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise ValueError(f"{what} is not a list" + ("" if length is None else f" of {length}"))
    return value


def texts(value: object, length: int, what: str) -> NDArray[Any]:
    """A list of strings, as an object array: as scikit-learn stores the names of columns."""
    names = some(value, length, what)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} holds something other than strings")
    return np.array(names, dtype=object)


def one_of(value: object, known: Collection[Any], what: str) -> Any:
    """One of the known values."""
    if not isinstance(value, str | None) or value not in known:
        raise ValueError(f"{what} is {shown(value)}, which is not known")
    return value


def plain(value: object, what: str) -> Any:
    """A single value: None, a string, a number, true or false."""
    if not isinstance(value, str | int | float | None):
        raise ValueError(f"{what} is {shown(value)}: a single value is needed")
    return value


def label(value: object, what: str) -> str | int | float:
    """A value that can be a class: a string or a number."""
    if not isinstance(value, str | int | float):
        raise ValueError(f"{what} names {shown(value)}, which is not a class")
    return value


def flag(value: object, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{what} is {shown(value)}: true or false is needed")
    return value


def count(value: object, what: str, least: int = 0) -> int:
    """An integer of at least ``least`` that fits into 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise ValueError(f"{what} is {shown(value)}: an integer of at least {least} is needed")
    return value


def number(
    value: object,
    what: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    positive: bool = False,
    infinite: bool = False,
    unknown: bool = False,
) -> float:
    """A number in [low, high], as a float. It may be infinite or NaN only if ``infinite`` or ``unknown`` is set."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is {shown(value)}: a number is needed")
    try:
        as_float = float(value)
    except OverflowError:
        as_float = math.inf
    allowed = unknown if math.isnan(as_float) else low <= as_float <= high and not (positive and as_float <= 0)
    if not allowed or (math.isinf(as_float) and not infinite):
        raise ValueError(f"{what} is {as_float}, which is out of range")
    return as_float


class Arrays:
    """The arrays of a file, to be taken out one by one, each checked."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._left = dict(arrays)

    def classes(self, name: str, *, objects: bool) -> NDArray[Any]:
        """The classes of the columns: at least two different numbers or strings; as objects, only strings."""
        classes = self._out(name)
        if classes.ndim != 1 or len(classes) < 2 or classes.dtype.kind not in ("U" if objects else "biufUS"):
            raise ValueError(f"the array {name} does not list at least two classes")
        if classes.dtype.kind == "U" and classes.view(np.uint32).max() > sys.maxunicode:
            raise ValueError(f"the array {name} holds invalid Unicode")
        if len(set(classes.tolist())) < len(classes) or (classes.dtype.kind == "f" and not np.isfinite(classes).all()):
            raise ValueError(f"the array {name} repeats a class, or holds one that is not finite")
        return classes.astype(object) if objects else classes

    def take(
        self,
        name: str,
        shape: tuple[int | None, ...],
        dtype: DTypeLike = np.float64,
        *,
        low: float | None = None,
        positive: bool = False,
        infinite: bool = False,
        where: NDArray[np.bool_] | None = None,
    ) -> NDArray[Any]:
        """An array of this dtype and shape (None is any length), with values in range; ``where`` limits that check."""
        array = self._out(name)
        if array.dtype != dtype:
            raise ValueError(f"the array {name} is of type {array.dtype}: {np.dtype(dtype)} is needed")
        if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            needed = str(shape).replace("None", "any")
            raise ValueError(f"the array {name} has shape {array.shape}: {needed} is needed")
        values = array if where is None else array[where]
        if np.isnan(values).any() or not (infinite or np.isfinite(values).all()):
            raise ValueError(f"the array {name} holds values that are not finite")
        if array.dtype == np.float64 and (np.abs(values[np.isfinite(values)]) > LARGEST).any():
            raise ValueError(f"the array {name} holds values that are too large")
        if (low is not None and (values < low).any()) or (positive and (values <= 0).any()):
            raise ValueError(f"the array {name} holds values that are too low")
        return array

    def all_taken(self) -> None:
        """Refuse the file if it holds arrays that were not taken."""
        if self._left:
            raise ValueError(f"it holds arrays that do not belong to such a head: {', '.join(sorted(self._left)[:5])}")

    def _out(self, name: str) -> NDArray[Any]:
        if name not in self._left:
            raise ValueError(f"the array {name} is missing")
        return self._left.pop(name)
