"""What plots need from a fitted head, and from the arrays that are passed in place of one."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.labels import encode_labels, label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.validation import PROBABILITY_TOLERANCE, as_logits, kept_if_many
from aftermax.sph.fitted import FittedSPH
from aftermax.sph.response_array import ResponseArray


class Predictions(NamedTuple):
    """For each sample, as column numbers: its true class, softmax's prediction and the head's."""

    classes: NDArray[Any]
    truth: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    @property
    def correct(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each sample is predicted correctly, before and after."""
        return self.before == self.truth, self.after == self.truth


class SPHRoutes(NamedTuple):
    """Which way each sample goes through SPH, and the two thresholds that decide."""

    routes: NDArray[np.str_]
    none_left: NDArray[np.bool_]  # whether every class is vetoed
    certainty: float
    min_gain: float


# ---- fitted SPH ------------------------------------------------------------------------------------------------------


def sph_of(estimator: Any, needed: str) -> FittedSPH:
    """The fitted SPH of an SPHClassifier, of an SPHClassifierCV, or of an AutoHead that chose it.

    ``needed`` is what the plot needs it for; other heads are refused with an error that says so.
    """
    check_is_fitted(estimator)
    head = getattr(estimator, "fitted_head_", None)
    if isinstance(head, FittedSPH):
        return head
    name = type(estimator).__name__
    if head is not None:
        raise TypeError(
            f"This {name} chose {head.kind!r}, and only SPH has {needed}: pass a fitted SPHClassifier or "
            "SPHClassifierCV."
        )
    raise TypeError(
        f"{name} has no {needed}: pass a fitted SPHClassifier, SPHClassifierCV or AutoHead; a search of scikit-learn "
        "has one in search.best_estimator_."
    )


def response_array_of(estimator: Any) -> ResponseArray:
    """The response array of a fitted SPH, with the names of the classes."""
    return replace(sph_of(estimator, "response array").response_array, classes=estimator.classes_)


def routes_of(estimator: Any, X: ArrayLike) -> SPHRoutes:
    """Which way the samples go through a fitted SPH."""
    sph = sph_of(estimator, "routes")
    logits = checked_logits(estimator, X)
    trusting_all = replace(sph, trusted=np.ones_like(sph.trusted))
    none_left = trusting_all.route(logits) == "reverted"
    return SPHRoutes(sph.route(logits), none_left, sph.certainty, sph.hyperparameters["min_gain"])


# ---- any classifier on logits ----------------------------------------------------------------------------------------


def checked_logits(estimator: Any, X: ArrayLike) -> NDArray[Any]:
    """Logits as a fitted head takes them; many are in the precision in which they came."""
    logits = kept_if_many(as_logits(X, estimator, reset=False, stacklevel=4))
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{type(estimator).__name__} is not a classifier: pass a fitted head.")
    if logits.shape[1] != len(estimator.classes_):
        raise ValueError(
            f"X has {logits.shape[1]} columns and {type(estimator).__name__} has {len(estimator.classes_)} classes: "
            "pass a head that was fitted on logits, one column for each class."
        )
    return logits


def predictions_of(estimator: Any, X: ArrayLike, y: ArrayLike, features: ArrayLike | None) -> Predictions:
    """The true classes, and the predictions of softmax and of a fitted head."""
    logits, classes = checked_logits(estimator, X), estimator.classes_
    after = call_head(estimator, "predict", X, features)
    truth, after = (label_codes(labels, len(logits), classes) for labels in (y, after))
    return Predictions(classes, truth, predicted_columns(logits), after)


def call_head(estimator: Any, method: str, X: ArrayLike, features: ArrayLike | None) -> NDArray[Any]:
    """Call ``predict`` or ``predict_proba``, with features if there are any."""
    call = getattr(estimator, method, None)
    if call is None:
        raise TypeError(f"{type(estimator).__name__} has no {method}, and this plot needs it: pass another head.")
    if features is None:
        return np.asarray(call(X))
    if "features" not in signature(call).parameters:
        raise TypeError(f"{type(estimator).__name__}.{method} takes no features: leave them out.")
    return np.asarray(call(X, features=features))


# ---- arrays ----------------------------------------------------------------------------------------------------------


