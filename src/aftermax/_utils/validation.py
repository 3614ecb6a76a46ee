"""Logits and settings as they come in, checked once, with errors that name the fix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

PROBABILITY_TOLERANCE = 1e-3
ROWS_LOOKED_AT = 1000
PROBABILITIES_TOLD = (
    "logits look like probabilities: no value is negative, and every row sums to 1 (or to 100, in percent). Pass what "
    "the model says before softmax; if all you have is probabilities p, pass numpy.log(numpy.clip(p, 1e-12, None))."
)
# What SPH's settings may be that are numbers. A window around a certainty may reach beyond what certainties can be.
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
BINARY = "For a binary model with a single output z, pass numpy.column_stack([-z / 2, z / 2])."


# ---- logits ----------------------------------------------------------------------------------------------------------


def as_logits(
    logits: ArrayLike, estimator: BaseEstimator | None = None, *, reset: bool = True, stacklevel: int = 3
) -> NDArray[Any]:
    """Logits as a numeric array with rows and at least two columns, of whatever type they came in.

    With an ``estimator``, its number and names of columns are recorded (``reset``), or it must be fitted and they are
    compared. Called by what users call, so that a warning points at the user's own line. Whether the values are
    finite is left to :func:`compute_ready`, which sees them in chunks.
    """
    if not reset:
        check_is_fitted(estimator)
    shape: tuple[int, ...] = getattr(logits, "shape", ())
    if len(shape) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array of shape {shape} as logits: one column for each class is needed. "
            f"{BINARY} Reshape your data if it is one row: row.reshape(1, -1)."
        )
    width = getattr(estimator, "n_features_in_", None)
    if not reset and len(shape) == 2 and shape[1] != width:
        raise ValueError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {width} features as input: "
            "pass the logits of the model it was fitted on, one column per class in the order of classes_."
        )
    options: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 0}
    if estimator is None:
        checked = check_array(logits, **options)
    else:
        checked = validate_data(estimator, logits, reset=reset, **options)
    if len(checked) == 0:
        raise ValueError(
            f"logits have no rows (their shape is {checked.shape}): pass at least one, as (n_rows, n_classes)."
        )
    if checked.shape[1] == 1:
        raise ValueError(
            f"logits have 1 column (n_features = 1): one column for each class is needed, so at least two. {BINARY}"
        )
    if look_like_probabilities(checked):
        warnings.warn(PROBABILITIES_TOLD, UserWarning, stacklevel=stacklevel)
    return np.asarray(checked)


def compute_ready(logits: NDArray[Any], first_row: int = 0) -> NDArray[np.float64]:
    """Finite logits in the form that the kernels take: float64, contiguous, writeable; copied only where they must be.

    ``first_row`` is where this chunk starts, so that an error can name the row.
    """
    finite = np.isfinite(logits)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        kind = "NaN" if np.isnan(logits[row, column]) else f"infinity ({logits[row, column]})"
        raise ValueError(
            f"logits contain {kind} at row {first_row + row}, column {column}. Drop such rows or repair the model's "
            "output: float16 overflows at 65504; a class that is masked out wants -1e4 in place of -inf; probabilities "
            "are to be clipped before their logarithm is taken, numpy.log(numpy.clip(p, 1e-12, None))."
        )
    return np.require(logits, np.float64, ["C", "A", "W"])


def as_features(features: ArrayLike, rows: int, width: int | None = None) -> NDArray[np.float64]:
    """Features as finite numbers, a row for each row of logits, and as many columns as were fitted on."""
    values = np.asarray(features)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(
            f"features have shape {values.shape}: pass an array with a row for each row of logits and a column for "
            "each unit; a layer with more axes is to be flattened first, features.reshape(len(features), -1)."
        )
    if len(values) != rows:
        raise ValueError(f"features have {len(values)} rows but logits have {rows}: pass one for each.")
    if width is not None and values.shape[1] != width:
        raise ValueError(
            f"features have {values.shape[1]} columns, but the head was fitted on {width}: pass the same layer."
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(f"features are of type {values.dtype}: pass numbers.")
    finite = np.isfinite(values)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(f"features contain {values[row, column]} at row {row}, column {column}: drop such rows.")
    return values.astype(np.float64)


def as_weights(weights: ArrayLike | None, rows: int) -> NDArray[np.float64]:
    """How much each row counts: finite, not negative, and not all of them zero."""
    if weights is None:
        return np.ones(rows)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (rows,):
        raise ValueError(
            f"sample_weight has shape {values.shape} but there are {rows} rows: pass one number for each row."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        row = int(np.argmax(~np.isfinite(values) | (values < 0)))
        raise ValueError(f"sample_weight holds {values[row]} at row {row}: pass finite numbers of at least 0.")
    if not values.any():
        raise ValueError("sample_weight is zero everywhere: at least two rows have to count.")
    return values


def look_like_probabilities(logits: NDArray[Any]) -> bool:
    """Whether rows that sum to 1 or to 100 are all there is, judged by rows spread over the whole.

    Rounded to two digits, a row of K may be off by K / 200. Few rows may come near by chance: they must sum exactly.
    """
    rows = logits[:: max(1, len(logits) // ROWS_LOOKED_AT)].astype(np.float64)
    rounding = min(rows.shape[1] / 200, 0.1) if len(rows) >= 20 else 0
    off = max(PROBABILITY_TOLERANCE, rounding)
    if not ((rows >= 0).all() and (rows <= 101).all()):
        return False
    sums = rows.sum(axis=1)
    return any(bool((np.abs(sums / whole - 1) <= off).all()) for whole in (1, 100))


# ---- settings --------------------------------------------------------------------------------------------------------


def check_hyperparameters(settings: Mapping[str, Any]) -> None:
    """Refuse settings of SPH that are out of range, alone or together."""
    for name, value in settings.items():
        check_hyperparameter(name, value)
    check_window(settings["window_low"], settings["window_high"])


def check_hyperparameter(name: str, value: object) -> None:
    """Refuse a value that the setting of this name cannot have."""
    if name == "center":
        check_center(value)
    elif name == "veto_count":
        check_count(name, value)
    else:
        low, high = RANGES[name]
        check_number(name, value, low, high, infinite=name in ("min_separation", "veto_distance"))


def check_center(center: object) -> None:
    if center not in ("mean", "median"):
        raise ValueError(f'center={center!r} is not known: use "mean" or "median".')


def check_window(low: object, high: object) -> None:
    lowest, highest = (check_number(f"window_{end}", value, -1.0, 2.0) for end, value in (("low", low), ("high", high)))
    if lowest > highest:
        raise ValueError(
            f"window_low={low} is above window_high={high}, so no row can be inside: swap them, or use 0.0 and 1.0 "
            "for all rows."
        )


def check_number(
    name: str, value: object, low: float = -math.inf, high: float = math.inf, *, infinite: bool = False
) -> float:
    """The value as a float; what is not a real number in [low, high] is refused."""
    bounds = f"[{low:g}, {high:g}]" if infinite or math.isfinite(high) else f"[{low:g}, {high:g})"
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise ValueError(f"{name}={value!r} is not a number: choose one in {bounds}.")
    if not low <= float(value) <= high or (math.isinf(value) and not infinite):
        raise ValueError(f"{name}={value!r} is out of range: choose a number in {bounds}.")
    return float(value)


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) < 2**63:
        raise ValueError(f"{name}={value!r} is not possible: choose a whole number (an int) of at least {least}.")
