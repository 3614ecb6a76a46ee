"""SPH's ten hyperparameters: their names, and what each may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aftermax._utils.untrusted import count, fields, number, one_of
from aftermax._utils.validation import check_count, check_number

HYPERPARAMETERS = (
    "certainty",
    "window_low",
    "window_high",
    "center",
    "min_separation",
    "weight_power",
    "veto_distance",
    "veto_count",
    "min_gain",
    "distance_power",
)
# The range of those that are real numbers. A window around a certainty may extend beyond [0, 1].
RANGES = {
    "certainty": (0.0, 1.0),
    "window_low": (-1.0, 2.0),
    "window_high": (-1.0, 2.0),
    "min_separation": (0.0, math.inf),
    "weight_power": (0.0, math.inf),
    "veto_distance": (0.0, math.inf),
    "min_gain": (-1.0, 1.0),
    "distance_power": (0.0, math.inf),
}
MAY_BE_INFINITE = ("min_separation", "veto_distance")


def plain_hyperparameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """As floats, an int and a string, whatever kind of number they were passed as."""
    kinds = {"center": str, "veto_count": int}
    return {name: kinds.get(name, float)(values[name]) for name in HYPERPARAMETERS}


def check_hyperparameters(values: Mapping[str, Any]) -> None:
    """Refuse hyperparameters that are out of range, alone or together."""
    for name, value in values.items():
        check_hyperparameter(name, value)
    check_window(values["window_low"], values["window_high"])


def check_hyperparameter(name: str, value: object) -> None:
    """Refuse a value that the hyperparameter of this name cannot have."""
    if name == "center":
        check_center(value)
    elif name == "veto_count":
        check_count(name, value)
    else:
        low, high = RANGES[name]
        check_number(name, value, low, high, infinite=name in MAY_BE_INFINITE)


def check_center(center: object) -> None:
    """Refuse what is neither mean nor median."""
    if center not in ("mean", "median"):
        raise ValueError(f'center={center!r} is not known: use "mean" or "median".')


def check_window(low: object, high: object) -> None:
    """Refuse a window that no certainty can be inside of."""
    lowest, highest = (
        check_number(f"window_{end}", value, *RANGES[f"window_{end}"]) for end, value in (("low", low), ("high", high))
    )
    if lowest > highest:
        raise ValueError(
            f"window_low={low} is above window_high={high}, so no sample can be inside: swap them, or use 0.0 and 1.0 "
            "for all samples."
        )


def hyperparameters_from_file(described: object) -> dict[str, Any]:
    """All ten, from a file that anyone may have written."""
    values = fields(described, set(HYPERPARAMETERS), "the hyperparameters of SPH")
    checked: dict[str, Any] = {
        name: number(values[name], name, low, high, infinite=name in MAY_BE_INFINITE)
        for name, (low, high) in RANGES.items()
    }
    checked["center"] = one_of(values["center"], {"mean", "median"}, "center")
    checked["veto_count"] = count(values["veto_count"], "veto_count", least=1)
    check_window(checked["window_low"], checked["window_high"])
    return {name: checked[name] for name in HYPERPARAMETERS}
