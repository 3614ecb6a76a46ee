"""What pictures ask of a fitted head, and of the arrays that are passed in place of one."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.labels import encode_labels, label_codes
from aftermax._utils.validation import PROBABILITY_TOLERANCE, as_logits, compute_ready
from aftermax.auto.head import AutoHead
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV


class Answers(NamedTuple):
    """Each row as column numbers: its true class, softmax's answer and the head's."""

    classes: NDArray[Any]
    truth: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


# ---- of a head -------------------------------------------------------------------------------------------------------


def sph_of(estimator: Any, what: str) -> SPHClassifier:
    """The SPH that answers for a fitted head: itself, what a search found, or what an AutoHead chose.

    ``what`` is needed of it; a head without SPH has none, and the error says so.
    """
    check_is_fitted(estimator)
    if isinstance(estimator, SPHClassifierCV):
        return estimator.best_estimator_
    if isinstance(estimator, SPHClassifier):
        return estimator
    if isinstance(estimator, AutoHead):
        if isinstance(estimator._head, SPHClassifier):
            return _named(estimator._head, estimator)
        raise TypeError(
            f"This AutoHead chose {estimator.chosen_!r}, and only SPH has {what}: pass a fitted SPHClassifier or "
            "SPHClassifierCV."
        )
    raise TypeError(
        f"{type(estimator).__name__} has no {what}: pass a fitted SPHClassifier, SPHClassifierCV or AutoHead; a "
        "search of scikit-learn's has one in search.best_estimator_."
    )


def _named(sph: SPHClassifier, owner: AutoHead) -> SPHClassifier:
    """An AutoHead's SPH, which knows column numbers only, with the names of the classes and columns."""
    named = copy(sph)
    for known in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(owner, known):
            setattr(named, known, getattr(owner, known))
    named.response_array_ = replace(sph.response_array_, classes=owner.classes_)
    return named


def gate_of(estimator: Any) -> float | None:
    """The certainty below which SPH pools, 0 where it keeps softmax; None for a head that answers without SPH."""
    sph = estimator._head if isinstance(estimator, AutoHead) else getattr(estimator, "best_estimator_", estimator)
    return sph._gate if isinstance(sph, SPHClassifier) else None


def logits_of(estimator: Any, X: ArrayLike) -> NDArray[np.float64]:
    """Logits as a fitted head takes them."""
    checked = compute_ready(as_logits(X, estimator, reset=False, stacklevel=4))
    if not hasattr(estimator, "classes_"):
        raise TypeError(f"{type(estimator).__name__} is no classifier: pass a fitted head.")
    if checked.shape[1] != len(estimator.classes_):
        raise ValueError(
            f"X has {checked.shape[1]} columns and {type(estimator).__name__} has {len(estimator.classes_)} classes: "
            "pass a head that was fitted on logits, one column for each class."
        )
    return checked


def answers_of(estimator: Any, X: ArrayLike, y: ArrayLike, features: ArrayLike | None) -> Answers:
    """The true classes of rows, and what softmax and a fitted head answer."""
    logits, classes = logits_of(estimator, X), estimator.classes_
    after = asked(estimator, "predict", X, features)
    truth, after = (label_codes(labels, len(logits), classes) for labels in (y, after))
    return Answers(classes, truth, logits.argmax(axis=1), after)


def asked(estimator: Any, method: str, X: ArrayLike, features: ArrayLike | None) -> NDArray[Any]:
    """What a head says, by ``predict`` or ``predict_proba``; with features, if there are any."""
    call = getattr(estimator, method, None)
    if call is None:
        raise TypeError(f"{type(estimator).__name__} has no {method}, and this picture needs it: pass another head.")
    if features is None:
        return np.asarray(call(X))
    if "features" not in signature(call).parameters:
        raise TypeError(f"{type(estimator).__name__}.{method} takes no features: leave them out.")
    return np.asarray(call(X, features=features))


# ---- of arrays -------------------------------------------------------------------------------------------------------


