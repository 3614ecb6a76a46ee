"""SPH with the operations of any array library: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import (
    ArrayOperations,
    Constants,
    Plan,
    classes_at_once,
    log_softmax,
    parts_of_classes,
)

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule

RULE = ("center", "left", "right", "weights")
ROUNDED_OFF = 2.0**-53  # 1 plus this, or less, is 1 in float64


def plan_of(rule: PoolingRule) -> Plan:
    """The exponent, and whether there is a veto."""
    vetoes = bool(np.isfinite(rule.veto_distance))
    n_classes = len(rule.center)
    return {
        "power": rule.power,
        "vetoes": vetoes,
        "n_classes": n_classes,
        "values_per_sample": n_classes * classes_at_once(n_classes, n_classes),
    }


def constants_of(rule: PoolingRule, certainty: float, trusted: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """The rule, with classes that are never pooled (they may have no center) marked and filled with numbers."""
    known = rule.kept > 0

    def of_known(values: NDArray[Any], otherwise: float) -> NDArray[np.float64]:
        return np.where(known[:, None], values, otherwise)

    return {
        "least_doubt": np.array(_least_doubt(certainty)),
        "center": of_known(rule.center, 0.0),
        "left": of_known(rule.left, 1.0),
        "right": of_known(rule.right, 1.0),
        "weights": of_known(rule.weights, 0.0),
        "known": known,
        "trusted": trusted.astype(np.float64),
        "veto_distance": np.array(rule.veto_distance),
        "veto_count": np.array(float(rule.veto_count)),
        "zero": np.array(0.0),
        "infinity": np.array(np.inf),
    }


def _least_doubt(certainty: float) -> float:
    """The gate in terms of doubt, d = sum of exp(s_k - s_top) over the other classes: certainty = 1 / (1 + d).

    Low precision cannot tell a certainty of 1 - 1e-9 from 1, but it can tell a doubt of 1e-9 from 0.
    """
    return max(1.0 / certainty - 1.0, ROUNDED_OFF) if certainty > 0 else np.inf


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, logits: Any) -> tuple[Any, Any]:
    """Gate, veto, pool and trust: predicted columns and log-probabilities."""
    top = ops.row_argmax(logits)
    odds = ops.exp(logits - ops.row_max(logits))
    doubt = ops.row_sum(ops.where(constants["columns"] == top, constants["zero"], odds))
    scores, flags = _scores_and_flags(plan, ops, constants, logits)
    possible = constants["known"]
    if flags is not None:
        possible = possible & (flags < constants["veto_count"])
    negated = ops.where(possible, 0.0 - scores, 0.0 - constants["infinity"])
    pooled = ops.row_argmax(negated)
    trust = ops.row_sum(ops.as_float(constants["columns"] == pooled) * constants["trusted"])
    some_left = ops.row_max(ops.as_float(possible)) > 0.0
    kept = (doubt > constants["least_doubt"]) & some_left & (trust > 0.0)
    best = ops.where(some_left, 0.0 - ops.row_max(negated), constants["zero"])
    pooled_logs = _pooled_log_probabilities(ops, constants, scores, best)
    logs = log_softmax(ops, logits / constants["softmax_temperature"])
    return ops.where(kept, pooled, top), ops.where(kept, pooled_logs, logs)


def _scores_and_flags(plan: Plan, ops: ArrayOperations, constants: Constants, logits: Any) -> tuple[Any, Any]:
    """For each sample and class, the pooled distance and, if there is a veto, how many units are too far away.

    There are n_classes ** 2 distances for each sample: with many classes, those to some of them at a time.
    """
    values = ops.insert_axis(logits)
    scores, flags = [], []
    for part in parts_of_classes(plan["n_classes"], plan["n_classes"]):
        center, left, right, weights = (part.of(ops, constants[name]) for name in RULE)
        gap = values - center
        distance = ops.abs(gap) / ops.where(gap > 0.0, right, left)
        scores.append(ops.drop_last_axis(ops.row_sum(ops.power(weights * distance, plan["power"]))))
        if plan["vetoes"]:
            flags.append(ops.drop_last_axis(ops.row_sum(ops.as_float(distance >= constants["veto_distance"]))))
    return ops.side_by_side(scores), ops.side_by_side(flags) if flags else None


def _pooled_log_probabilities(ops: ArrayOperations, constants: Constants, scores: Any, best: Any) -> Any:
    """A vetoed class is at most as likely as the prediction; a class that is never pooled has probability 0."""
    beyond = ops.where(scores > best, scores - best, constants["zero"])  # scores may be infinite
    beyond = ops.where(constants["known"], beyond, constants["infinity"])
    return log_softmax(ops, (0.0 - beyond) / constants["temperature"])
