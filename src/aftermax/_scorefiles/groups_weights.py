"""The groups and the weights of all rows of a score file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile


def join_groups(batches: list[Rows], file: ScoreFile, options: ReadOptions) -> NDArray[Any] | None:
    """What each row is of; None if the file was read without groups."""
    parts = [rows.groups for rows in batches if rows.groups is not None]
    if not parts:
        return None
    groups = np.concatenate(parts)
    missing = next((row for row, one in enumerate(groups.tolist()) if one is None or one != one), None)
    if missing is not None:
        raise ValueError(
            f"{file.name}, {file.row_place(missing)} has no group in {options.groups!r}: fill it in or remove the row."
        )
    return groups.astype(np.str_) if groups.dtype == object else groups


def join_weights(batches: list[Rows], file: ScoreFile, options: ReadOptions) -> NDArray[np.float64] | None:
    """The weight of each row; None if the file was read without weights."""
    parts = [rows.weights for rows in batches if rows.weights is not None]
    if not parts:
        return None
    weights = np.concatenate(parts).astype(np.float64)
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        value = "empty or NaN" if np.isnan(weights[row]) else f"{weights[row]:g}"
        raise ValueError(
            f"{file.name}, {file.row_place(row)}: the weight in {options.weights!r} is {value}, but weights are finite "
            "numbers of at least 0: correct it, or remove the row."
        )
    if not weights.any():
        raise ValueError(f"{file.name}: all weights in {options.weights!r} are 0: name another column, or none.")
    return weights
