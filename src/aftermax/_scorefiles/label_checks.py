"""Labels that are no column, and columns that are no label: found before a head is fitted on them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import WHOLE, counting, refuse_numbers, refuse_whole_numbers
from aftermax._scorefiles.npy import as_text
from aftermax._scorefiles.types import ScoreFile, as_option, listed


def as_texts(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as text, so that a 3 is a 3 whatever the file has it stored as."""
    labels = as_text(labels)
    if labels.dtype.kind == "f" and np.isfinite(labels).all():
        labels = labels.astype(np.int64)
    return labels.astype(np.str_)


def check_match(logits: NDArray[Any], labels: NDArray[Any], file: ScoreFile, classes: Sequence[str]) -> None:
    """Refuse what can hardly be meant, in a table: ids among the logits, a row among the headings, a stray label."""
    if file.headings is None or labels.ndim != 1:
        return
    texts = as_texts(labels)
    seen, first = np.unique(texts, return_index=True)
    names = list(classes or file.headings)
    if not file.by_name:
        refuse_whole_numbers(logits, file.headings, set(seen.tolist()), file.name)
    stray = ~np.isin(seen, names)
    if stray.all():
        if not classes:
            refuse_numbers(file.headings, file.name)
    elif stray.any():
        row = int(first[stray].min())
        where = "not among --classes" if classes else "no column"
        raise ValueError(
            f"{file.name}, {file.place(row)}: the label {texts[row].item()!r} is {where}; "
            f"{_nearest(texts[row].item(), names)}. Correct the label or the heading, leave the row out, or name the "
            "class of each column, in order, with --classes."
        )


def _nearest(label: str, names: list[str]) -> str:
    plain = {name.strip().casefold(): name for name in names}
    near = get_close_matches(label.strip().casefold(), plain, n=1, cutoff=0.75)
    return f"there is {plain[near[0]]!r}" if near else f"there are {listed(names)}"


def warn_of_columns(labels: NDArray[Any], classes: NDArray[Any], file: ScoreFile) -> None:
    """Warn of columns that are taken for classes which no row has, or for classes of other names."""
    headings, names = file.headings, as_texts(classes).tolist()
    if headings is None:
        return
    idle = sorted(set(names) - set(as_texts(labels).tolist()))
    if headings == names:
        if idle and not all(map(WHOLE.fullmatch, names)):
            _warn(
                f"{file.name}: no row has the label {listed(idle)}, but there is such a column. If it is no class, "
                f"leave it out with --ignore {as_option(idle)}."
            )
    elif idle or names not in (counting(len(names)), counting(len(names), 1)):
        _warn(
            f"{file.name} has no column that is called like a label: {listed(headings)} are taken for {listed(names)}, "
            "in this order. If that is wrong, name the class of each with --classes, or leave out what is no class "
            "with --ignore."
        )


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=4)
