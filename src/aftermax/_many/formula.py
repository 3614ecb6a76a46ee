"""A head for many classes with the operations of any array library: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan, classes_at_once, log_softmax, parts_of_classes
from aftermax._many.class_means import ClassMeans
from aftermax._residual import formula as residual_formula
from aftermax._residual.head import ResidualHead

SMALLEST = 1e-30  # a squared length below this is none


def of_head(residual: ResidualHead, means: ClassMeans, weight: float) -> tuple[Plan, dict[str, NDArray[Any]]]:
    """The residual head's formula; for each class, the units that its mean has entries for, and these, weighted."""
    plan, constants = residual.formula()
    units, entries = means.by_class()
    own = {
        "means_unit_weights": means.unit_weights.astype(np.float64),
        "means_units": units,
        "means_entries": weight * entries,
        "means_zero": np.array(0.0),
        "means_smallest": np.array(SMALLEST),
    }
    n_classes, n_entries = units.shape
    values = max(plan["values_per_sample"], n_entries * classes_at_once(n_classes, n_entries))
    own_plan = {"means_count": means.count, "means_shape": [n_classes, n_entries], "values_per_sample": values}
    return plan | own_plan, constants | own


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """Predicted columns and log-probabilities."""
    logits = inputs[0]
    excess = ops.maximum(logits - ops.row_kth_largest(logits, plan["means_count"] + 1), constants["means_zero"])
    excess = excess / ops.maximum(ops.row_max(excess), constants["means_smallest"])
    vectors = excess * constants["means_unit_weights"]
    lengths = ops.maximum(ops.row_sum(vectors * vectors), constants["means_smallest"])
    vectors = vectors * ops.exp(ops.log(lengths) * -0.5)
    scores = residual_formula.scores(plan, ops, constants, inputs) + _similarities(plan, ops, constants, vectors)
    return ops.row_argmax(scores), log_softmax(ops, scores)


def _similarities(plan: Plan, ops: ArrayOperations, constants: Constants, vectors: Any) -> Any:
    """The dot product of each sample and each class mean, which is sparse."""
    out = []
    for part in parts_of_classes(*plan["means_shape"]):
        named = ops.take_columns(vectors, part.of(ops, constants["means_units"]))
        out.append(ops.drop_last_axis(ops.row_sum(named * part.of(ops, constants["means_entries"]))))
    return ops.side_by_side(out)