def answers_from(y_true: ArrayLike, before: ArrayLike, after: ArrayLike, classes: ArrayLike | None) -> Answers:
    """The true classes of rows and two answers to each, as labels; ``classes`` are those that occur if None."""
    given = {"y_true": np.asarray(y_true), "before": np.asarray(before), "after": np.asarray(after)}
    for name, values in given.items():
        if values.ndim != 1 or len(values) == 0:
            raise ValueError(
                f"{name} has shape {values.shape}: pass one class for each row; of probabilities, "
                "classes[probabilities.argmax(axis=1)]."
            )
        same_rows("y_true", len(given["y_true"]), name, len(values))
    names = _union(list(given.values())) if classes is None else _distinct(classes)
    return Answers(names, *(label_codes(labels, len(labels), names) for labels in given.values()))


def _distinct(classes: ArrayLike) -> NDArray[Any]:
    names = np.asarray(classes)
    if names.ndim != 1 or len(set(names.tolist())) != names.size:
        raise ValueError(
            f"classes have shape {names.shape} and name {len(set(names.ravel().tolist()))}: pass each once, in a list."
        )
    return names


def _union(given: list[NDArray[Any]]) -> NDArray[Any]:
    """All labels that occur, sorted."""
    try:
        return np.array(sorted(set().union(*(values.tolist() for values in given))))
    except TypeError as error:
        raise ValueError(
            f"y_true, before and after mix kinds of labels ({error}): make them all strings or all whole numbers."
        ) from error


def right_by_probabilities(
    y_true: ArrayLike, probabilities: ArrayLike, name: str, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest probability of each row, and whether it is at the true class; without ``classes``, by the labels."""
    values = np.asarray(probabilities, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2 or len(values) == 0:
        raise ValueError(
            f"{name} has shape {values.shape}: pass probabilities, a row for each row and a column for each class."
        )
    same_rows("y_true", len(np.asarray(y_true)), name, len(values))
    off = ~(np.abs(values.sum(axis=1) - 1) <= PROBABILITY_TOLERANCE) | (values < 0).any(axis=1)
    if off.any():
        raise ValueError(
            f"{name} holds no probabilities at row {int(np.argmax(off))}: they are to be in 0 to 1 and to sum to 1. Of "
            "logits, pass scipy.special.softmax(logits, axis=1)."
        )
    return largest_and_right(values, _true_columns(y_true, values.shape, classes, name))


def _true_columns(y_true: ArrayLike, shape: tuple[int, ...], classes: ArrayLike | None, name: str) -> NDArray[np.int64]:
    if classes is None:
        return encode_labels(y_true, shape, None)[1]
    names = _distinct(classes)
    if len(names) != shape[1]:
        raise ValueError(f"{name} has {shape[1]} columns and there are {len(names)} classes: pass the class of each.")
    return label_codes(y_true, shape[0], names)


def largest_and_right(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The largest probability of each row, and whether it is at the true class. Rounding may have lifted it above 1."""
    return np.minimum(probabilities.max(axis=1), 1.0), probabilities.argmax(axis=1) == truth


def same_rows(first: str, rows: int, second: str, others: int) -> None:
    """Refuse arrays of different length."""
    if rows != others:
        raise ValueError(f"{first} has {rows} rows and {second} has {others}: pass the same rows in both.")


def checked_rightness(confidence: ArrayLike, right: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Plain data of a picture: a number in 0 to 1 for each row, and whether its answer is right."""
    numbers, whether = np.asarray(confidence, dtype=np.float64), np.asarray(right)
    if numbers.ndim != 1 or numbers.shape != whether.shape or len(numbers) == 0:
        raise ValueError(
            f"{name} and whether it is right have shapes {numbers.shape} and {whether.shape}: pass one number and one "
            "True or False for each row."
        )
    if not ((numbers >= 0) & (numbers <= 1)).all():
        row = int(np.argmin((numbers >= 0) & (numbers <= 1)))
        raise ValueError(f"{name} is {numbers[row]} at row {row}: pass numbers in 0 to 1.")
    if whether.dtype != np.bool_:
        raise ValueError(f"whether {name} is right is of type {whether.dtype}: pass True or False for each row.")
    return numbers, whether
