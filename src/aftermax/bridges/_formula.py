"""A fitted estimator as a formula for the bridges: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._heads.estimator import HeadEstimator
from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax.auto.kinds import FITTED_HEADS


@dataclass(frozen=True)
class Formula:
    """A fitted head, ready to be evaluated by any array library."""

    plan: Plan
    constants: dict[str, NDArray[Any]]
    classes: NDArray[Any]  # of each column
    width: int | None  # of the features; None for a head that takes none


def formula_of(head: Any) -> Formula:
    """The formula of a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
    if isinstance(head, str | os.PathLike):
        raise TypeError(f"head is a path: load it first, aftermax.load({os.fspath(head)!r}).")
    if not isinstance(head, HeadEstimator):
        exportable = "a fitted AutoHead, SPHClassifier or SPHClassifierCV"
        instead = "its head_, and export the model by its own means" if hasattr(head, "head_") else exportable
        raise TypeError(f"{type(head).__name__} cannot be exported: pass {instead}.")
    check_is_fitted(head)
    fitted = head.fitted_head_
    plan, constants = fitted.formula()
    columns = {"columns": np.arange(len(head.classes_))}
    return Formula({"kind": fitted.kind, **plan}, columns | constants, head.classes_, head.features_width_)


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """The predicted class of each sample, as a column number, and log-probabilities that are largest at that class.

    ``inputs`` are the logits and, for a head that was fitted with them, the features.
    """
    predictions, logs = FITTED_HEADS[plan["kind"]].evaluate(plan, ops, constants, inputs)
    # Where rounding made the predicted class share the largest value with another one, this lifts it by the least step.
    # (Not times 1 - 2 * epsilon: TorchScript takes constants that are nearly the same for one, and this for a 1.)
    largest = ops.row_max(logs)
    lifted = largest - largest * (2 * ops.epsilon)
    return predictions, ops.where(constants["columns"] == predictions, lifted, logs)
