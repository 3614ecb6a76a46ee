"""What a model in scikit-learn's manner says, as logits: a column for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.labels import listed
from aftermax._utils.softmax import LEAST_PROBABILITY

RESPONSE_METHODS = ("decision_function", "predict_proba")


def is_fitted(model: Any) -> bool:
    """Whether it is fitted, as scikit-learn tells; a model of somebody's own, if it has classes."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except (AttributeError, TypeError):  # it has no tags
        return hasattr(model, "classes_")
    return True


def classes_of(model: Any) -> NDArray[Any]:
    """The class of each column of what the model says."""
    if not hasattr(model, "classes_"):
        raise NotFittedError(
            f"{type(model).__name__} has no classes_, so it is not known which class each column is. Fit it first; if "
            "it is fitted, give it classes_, the classes in the order of its columns."
        )
    classes = np.asarray(model.classes_)
    if classes.ndim != 1:
        raise ValueError("The model has more than one output: pass a model that gives each row one class.")
    if len(classes) < 2:
        raise ValueError(f"The model knows one class only, {listed(classes.tolist())}: there is no choice.")
    return classes


def response_method_of(model: Any, wanted: str, size: int) -> str:
    """What to ask the model for; if "auto" is wanted, its scores if they are of classes, or else probabilities."""
    pairs = size > 2 and _compares_pairs(model)
    names = RESPONSE_METHODS if wanted == "auto" else (wanted,)
    usable = [name for name in names if hasattr(model, name) and not (pairs and name == "decision_function")]
    if usable:
        return usable[0]
    if pairs:
        raise ValueError(
            "The model's decision_function compares classes pair by pair: set its decision_function_shape to "
            '"ovr", for a column for each class; it need not be fitted again for that.'
        )
    raise TypeError(f"{type(model).__name__} has no {' or '.join(names)}: pass a classifier that has.")


def _compares_pairs(model: Any) -> bool:
    """Whether it is an SVC that is set to give a column for each pair of classes; of three classes, there are three."""
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    settings = model.get_params() if hasattr(model, "get_params") else {}
    return any(name.endswith("decision_function_shape") and value == "ovo" for name, value in settings.items())


def logits_of(model: Any, response_method: str, X: Any, size: int) -> NDArray[np.float64]:
    """What the model says of the rows: its scores, or logarithms of its probabilities."""
    said = np.asarray(getattr(model, response_method)(X), dtype=np.float64)
    if response_method == "predict_proba":
        said = np.log(np.clip(said, LEAST_PROBABILITY, None))
    elif size == 2 and said.shape in ((len(said),), (len(said), 1)):
        said = np.column_stack([-said / 2, said / 2])
    if said.shape != (len(said), size):
        raise ValueError(
            f"The model's {response_method} gives an array of shape {said.shape} for {size} classes: a column for each "
            "class is needed. Choose another response_method, if the model has it."
        )
    return said
