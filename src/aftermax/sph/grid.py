"""Grids of SPH's hyperparameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.hyperparameters import HYPERPARAMETERS, check_hyperparameter, check_window

# As in scikit-learn's ParameterGrid: every combination of a dict's values, for each dict.
Grid = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Iterable[Any]]]

DEFAULTS = {name: getattr(SPHClassifier(), name) for name in HYPERPARAMETERS}
CERTAINTIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


def default_grid() -> list[dict[str, list[Any]]]:
    """The grid that :func:`~aftermax.sweep` and :class:`~aftermax.SPHClassifierCV` use by default.

    107,640 combinations: eight certainties from 0.5 to 1, each with three windows (all samples, the samples below it,
    and from 0.3 below to 0.2 above), and every combination of mean or median, separations 0 to 2, weight
    powers 0 to 2, no veto or 2 to 5 spreads by 1 to 3 units, gains -0.05 to 0.1 and distance powers 1, 2 and 4. A list
    of dicts, which you may change.

    Examples
    --------
    >>> from aftermax import default_grid
    >>> without_veto = [part | {"veto_distance": [float("inf")]} for part in default_grid()]
    """
    common: dict[str, list[Any]] = {
        "center": ["mean", "median"],
        "min_separation": [0.0, 0.5, 1.0, 1.5, 2.0],
        "weight_power": [0.0, 1.0, 2.0],
        "veto_distance": [np.inf, 2.0, 3.0, 4.0, 5.0],
        "veto_count": [1, 2, 3],
        "min_gain": [-0.05, 0.0, 0.05, 0.1],
        "distance_power": [1.0, 2.0, 4.0],
    }
    grid = [common | {"certainty": list(CERTAINTIES)}]
    for certainty in CERTAINTIES:
        around = (round(certainty - 0.3, 2), round(certainty + 0.2, 2))
        for low, high in (around, (0.0, certainty)) if certainty < 1.0 else (around,):
            grid.append(common | {"certainty": [certainty], "window_low": [low], "window_high": [high]})
    return grid


# ---- a grid, made ready ----------------------------------------------------------------------------------------------

# The axes along which hyperparameters vary. A window is (window_low, window_high), a veto (veto_distance, veto_count).
AXES = ("certainty", "window", "center", "min_separation", "weight_power", "veto", "min_gain", "distance_power")
PAIRS = {"window": ("window_low", "window_high"), "veto": ("veto_distance", "veto_count")}

# A dict with the values along each axis: every combination of them is tried.
Block = dict[str, list[Any]]


def grid_blocks(grid: Grid) -> list[Block]:
    """The grid, checked, with defaults for what it does not name; without a veto, ``veto_count`` is not varied."""
    if not isinstance(grid, Mapping | list | tuple):
        raise TypeError(f"grid={grid!r} is no grid: pass a dict of hyperparameters and values, or a list of them.")
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    if not parts:
        raise ValueError("grid is empty: pass at least one dict of hyperparameters, as {'certainty': [0.8, 0.9]}.")
    return [_block(part) for part in parts]


def blocks_with_softmax(grid: Grid | None) -> list[Block]:
    """The grid, or the default one, followed by plain softmax, which every choice includes."""
    return [*grid_blocks(default_grid() if grid is None else grid), *grid_blocks({"certainty": [0.0]})]


def _block(part: Mapping[str, Iterable[Any]]) -> Block:
    if not isinstance(part, Mapping):
        raise TypeError(
            f"grid holds {part!r}, which is no dict: pass a dict of hyperparameters and values, or a list of them."
        )
    unknown = [name for name in part if name not in HYPERPARAMETERS]
    if unknown:
        raise ValueError(
            f"grid names {unknown[0]!r}, not a hyperparameter of SPH: choose from {', '.join(HYPERPARAMETERS)}."
        )
    values = {name: _values(name, part[name]) if name in part else [DEFAULTS[name]] for name in HYPERPARAMETERS}
    windows = list(product(values.pop("window_low"), values.pop("window_high")))
    for window in windows:
        try:
            check_window(*window)
        except ValueError as error:
            raise ValueError(f"In grid, {error} A list of dicts can hold the windows one by one.") from error
    distances, counts = values.pop("veto_distance"), values.pop("veto_count")
    vetoes = [(distance, count) for distance in distances for count in (counts[:1] if np.isinf(distance) else counts)]
    return {axis: {"window": windows, "veto": vetoes}.get(axis) or values[axis] for axis in AXES}


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str | Iterator) or not isinstance(values, Iterable):
        raise TypeError(f"grid has {name}={values!r}: pass a list of values to try, as [{values!r}].")
    found = list(values)
    if not found:
        raise ValueError(f"grid has no values for {name}: pass at least one, or leave it out for the default.")
    for value in found:
        check_hyperparameter(name, value)
    return found if name == "center" else [int(value) if name == "veto_count" else float(value) for value in found]


def block_shape(block: Block) -> tuple[int, ...]:
    """How many values there are along each axis."""
    return tuple(len(block[axis]) for axis in AXES)


def grid_columns(blocks: list[Block]) -> dict[str, NDArray[Any]]:
    """A column for each hyperparameter and a row for each combination, by blocks; the last axis varies fastest."""
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in HYPERPARAMETERS}
    for block in blocks:
        shape = block_shape(block)
        for number, axis in enumerate(AXES):
            along = [-1 if other == number else 1 for other in range(len(AXES))]
            for part, name in enumerate(PAIRS.get(axis, (axis,))):
                values = [value[part] for value in block[axis]] if axis in PAIRS else block[axis]
                columns[name].append(np.broadcast_to(np.array(values).reshape(along), shape).ravel())
    return {name: np.concatenate(parts) for name, parts in columns.items()}


def departures(columns: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    """How many hyperparameters of each combination are away from their defaults; softmax has -1.

    A window counts once, and so does a veto. The certainty does not count, but a certainty of 0 is plain softmax.
    """
    away = np.zeros(len(columns["certainty"]), dtype=np.int64)
    for axis in AXES[1:]:
        names = ("veto_distance",) if axis == "veto" else PAIRS.get(axis, (axis,))
        away += np.any([columns[name] != DEFAULTS[name] for name in names], axis=0)
    return np.where(columns["certainty"] == 0, -1, away)
