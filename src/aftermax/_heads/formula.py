"""A fitted head as a formula: constants, and steps that any array library can take.

PyTorch, Keras and ONNX each lend a :class:`Dialect`, a handful of functions; what the steps are is written once, here.
They are those of :mod:`aftermax._residual.head` and :mod:`aftermax.sph._kernels`, rounded a little differently.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._residual.head import FoldedHead, FoldedLook
from aftermax.auto.head import AutoHead
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV

Constants = Mapping[str, Any]  # by name, as values of the dialect
Plan = dict[str, Any]  # which steps to take; plain data, as for JSON

ROUNDED_OFF = 2.0**-53  # up to this, what is added to 1 leaves it at 1 in float64


class Dialect(Protocol):
    """What the steps need of an array library, beyond operators between its values.

    Values have a row for each row of logits. What combines columns works on the last axis and keeps it, with one
    column.
    """

    step: float  # the relative distance between neighbouring numbers

    def exp(self, value: Any) -> Any: ...
    def log(self, value: Any) -> Any: ...
    def abs(self, value: Any) -> Any: ...
    def power(self, value: Any, exponent: float) -> Any: ...

    def maximum(self, one: Any, other: Any) -> Any:
        """The larger of two values, element by element."""

    def where(self, condition: Any, one: Any, other: Any) -> Any:
        """One value where the condition holds, the other elsewhere."""

    def number(self, condition: Any) -> Any:
        """1 where a condition holds and 0 elsewhere."""

    def largest(self, value: Any) -> Any:
        """The largest of each row."""

    def total(self, value: Any) -> Any:
        """The sum of each row."""

    def first_largest(self, value: Any) -> Any:
        """The place of the largest of each row, the first if there are several, as a whole number."""

    def spread(self, value: Any) -> Any:
        """Rows by columns as rows by 1 by columns."""

    def gather(self, value: Any) -> Any:
        """Rows by columns by 1 as rows by columns."""


@dataclass(frozen=True)
class Formula:
    """A fitted head, ready to be told in any dialect."""

    plan: Plan
    constants: dict[str, NDArray[Any]]
    classes: NDArray[Any]  # of each column
    width: int | None  # of the features; None for a head that takes none


def formula_of(head: Any) -> Formula:
    """The formula of a fitted :class:`~aftermax.AutoHead`, SPHClassifier or SPHClassifierCV."""
    if isinstance(head, str | os.PathLike):
        raise TypeError(f"head is a path: load it first, aftermax.load({os.fspath(head)!r}).")
    if not isinstance(head, AutoHead | SPHClassifier | SPHClassifierCV):
        known = "a fitted AutoHead, SPHClassifier or SPHClassifierCV"
        what = "its head_, and export the model by its own means" if hasattr(head, "head_") else known
        raise TypeError(f"{type(head).__name__} cannot be exported: pass {what}.")
    check_is_fitted(head)
    answering: Any = head
    temperature, width = 1.0, None
    if isinstance(head, AutoHead):
        answering, temperature, width = head._head, head._temperature, head._width
    elif isinstance(head, SPHClassifierCV):
        answering = head.best_estimator_
    columns = {"columns": np.arange(len(head.classes_))}
    if isinstance(answering, FoldedHead):
        plan, constants = _combination(answering)
    elif isinstance(answering, SPHClassifier):
        plan, constants = _sph(answering, temperature)
    else:
        plan, constants = {"kind": "softmax"}, {"temperature": np.array(temperature)}
    return Formula(plan, columns | constants, head.classes_, width)


def tell(plan: Plan, dialect: Dialect, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
    """The answer to each row, as a column number, and the log-probabilities, the largest always at the answer.

    ``inputs`` are the logits and, for a head that looks at them, the features.
    """
    logits = inputs[0]
    if plan["kind"] == "sph":
        answers, logs = _tell_sph(plan, dialect, constants, logits)
    elif plan["kind"] == "combination":
        scores = _tell_combination(plan, dialect, constants, inputs)
        answers, logs = dialect.first_largest(scores), _log_softmax(dialect, scores)
    else:
        answers, logs = dialect.first_largest(logits), _log_softmax(dialect, logits / constants["temperature"])
    # Where rounding made the answer share the largest value with another class, this lifts it by the least step.
    # (Not times 1 - 2 * step: TorchScript takes constants that are nearly the same for one, and this for a 1.)
    largest = dialect.largest(logs)
    lifted = largest - largest * (2 * dialect.step)
    return answers, dialect.where(constants["columns"] == answers, lifted, logs)


def _log_softmax(dialect: Dialect, scores: Any) -> Any:
    below = scores - dialect.largest(scores)
    return below - dialect.log(dialect.total(dialect.exp(below)))


# ---- SPH -------------------------------------------------------------------------------------------------------------


def _sph(head: SPHClassifier, temperature: float) -> tuple[Plan, dict[str, NDArray[Any]]]:
    rule = head._rule
    known = rule.kept > 0  # other classes are never pooling's answer, and may have no center
    plan = {"kind": "sph", "power": rule.power, "vetoes": bool(np.isfinite(rule.veto_distance))}
    shape = rule.center.shape

    def of_known(values: NDArray[Any], otherwise: float) -> NDArray[np.float64]:
        return np.broadcast_to(np.where(known[:, None], values, otherwise), shape).copy()

    return plan, {
        "least_doubt": np.array(_least_doubt(head._gate)),
        "temperature": np.array(temperature),
        "pooled_temperature": np.array(head.temperature_),
        "center": of_known(rule.center, 0.0),
        "left": of_known(rule.left, 1.0),
        "right": of_known(rule.right, 1.0),
        "weights": of_known(rule.weights, 0.0),
        "known": known,
        "trusted": head.trusted_.astype(np.float64),
        "veto_distance": np.array(rule.veto_distance),
        "veto_count": np.array(float(rule.veto_count)),
        "zero": np.array(0.0),
        "infinity": np.array(np.inf),
    }


def _least_doubt(gate: float) -> float:
    """What the odds of all classes but the top one add up to if the certainty, 1 / (1 + doubt), is at the gate.

    Low precision cannot tell a certainty of 1 - 1e-9 from 1, but a doubt of 1e-9 from none.
    """
    return max(1.0 / gate - 1.0, ROUNDED_OFF) if gate > 0 else np.inf


def _tell_sph(plan: Plan, dialect: Dialect, constants: Constants, logits: Any) -> tuple[Any, Any]:
    """Gate, veto, pool and trust."""
    top = dialect.first_largest(logits)
    odds = dialect.exp(logits - dialect.largest(logits))
    doubt = dialect.total(dialect.where(constants["columns"] == top, constants["zero"], odds))
    gap = dialect.spread(logits) - constants["center"]
    distance = dialect.abs(gap) / dialect.where(gap > 0.0, constants["right"], constants["left"])
    scores = dialect.gather(dialect.total(dialect.power(constants["weights"] * distance, plan["power"])))
    possible = constants["known"]
    if plan["vetoes"]:
        flags = dialect.gather(dialect.total(dialect.number(distance >= constants["veto_distance"])))
        possible = possible & (flags < constants["veto_count"])
    nearness = dialect.where(possible, 0.0 - scores, 0.0 - constants["infinity"])
    pooled = dialect.first_largest(nearness)
    trust = dialect.total(dialect.number(constants["columns"] == pooled) * constants["trusted"])
    some_left = dialect.largest(dialect.number(possible)) > 0.0
    kept = (doubt > constants["least_doubt"]) & some_left & (trust > 0.0)
    # A vetoed class is at most as likely as the answer; a class that pooling never answers has no probability.
    best = dialect.where(some_left, 0.0 - dialect.largest(nearness), constants["zero"])
    beyond = dialect.where(scores > best, scores - best, constants["zero"])  # also where scores are too large to tell
    beyond = dialect.where(constants["known"], beyond, constants["infinity"])
    pooled_logs = _log_softmax(dialect, (0.0 - beyond) / constants["pooled_temperature"])
    logs = _log_softmax(dialect, logits / constants["temperature"])
    return dialect.where(kept, pooled, top), dialect.where(kept, pooled_logs, logs)


# ---- the combination -------------------------------------------------------------------------------------------------


def _combination(head: FoldedHead) -> tuple[Plan, dict[str, NDArray[Any]]]:
    plan: Plan = {"kind": "combination", "looks": []}
    constants: dict[str, NDArray[Any]] = {"slope": np.array(head.slope), "biases": head.biases}
    for number, folded in enumerate(head.looks):
        look_plan, look_constants = _look(folded)
        plan["looks"].append(look_plan)
        constants |= {f"look{number}_{name}": values for name, values in look_constants.items()}
    return plan, constants


def _look(folded: FoldedLook) -> tuple[Plan, dict[str, NDArray[Any]]]:
    """One way to look at the rows, with what is added from there."""
    look, gaussian = folded.look, folded.gaussian
    plan: Plan = {
        "source": look.source,
        "bounded": bool(np.isfinite(look.depth)),
        "linear": bool(folded.linear.any()),
        "levels": folded.used.tolist(),
        "gaussian": gaussian is not None,
    }
    constants: dict[str, NDArray[Any]] = {"space_center": look.space.center, "axes": look.space.axes}
    if plan["bounded"]:
        constants["depth"] = np.array(look.depth)
    if plan["linear"]:
        constants["linear"] = folded.linear
    if any(plan["levels"]):
        constants |= {"slopes": folded.reach[:-2], "heights": folded.reach[-2], "fall": folded.reach[-1]}
        constants |= {f"level{n}": folded.coefficients[n] for n, used in enumerate(folded.used) if used}
    if gaussian is not None:
        size, (own, dimensions, _) = len(gaussian.offsets), gaussian.factors.shape
        constants |= {
            "gaussian_weight": np.array(folded.gaussian_weight),
            "offsets": gaussian.offsets,
            "floor": np.array(gaussian.floor / size),
            "share": np.array(1 - gaussian.floor),
        }
        if own == 1:
            plan["shared"] = True
            constants["pull"] = gaussian.factors[0] @ gaussian.means.T
            constants["offsets"] = gaussian.offsets - np.square(gaussian.means).sum(axis=1) / 2
        else:
            plan["shared"] = False
            constants["factors"] = gaussian.factors.transpose(1, 0, 2).reshape(dimensions, -1)
            constants["means"] = gaussian.means.ravel()
            constants["sums"] = np.repeat(np.eye(size) / -2, dimensions, axis=0)
    return plan, constants


def _tell_combination(plan: Plan, dialect: Dialect, constants: Constants, inputs: Sequence[Any]) -> Any:
    """Logits times a slope, biases, and what is added from each look."""
    scores = inputs[0] * constants["slope"] + constants["biases"]
    for number, look in enumerate(plan["looks"]):
        prefix = f"look{number}_"
        own = {name.removeprefix(prefix): value for name, value in constants.items() if name.startswith(prefix)}
        for part in _tell_look(look, dialect, own, inputs[look["source"]]):
            scores = scores + part
    return scores


def _tell_look(plan: Plan, dialect: Dialect, constants: Constants, values: Any) -> list[Any]:
    """What is added from one look."""
    if plan["bounded"]:
        values = dialect.maximum(values, dialect.largest(values) - constants["depth"])
    places = (values - constants["space_center"]) @ constants["axes"]
    parts = []
    if plan["linear"]:
        parts.append(places @ constants["linear"])
    if plan["gaussian"]:
        parts.append(_tell_gaussian(plan, dialect, constants, places) * constants["gaussian_weight"])
    if any(plan["levels"]):
        squares = dialect.total(places * places)
        near = dialect.exp(places @ constants["slopes"] + constants["heights"] + squares * constants["fall"])
        for level, used in enumerate(plan["levels"]):
            if level > 0:
                near = near * near * near
            if used:
                parts.append(near @ constants[f"level{level}"])
    return parts


def _tell_gaussian(plan: Plan, dialect: Dialect, constants: Constants, places: Any) -> Any:
    """The classes' log-probabilities if each class's rows were normally distributed."""
    if plan["shared"]:
        scores = places @ constants["pull"] + constants["offsets"]
    else:
        turned = places @ constants["factors"] - constants["means"]
        scores = (turned * turned) @ constants["sums"] + constants["offsets"]
    return dialect.log(dialect.exp(_log_softmax(dialect, scores)) * constants["share"] + constants["floor"])
