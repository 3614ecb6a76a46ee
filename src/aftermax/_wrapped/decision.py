"""Decisions by expected costs: a head around another one, whose probabilities it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.chunks import CHUNK
from aftermax._heads.formula import ArrayOperations, Constants, Plan, largest_at
from aftermax._heads.protocol import FittedHead, Inputs, InputShape, State
from aftermax._utils.threads import one_blas_thread, over_ranges
from aftermax._utils.untrusted import Arrays, fields, flag, number
from aftermax._wrapped.adapted import AdaptedHead
from aftermax._wrapped.base_heads import (
    BASE_HEADS,
    INNER,
    evaluate_inner,
    formula_around,
    inner_from_state,
    state_around,
)

COSTS = "decision_costs"  # an array of the head file, and a constant of the formula
THRESHOLD = "decision_threshold"  # a constant of the formula
INNER_HEADS: dict[str, type[FittedHead]] = BASE_HEADS | {AdaptedHead.kind: AdaptedHead}  # that are decided on


def lowest_expected_cost(probabilities: NDArray[np.float64], costs: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """The decision with the lowest expected cost, the first of equals; without costs, the most probable class.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._wrapped.decision import lowest_expected_cost
    >>> lowest_expected_cost(np.array([[0.8, 0.2], [0.95, 0.05]]), np.array([[0.0, 1.0], [10.0, 0.0]]))
    array([1, 0])
    """
    if costs is None:
        return np.asarray(probabilities.argmax(axis=1))
    out = np.empty(len(probabilities), dtype=np.int64)

    def work(first: int, last: int) -> None:
        out[first:last] = (probabilities[first:last] @ costs).argmin(axis=1)

    with one_blas_thread():
        over_ranges(work, len(out), CHUNK)
    return out


def decided_probability(probabilities: NDArray[np.float64], decisions: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of the class that is decided for: how certain each decision is.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._wrapped.decision import decided_probability
    >>> decided_probability(np.array([[0.8, 0.2], [0.95, 0.05]]), np.array([1, 0]))
    array([0.2 , 0.95])
    """
    return np.asarray(probabilities[np.arange(len(decisions)), decisions])


@dataclass(frozen=True)
class DecisionHead:
    """Predict the decision j with the lowest expected cost, sum_k p_k costs[k, j], by the probabilities of a head.

    Parameters
    ----------
    inner : FittedHead
        Whose probabilities p are decided on, and stay what they are.
    costs : ndarray of shape (n_classes, n_classes) or None
        Rows are true classes, columns decisions. Without costs, the decision is the inner head's prediction.
    threshold : float or None
        For abstention: the probability of the decision below which a sample is for a person; None if none is.
    """

    kind: ClassVar[str] = "decision"
    inner: FittedHead
    costs: NDArray[np.float64] | None
    threshold: float | None = None

    @property
    def uses_features(self) -> bool:
        """Whether the inner head does."""
        return self.inner.uses_features

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The decision with the lowest expected cost."""
        if self.costs is None:
            return self.inner.predict(inputs)
        return lowest_expected_cost(self.inner.predict_proba(inputs), self.costs)

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Of the inner head. The largest may be at another class than the decision."""
        return self.inner.predict_proba(inputs)

    def is_certain(self, inputs: Inputs) -> NDArray[np.bool_]:
        """Whether the probability of what is decided is at least the threshold, for a head that has one."""
        if self.threshold is None:
            raise ValueError("This head has no threshold: it decides every sample alone.")
        probabilities = self.predict_proba(inputs)
        decisions = self.predict(inputs) if self.costs is None else lowest_expected_cost(probabilities, self.costs)
        return np.asarray(decided_probability(probabilities, decisions) >= self.threshold)

    def to_state(self) -> State:
        """The inner head, costs and threshold."""
        values = {"has_costs": self.costs is not None, "threshold": self.threshold}
        return state_around(self.inner, values, {} if self.costs is None else {COSTS: self.costs})

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """From what :meth:`to_state` gives."""
        named = fields(values, {INNER, "has_costs", "threshold"}, "the decision head")
        costs = None
        if flag(named["has_costs"], "has_costs"):
            costs = arrays.take(COSTS, (len(shape.classes),) * 2)
        threshold = None if named["threshold"] is None else number(named["threshold"], "threshold", infinite=True)
        return cls(inner_from_state(named[INNER], arrays, shape, INNER_HEADS), costs, threshold)

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """That of the inner head, the costs and the threshold."""
        plan: Plan = {"has_costs": self.costs is not None}
        constants = {} if self.costs is None else {COSTS: self.costs}
        if self.threshold is not None:
            constants[THRESHOLD] = np.array(self.threshold)
        return formula_around(self.inner, plan, constants)

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """As :meth:`predict` and the logarithm of :meth:`predict_proba`."""
        predictions, logs = evaluate_inner(plan, ops, constants, inputs, INNER_HEADS)
        logs = largest_at(ops, constants, predictions, logs)
        if not plan["has_costs"]:
            return predictions, logs
        return ops.row_argmax((ops.exp(logs) @ constants[COSTS]) * -1.0), logs