def predictions_from(y_true: ArrayLike, before: ArrayLike, after: ArrayLike, classes: ArrayLike | None) -> Predictions:
    """The true classes and two predictions of each sample, as labels. If ``classes`` is None, those that occur."""
    given = {"y_true": np.asarray(y_true), "before": np.asarray(before), "after": np.asarray(after)}
    for name, values in given.items():
        if values.ndim != 1 or len(values) == 0:
            raise ValueError(
                f"{name} has shape {values.shape}: pass one class for each sample; for probabilities, "
                "classes[probabilities.argmax(axis=1)]."
            )
        check_same_length("y_true", len(given["y_true"]), name, len(values))
    names = _sorted_labels(list(given.values())) if classes is None else _checked_classes(classes)
    return Predictions(names, *(label_codes(labels, len(labels), names) for labels in given.values()))


def _checked_classes(classes: ArrayLike) -> NDArray[Any]:
    names = np.asarray(classes)
    if names.ndim != 1 or len(set(names.tolist())) != names.size:
        raise ValueError(
            f"classes has shape {names.shape} with {len(set(names.ravel().tolist()))} distinct values: pass a list "
            "that names each class once."
        )
    return names


def _sorted_labels(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """All labels that occur, sorted."""
    try:
        return np.array(sorted(set().union(*(values.tolist() for values in arrays))))
    except TypeError as error:
        raise ValueError(
            f"y_true, before and after mix kinds of labels ({error}): make them all strings or all whole numbers."
        ) from error


def confidence_from(
    y_true: ArrayLike, probabilities: ArrayLike, name: str, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest probability of each sample, and whether it is that of the true class.

    If ``classes`` is None, columns are in the order of the sorted labels.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2 or len(values) == 0:
        raise ValueError(
            f"{name} has shape {values.shape}: pass probabilities, one row for each sample and one column for each "
            "class."
        )
    check_same_length("y_true", len(np.asarray(y_true)), name, len(values))
    invalid = ~(np.abs(values.sum(axis=1) - 1) <= PROBABILITY_TOLERANCE) | (values < 0).any(axis=1)
    if invalid.any():
        raise ValueError(
            f"{name} are not probabilities in row {int(np.argmax(invalid))}: each must be in [0, 1], and a row must "
            "sum to 1. For logits, pass scipy.special.softmax(logits, axis=1)."
        )
    return confidence_and_correct(values, true_columns(y_true, values.shape, classes, name))


def true_columns(y_true: ArrayLike, shape: tuple[int, ...], classes: ArrayLike | None, name: str) -> NDArray[np.int64]:
    """The column of each true class; if ``classes`` is None, columns are in the order of the sorted labels."""
    if classes is None:
        return encode_labels(y_true, shape, None)[1]
    names = _checked_classes(classes)
    if len(names) != shape[1]:
        raise ValueError(
            f"{name} has {shape[1]} columns and there are {len(names)} classes: pass the class of each column."
        )
    return label_codes(y_true, shape[0], names)


def confidence_and_correct(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest probability of each sample, and whether it is that of the true class. Rounding may exceed 1."""
    return np.minimum(probabilities.max(axis=1), 1.0), probabilities.argmax(axis=1) == truth


def check_same_length(first: str, length: int, second: str, other: int) -> None:
    """Refuse arrays of different length."""
    if length != other:
        raise ValueError(f"{first} has {length} samples and {second} has {other}: pass the same samples in both.")


def checked_confidence(confidence: ArrayLike, correct: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """For each sample a number in [0, 1], and whether its prediction is correct."""
    numbers, flags = np.asarray(confidence, dtype=np.float64), np.asarray(correct)
    if numbers.ndim != 1 or numbers.shape != flags.shape or len(numbers) == 0:
        raise ValueError(
            f"{name} and whether it is right have shapes {numbers.shape} and {flags.shape}: pass one number and one "
            "True or False for each sample."
        )
    valid = (numbers >= 0) & (numbers <= 1)
    if not valid.all():
        sample = int(np.argmin(valid))
        raise ValueError(f"{name} is {numbers[sample]} at sample {sample}: pass numbers in [0, 1].")
    if flags.dtype != np.bool_:
        raise ValueError(f"whether {name} is right has dtype {flags.dtype}: pass True or False for each sample.")
    return numbers, flags
