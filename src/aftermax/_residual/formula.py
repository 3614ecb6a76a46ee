"""A residual head with the operations of any array library: see :mod:`aftermax._heads.formula`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan, log_softmax
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.terms import InputTerms

NamedArrays = dict[str, NDArray[Any]]


# ---- plan and constants ----------------------------------------------------------------------------------------------


def of_terms(terms: Sequence[InputTerms]) -> tuple[Plan, NamedArrays]:
    """The plan of all terms, and their constants with a number before each name."""
    plan: Plan = {"terms": []}
    constants: NamedArrays = {}
    for number, one in enumerate(terms):
        own_plan, own_constants = _of_input(one)
        plan["terms"].append(own_plan)
        constants |= {f"terms{number}_{name}": values for name, values in own_constants.items()}
    plan["values_per_sample"] = max((values.shape[-1] for values in constants.values() if values.ndim), default=1)
    return plan, constants


def _of_input(terms: InputTerms) -> tuple[Plan, NamedArrays]:
    projection = terms.projection
    plan: Plan = {
        "source": projection.source,
        "clipped": bool(np.isfinite(projection.clip_depth)),
        "linear": bool(terms.linear.any()),
        "levels": terms.used.tolist(),
        "gaussian": terms.gaussian is not None,
    }
    constants: NamedArrays = {"mean": projection.mean, "components": projection.components}
    if plan["clipped"]:
        constants["clip_depth"] = np.array(projection.clip_depth)
    if plan["linear"]:
        constants["linear"] = terms.linear
    if any(plan["levels"]):
        exponents = terms.exponents
        constants |= {"by_value": exponents[:-2], "by_one": exponents[-2], "by_square": exponents[-1]}
        constants |= {f"level{n}": terms.coefficients[n] for n, used in enumerate(terms.used) if used}
    if terms.gaussian is not None:
        plan["shared"] = len(terms.gaussian.factors) == 1
        constants |= _of_gaussian(terms.gaussian) | {"gaussian_weight": np.array(terms.gaussian_weight)}
    return plan, constants


def _of_gaussian(gaussian: GaussianCorrection) -> NamedArrays:
    n_classes, (covariances, dimensions, _) = len(gaussian.intercepts), gaussian.factors.shape
    constants: NamedArrays = {"floor": np.array(gaussian.floor / n_classes), "share": np.array(1 - gaussian.floor)}
    if covariances == 1:
        intercepts = gaussian.intercepts - np.square(gaussian.means).sum(axis=1) / 2
        return constants | {"slopes": gaussian.factors[0] @ gaussian.means.T, "intercepts": intercepts}
    return constants | {
        "intercepts": gaussian.intercepts,
        "factors": gaussian.factors.transpose(1, 0, 2).reshape(dimensions, -1),
        "means": gaussian.means.ravel(),
        "sums": np.repeat(np.eye(n_classes) / -2, dimensions, axis=0),
    }


# ---- evaluation ------------------------------------------------------------------------------------------------------


def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """Predicted columns and log-probabilities."""
    total = scores(plan, ops, constants, inputs)
    return ops.row_argmax(total), log_softmax(ops, total)


def scores(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> Any:
    """slope * logits + biases + all terms."""
    total = inputs[0] * constants["slope"] + constants["biases"]
    for number, one in enumerate(plan["terms"]):
        prefix = f"terms{number}_"
        own = {name.removeprefix(prefix): value for name, value in constants.items() if name.startswith(prefix)}
        for term in _evaluate_input(one, ops, own, inputs[one["source"]]):
            total = total + term
    return total


def _evaluate_input(plan: Plan, ops: ArrayOperations, constants: Constants, values: Any) -> list[Any]:
    if plan["clipped"] and not plan["source"]:
        values = ops.maximum(values, ops.row_max(values) - constants["clip_depth"])
    centred = values - constants["mean"]
    if plan["clipped"] and plan["source"]:  # samples that are too far away are moved towards the mean
        depth = constants["clip_depth"]
        squares = ops.maximum(ops.row_sum(centred * centred), depth * depth)
        centred = centred * (depth * ops.exp(ops.log(squares) * -0.5))
    projected = centred @ constants["components"]
    terms = []
    if plan["linear"]:
        terms.append(projected @ constants["linear"])
    if plan["gaussian"]:
        terms.append(_evaluate_gaussian(plan, ops, constants, projected) * constants["gaussian_weight"])
    if any(plan["levels"]):
        squares = ops.row_sum(projected * projected)
        exponents = projected @ constants["by_value"] + constants["by_one"] + squares * constants["by_square"]
        kernel = ops.exp(exponents)
        for level, used in enumerate(plan["levels"]):
            if level > 0:
                kernel = kernel * kernel * kernel
            if used:
                terms.append(kernel @ constants[f"level{level}"])
    return terms


def _evaluate_gaussian(plan: Plan, ops: ArrayOperations, constants: Constants, projected: Any) -> Any:
    """The classes' log-posteriors."""
    if plan["shared"]:
        logs = projected @ constants["slopes"] + constants["intercepts"]
    else:
        whitened = projected @ constants["factors"] - constants["means"]
        logs = (whitened * whitened) @ constants["sums"] + constants["intercepts"]
    return ops.log(ops.exp(log_softmax(ops, logs)) * constants["share"] + constants["floor"])
