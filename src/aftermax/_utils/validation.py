"""Checks of logits, features, weights and numeric parameters, with errors that name the fix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.large import (
    LARGEST_VALUE,
    are_many,
    are_usable,
    as_floats,
    chunks_of,
    in_float64,
    samples_per_chunk,
)
from aftermax._utils.one_logit import SIGMOID_OUTPUTS, is_one_logit, look_like_sigmoid_outputs, shape_of, two_columns
from aftermax._utils.warned import warn

PROBABILITY_TOLERANCE = 1e-3
SAMPLES_CHECKED, VALUES_CHECKED = 1000, 2**22  # by which probabilities are told: at most
FLOATS = (np.float32, np.float64)
PROBABILITIES_WARNING = (
    "logits look like probabilities: no value is negative, and every sample sums to 1 (or to 100, in percent). Pass "
    "the model's outputs before softmax. If you only have probabilities p, pass their logarithms: "
    "numpy.log(numpy.clip(p, 1e-12, None)) in Python, --log on the command line."
)


# ---- logits ----------------------------------------------------------------------------------------------------------


def as_logits(
    logits: ArrayLike,
    estimator: BaseEstimator | None = None,
    *,
    reset: bool = True,
    strict: bool = True,
    stacklevel: int = 3,
) -> NDArray[Any]:
    """Return logits as a numeric array of shape (n_samples, n_classes) with at least two classes; the dtype is kept.

    One logit for each sample, of shape (n_samples,) or (n_samples, 1), is the log-odds of the second of two classes,
    and becomes two columns, -z / 2 and z / 2.

    With an ``estimator`` and ``reset``, the number and names of the columns are recorded in it; without ``reset``, it
    must be fitted and they are compared. Outputs of a sigmoid are refused, if ``strict`` and ``reset``, or else warned
    of. Call this from a public function, so that a warning points at the user's line. :func:`compute_ready` checks
    that the values are finite, chunk by chunk.
    """
    if isinstance(logits, list) and logits and (isinstance(logits[0], dict) or _is_list_of_dicts(logits[0])):
        raise TypeError(
            "logits are answers with labels and scores: pass aftermax.scores_from_top_k(answers), or for a fitted head "
            "scores_from_top_k(answers, like=head)."
        )
    logits = as_plain(logits, "logits")
    if not reset:
        check_is_fitted(estimator)
        _check_width(shape_of(logits), estimator)
    one_logit = is_one_logit(logits)
    if len(shape_of(logits)) > 2:
        raise ValueError(
            f"logits have shape {shape_of(logits)}: pass an array of shape (n_samples, n_classes), one row for each "
            "label. Of a model with several labels for each input, as for pixels or words, pass "
            "logits.reshape(-1, n_classes) if the classes are the last axis, and numpy.moveaxis(logits, 1, "
            "-1).reshape(-1, n_classes) if they are the second, as in (N, K, H, W). Pixels of one image and words of "
            "one text are not independent: pass groups=, the number of the image or text of each row."
        )
    columns = np.asarray(logits).reshape(-1, 1) if len(shape_of(logits)) == 1 else logits
    checked = _checked_by_sklearn(columns, estimator, reset)
    if len(checked) == 0:
        raise ValueError(
            f"logits have no samples (their shape is {checked.shape}): pass at least one, as (n_samples, n_classes)."
        )
    if one_logit:
        _check_finite(checked)
        checked = two_columns(checked)
    if look_like_sigmoid_outputs(checked):
        if strict and reset:
            raise ValueError(SIGMOID_OUTPUTS)
        warn(SIGMOID_OUTPUTS, stacklevel=stacklevel)
    elif look_like_probabilities(checked):
        warn(PROBABILITIES_WARNING, stacklevel=stacklevel)
    return np.asarray(checked)


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _check_width(shape: tuple[int, ...], estimator: BaseEstimator | None) -> None:
    """Refuse another number of columns than the estimator was fitted on."""
    width = getattr(estimator, "n_features_in_", None)
    if len(shape) == 1 and width not in (None, 1):
        raise ValueError(
            f"Expected 2D array, got 1D array of shape {shape} as logits: one column for each class is needed, so "
            f"{width}. Reshape your data if it is a single sample: sample.reshape(1, -1)."
        )
    if len(shape) != 2 or shape[1] == width:
        return
    advice = "pass the logits of the model it was fitted on, one column per class in the order of classes_."
    if width == 1:
        advice = "it was fitted on one logit, the log-odds of the second of classes_"
        advice += ": of two columns, pass X[:, 1] - X[:, 0]." if shape[1] == 2 else "."
    raise ValueError(
        f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {width} features as input: {advice}"
    )


def _checked_by_sklearn(logits: ArrayLike, estimator: BaseEstimator | None, reset: bool) -> NDArray[Any]:
    if not reset and not hasattr(estimator, "feature_names_in_") and _is_plain(logits):
        return logits  # whose width is compared already; scikit-learn would find nothing, in half the time of a predict
    options: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 0}
    try:
        if estimator is None:
            return np.asarray(check_array(logits, **options))
        return np.asarray(validate_data(estimator, logits, reset=reset, **options))
    except ValueError as error:
        if not str(error).startswith("could not convert string"):
            raise
        raise ValueError(
            f"logits hold text ({error}): pass numbers only, one column for each class, without labels and ids."
        ) from error


def _is_plain(logits: ArrayLike) -> TypeGuard[NDArray[Any]]:
    """Whether these are a plain array of numbers with columns, in single or double precision."""
    if type(logits) is not np.ndarray:
        return False
    return logits.dtype.type in FLOATS and logits.ndim == 2 and logits.shape[1] > 0


def compute_ready(logits: NDArray[Any], first_row: int = 0) -> NDArray[np.float64]:
    """Return finite logits as the kernels need them: float64, contiguous, writeable; copied only if necessary.

    ``first_row`` is the index of the chunk's first sample, so that an error names the right one.
    """
    _check_finite(logits, first_row)
    return in_float64(logits)


def kept_if_many(logits: NDArray[Any]) -> NDArray[Any]:
    """Return finite logits in the precision in which they came if they are many, and else as :func:`compute_ready`."""
    if not are_many(logits.shape):
        return compute_ready(logits)
    _check_finite(logits)
    return as_floats(logits)


def _check_finite(logits: NDArray[Any], first_row: int = 0) -> None:
    for some in chunks_of(logits):
        _check_finite_chunk(logits[some], first_row + some.start)


def _check_finite_chunk(logits: NDArray[Any], first_row: int) -> None:
    if are_usable(logits):
        return
    row, column = _first_unusable(logits)
    value = logits[row, column]
    if np.isfinite(value):
        raise ValueError(
            f"logits contain {value:g} at row {first_row + row}, column {column}, which is too large to compute with. "
            "Drop such samples or repair the model's output; mask out a class with -1e4."
        )
    kind = "NaN" if np.isnan(value) else f"infinity ({value})"
    raise ValueError(
        f"logits contain {kind} at row {first_row + row}, column {column}. Drop such samples or repair the model's "
        "output: float16 overflows at 65504; mask out a class with -1e4 instead of -inf; clip probabilities before "
        "you take their logarithm, numpy.log(numpy.clip(p, 1e-12, None))."
    )


def _first_unusable(values: NDArray[Any]) -> tuple[int, int]:
    """The row and the column of the first value that is not finite or, if there is none, too large."""
    finite = np.isfinite(values)
    row, column = np.argwhere(np.abs(values) > LARGEST_VALUE if finite.all() else ~finite)[0]
    return int(row), int(column)


def as_features(features: ArrayLike, n_samples: int, width: int | None = None) -> NDArray[np.float64]:
    """Return features as a finite float64 array with one row per sample and, if given, ``width`` columns.

    Several arrays, one for each layer, are put side by side; see :func:`are_several`.
    """
    if are_several(features):
        parts = [_one_array(one, n_samples, f"features[{i}]") for i, one in enumerate(cast(Sequence[Any], features))]
        values, sizes = np.hstack(parts), f" ({' + '.join(str(one.shape[1]) for one in parts)})"
    else:
        values, sizes = _one_array(features, n_samples, "features"), ""
    if width is not None and values.shape[1] != width:
        raise ValueError(
            f"features have {values.shape[1]} columns{sizes}, but the head was fitted on {width}: pass the same layer, "
            "or the same layers in the same order."
        )
    return values


def are_several(features: object) -> bool:
    """Whether features are several arrays: a list or tuple in which an array has more than one dimension.

    Any other list is one array: of rows, which are lists of numbers or arrays with one dimension.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.validation import are_several
    >>> are_several([np.zeros((5, 2)), np.zeros((5, 3))]), are_several([[0.0, 1.0], [2.0, 3.0]])
    (True, False)
    """
    return isinstance(features, list | tuple) and any(len(getattr(one, "shape", ())) > 1 for one in features)


def _one_array(features: ArrayLike, n_samples: int, name: str) -> NDArray[np.float64]:
    if issparse(features):
        raise ValueError(f"{name} are a sparse matrix: pass a dense one, such as features.toarray().")
    values = np.asarray(as_plain(features, name))
    check_features_shape(values.shape, name)
    if len(values) != n_samples:
        raise ValueError(
            f"{name} have {len(values)} samples but logits have {n_samples}: pass both for the same samples."
        )
    check_features(values, name)
    return values.astype(np.float64)


def check_features_shape(shape: tuple[float, ...], name: str = "features") -> None:
    """Refuse features that are not rows with at least one column."""
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError(
            f"{name} have shape {shape}: pass an array of shape (n_samples, n_features). Flatten a layer with "
            "more axes first: features.reshape(len(features), -1)."
        )


def check_features(values: NDArray[Any], name: str = "features", first_row: int = 0) -> None:
    """Refuse features that are not finite numbers; ``first_row`` is the index of the chunk's first sample."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} are of type {values.dtype}: pass numbers.")
    if not are_usable(values):
        row, column = _first_unusable(values)
        raise ValueError(
            f"{name} contain {values[row, column]} at row {first_row + row}, column {column}: drop such samples."
        )


