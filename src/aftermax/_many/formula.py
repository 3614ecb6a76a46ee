"""A head for many classes with the operations of any array library: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan, log_softmax
from aftermax._many.class_means import ClassMeans
from aftermax._residual import formula as residual_formula
from aftermax._residual.head import ResidualHead

SMALLEST = 1e-30  # a squared length below this is none


def of_head(residual: ResidualHead, means: ClassMeans, weight: float) -> tuple[Plan, dict[str, NDArray[Any]]]:
    """The residual head's formula; the class means as one (K, K) array, times the weights of units and of all."""
    plan, constants = residual.formula()
    own = {
        "means_unit_weights": means.unit_weights.astype(np.float64),
        "means_matrix": weight * means.as_matrix(),
        "means_zero": np.array(0.0),
        "means_smallest": np.array(SMALLEST),
    }
    values = max(plan["values_per_sample"], len(means.unit_weights))
    return {**plan, "means_count": means.count, "values_per_sample": values}, constants | own


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """Predicted columns and log-probabilities."""
    logits = inputs[0]
    excess = ops.maximum(logits - ops.row_kth_largest(logits, plan["means_count"] + 1), constants["means_zero"])
    excess = excess / ops.maximum(ops.row_max(excess), constants["means_smallest"])
    vectors = excess * constants["means_unit_weights"]
    lengths = ops.maximum(ops.row_sum(vectors * vectors), constants["means_smallest"])
    scores = residual_formula.scores(plan, ops, constants, inputs)
    scores = scores + (vectors * ops.exp(ops.log(lengths) * -0.5)) @ constants["means_matrix"]
    return ops.row_argmax(scores), log_softmax(ops, scores)
