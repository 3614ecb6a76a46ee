"""The output of a scikit-learn classifier as logits, one column for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.one_logit import two_columns
from aftermax._utils.softmax import MIN_PROBABILITY
from aftermax._utils.text import listed

RESPONSE_METHODS = ("decision_function", "predict_proba")


def is_fitted(model: Any) -> bool:
    """Whether the model is fitted, by scikit-learn's check; a model without scikit-learn's tags, if it has classes."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except (AttributeError, TypeError):  # it has no tags
        return hasattr(model, "classes_")
    return True


def classes_of(model: Any) -> NDArray[Any]:
    """Return the class of each column of the model's output."""
    if not hasattr(model, "classes_"):
        raise NotFittedError(
            f"{type(model).__name__} has no classes_, so it is not known which class each column is. Fit it first; if "
            "it is fitted, give it classes_, the classes in the order of its columns."
        )
    classes = np.asarray(model.classes_)
    if classes.ndim != 1:
        raise ValueError("The model has more than one output: pass a model that predicts one class for each sample.")
    if len(classes) < 2:
        raise ValueError(f"The model has one class only, {listed(classes.tolist())}: at least two are needed.")
    return classes


def response_method_of(model: Any, wanted: str, n_classes: int) -> str:
    """Return the method to call: for "auto", decision_function if it has a column for each class, or predict_proba."""
    one_vs_one = n_classes > 2 and _is_one_vs_one(model)
    names = RESPONSE_METHODS if wanted == "auto" else (wanted,)
    usable = [name for name in names if hasattr(model, name) and not (one_vs_one and name == "decision_function")]
    if usable:
        return usable[0]
    if one_vs_one:
        raise ValueError(
            "The model's decision_function compares classes pair by pair: set its decision_function_shape to "
            '"ovr", for a column for each class; you need not fit it again.'
        )
    raise TypeError(f"{type(model).__name__} has no {' or '.join(names)}: pass a classifier that has.")


def _is_one_vs_one(model: Any) -> bool:
    """Whether it is, or contains, an SVC with a column for each pair of classes. Of three classes there are three."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    params = model.get_params() if hasattr(model, "get_params") else {}
    return any(name.endswith("decision_function_shape") and value == "ovo" for name, value in params.items())


def logits_of(model: Any, response_method: str, X: Any, n_classes: int) -> NDArray[Any]:
    """Return the model's logits: its decision function, or the logarithms of its probabilities.

    They are float64, or with more than 256 classes in the model's own precision, but at least float32.
    """
    given = np.asarray(as_plain(getattr(model, response_method)(X), f"the outputs of the model's {response_method}"))
    if given.dtype.kind not in "biuf":
        raise ValueError(f"The model's {response_method} gives values of type {given.dtype}: real numbers are needed.")
    output = np.asarray(given, np.result_type(given, np.float32) if n_classes > MANY_CLASSES else np.float64)
    if response_method == "predict_proba":
        output = np.clip(output, MIN_PROBABILITY, None)
        np.log(output, out=output)
    elif n_classes == 2 and output.shape in ((len(output),), (len(output), 1)):
        output = two_columns(output.reshape(-1, 1))
    if output.shape != (len(output), n_classes):
        raise ValueError(
            f"The model's {response_method} gives an array of shape {output.shape} for {n_classes} classes: a column "
            "for each class is needed. Choose another response_method, if the model has it."
        )
    return output