def as_weights(weights: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Return the sample weights as float64: finite, not negative, and not all zero; ones if None."""
    if weights is None:
        return np.ones(n_samples)
    values = as_numbers("sample_weight", weights, "pass one number for each sample")
    if values.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {values.shape} but there are {n_samples} samples: pass one weight per sample."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        row = int(np.argmax(~np.isfinite(values) | (values < 0)))
        raise ValueError(f"sample_weight holds {values[row]} at row {row}: pass finite numbers of at least 0.")
    if not are_usable(values):
        raise ValueError(f"sample_weight holds {values.max():g}, which is too large: divide all weights by it.")
    if not values.any():
        raise ValueError("sample_weight is zero everywhere: at least two samples need a positive weight.")
    return values


def look_like_probabilities(logits: NDArray[Any]) -> bool:
    """Whether every sample sums to 1 or to 100, judged by about a thousand samples spread over the array, or fewer.

    With K probabilities rounded to two digits, a sum may be off by K / 200. Fewer than 20 samples could come that close
    by chance, so they must sum exactly.
    """
    most = min(SAMPLES_CHECKED, samples_per_chunk(logits.shape[1], VALUES_CHECKED))
    samples = logits[:: max(1, len(logits) // most)]
    rounding = min(samples.shape[1] / 200, 0.1) if len(samples) >= 20 else 0
    tolerance = max(PROBABILITY_TOLERANCE, rounding)
    if not ((samples >= 0).all() and (samples <= 101).all()):
        return False
    sums = samples.astype(np.float64).sum(axis=1)
    return any(bool((np.abs(sums / whole - 1) <= tolerance).all()) for whole in (1, 100))


# ---- parameters ------------------------------------------------------------------------------------------------------


def check_number(
    name: str, value: object, low: float = -math.inf, high: float = math.inf, *, infinite: bool = False
) -> float:
    """Return the value as a float; refuse it if it is not a real number in [low, high]."""
    bounds = f"[{low:g}, {high:g}]" if infinite or math.isfinite(high) else f"[{low:g}, {high:g})"
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value):
        raise ValueError(f"{name}={value!r} is not a number: choose one in {bounds}.")
    if not low <= float(value) <= high or (math.isinf(value) and not infinite):
        raise ValueError(f"{name}={value!r} is out of range: choose a number in {bounds}.")
    return float(value)


def as_numbers(name: str, values: object, advice: str) -> NDArray[np.float64]:
    """Return an array of float64; refuse text and other objects, with an advice what to pass."""
    plain = as_plain(values, name)
    try:
        return np.asarray(plain, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers ({error}): {advice}.") from error


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse a value that is not an integer of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) < 2**63:
        raise ValueError(f"{name}={value!r} is not possible: choose a whole number (an int) of at least {least}.")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of the choices."""
    possible = list(choices)
    if not isinstance(value, str) or value not in possible:
        raise ValueError(f"{name}={value!r} is not possible: choose one of {', '.join(map(repr, possible))}.")
