"""Numbers as the options take them: one for each class, for --class-weight and --class-prior; a share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from aftermax._cli.options import split_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

BALANCED: Literal["balanced"] = "balanced"


def class_weight(text: str | None, classes: NDArray[Any]) -> Literal["balanced"] | dict[Any, float] | None:
    """The parameter of the heads: None, "balanced", or the weight of each class."""
    if text is None or text == BALANCED:
        return None if text is None else BALANCED
    return numbers_by_class("--class-weight", text, classes, f" Or write {BALANCED}.")


def numbers_by_class(option: str, text: str, classes: NDArray[Any], hint: str = "") -> dict[Any, float]:
    """The numbers in a text such as "cat=5,dog=1", by the classes as the labels have them.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._cli.class_numbers import numbers_by_class
    >>> numbers_by_class("--class-weight", "7=2.5, 9=1", np.array([7, 8, 9]))
    {7: 2.5, 9: 1.0}
    """
    from aftermax._scorefiles.labels import labels_to_text
    from aftermax._scorefiles.messages import join_names

    names = dict(zip(labels_to_text(classes).tolist(), classes.tolist(), strict=True))
    found: dict[Any, float] = {}
    for part in split_names(text) or (text,):
        name, _, number = part.rpartition("=")
        value = _number(number)
        if not name or value is None:
            raise ValueError(
                f"{option} has {part!r}: write the name of a class, = and a number for each, as cat=5,dog=1.{hint}"
            )
        if name not in names:
            raise ValueError(f"{option} names {name!r}, which is no class: there are {join_names(list(names))}.")
        if names[name] in found:
            raise ValueError(f"{option} names {name!r} more than once: name each class once.")
        found[names[name]] = value
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def share(option: str, text: str) -> float:
    """A share of all, as it is typed after an option: between 0 and 1.

    Examples
    --------
    >>> from aftermax._cli.class_numbers import share
    >>> share("--max-error", "0.02")
    0.02
    """
    from aftermax._abstention.threshold import LEAST

    value = _number(text)
    if value is None or not LEAST <= value < 1.0:
        raise ValueError(f"{option} {text} is not possible: write a number between 0 and 1, as 0.02 for 2 %.")
    return value
