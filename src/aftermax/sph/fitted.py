"""A fitted SPH: gate, veto, pool and trust. It predicts, is saved, and describes itself to the bridges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._heads.protocol import Inputs, InputShape, State
from aftermax._utils.softmax import divided, settle_argmax, softmax
from aftermax._utils.threads import over_ranges, samples_per_range
from aftermax._utils.untrusted import Arrays, fields, number
from aftermax._utils.validation import compute_ready
from aftermax.sph import _formula
from aftermax.sph._pooling import pooled_scores, pooling_rule
from aftermax.sph.hyperparameters import hyperparameters_from_file
from aftermax.sph.pooled_temperature import score_probabilities
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule

ROUTES = np.array(["softmax", "pooled", "reverted"])
POOLED = 1  # its index in ROUTES

# Made of a chunk: from its logits, its predictions (as column numbers) and its routes (as indices into ROUTES).
Result = Callable[[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class FittedSPH:
    """Everything that the Softmax-Pooling Hybrid learned from the validation samples, and its hyperparameters."""

    kind: ClassVar[str] = "sph"
    uses_features: ClassVar[bool] = False

    response_array: ResponseArray = field(repr=False)  # D
    separation: NDArray[np.float64] = field(repr=False)  # f, (K, K)
    weights: NDArray[np.float64] = field(repr=False)  # W, (K, K)
    trusted: NDArray[np.bool_] = field(repr=False)  # m, (K,)
    hyperparameters: Mapping[str, Any]  # all ten, as fitted
    temperature: float  # of the pooled scores
    softmax_temperature: float = 1.0  # of the samples that keep softmax's prediction

    @property
    def certainty(self) -> float:
        """The gate: samples whose largest softmax score is below this are pooled (c)."""
        return float(self.hyperparameters["certainty"])

    @cached_property
    def rule(self) -> PoolingRule:
        """Response array, weights and veto, laid out for the compiled loops."""
        return rule_of(self.response_array, self.weights, self.hyperparameters)

    # ---- predictions -------------------------------------------------------------------------------------------------

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The class of each sample, by softmax or by pooling, as a column number."""
        out = np.empty(len(inputs[0]), dtype=np.int64)
        return self._decide(inputs[0], lambda _, predictions, __: predictions, out)

    def route(self, logits: NDArray[Any]) -> NDArray[np.str_]:
        """Which way each sample took: "softmax", "pooled" or "reverted"."""
        out = np.empty(len(logits), dtype=ROUTES.dtype)
        return self._decide(logits, lambda _, __, routes: ROUTES[routes], out)

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Softmax's probabilities, or for pooled samples those proportional to exp(-score / temperature)."""
        return self._decide(inputs[0], self._probabilities, np.empty(inputs[0].shape))

    def _probabilities(
        self, logits: NDArray[np.float64], predictions: NDArray[np.int64], routes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        probabilities = softmax(divided(logits, self.softmax_temperature))
        pooled = np.flatnonzero(routes == POOLED)
        scores = pooled_scores(logits[pooled], self.rule)
        probabilities[pooled] = score_probabilities(scores, predictions[pooled], self.temperature)
        settle_argmax(probabilities, predictions)
        return probabilities

    def _decide(self, logits: NDArray[Any], result: Result, out: NDArray[Any]) -> NDArray[Any]:
        return decide(logits, self.certainty, self.rule, self.trusted, result, out)

    # ---- storage -----------------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """What cannot be computed again to the same bits; the layout for the compiled loops can."""
        array = self.response_array
        values = {
            "hyperparameters": dict(self.hyperparameters),
            "temperature": self.temperature,
            "softmax_temperature": self.softmax_temperature,
        }
        arrays = {"center": array.center, "left": array.left, "right": array.right, "counts": array.counts}
        return State(values, arrays | {"separation": self.separation, "weights": self.weights, "trusted": self.trusted})

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """From what :meth:`to_state` gives. A class without samples has NaN in its row, and is never pooled."""
        named = fields(values, {"hyperparameters", "temperature", "softmax_temperature"}, "the SPH head")
        n_classes = len(shape.classes)
        counts = arrays.take("counts", (n_classes,), np.int64, low=0)
        known = counts > 0
        center = arrays.take("center", (n_classes, n_classes), where=known)
        left, right = (
            arrays.take(side, (n_classes, n_classes), positive=True, where=known) for side in ("left", "right")
        )
        return cls(
            response_array=ResponseArray(center, left, right, counts, shape.classes),
            separation=arrays.take("separation", (n_classes, n_classes), low=0.0, infinite=True, where=known),
            weights=arrays.take("weights", (n_classes, n_classes), low=0.0),
            trusted=arrays.take("trusted", (n_classes,), np.bool_),
            hyperparameters=hyperparameters_from_file(named["hyperparameters"]),
            temperature=number(named["temperature"], "temperature", positive=True, infinite=True),
            softmax_temperature=number(named["softmax_temperature"], "softmax_temperature", positive=True),
        )

    # ---- bridges -----------------------------------------------------------------------------------------------------

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """See :mod:`aftermax.sph._formula`."""
        constants = _formula.constants_of(self.rule, self.certainty, self.trusted)
        temperatures = {"softmax_temperature": self.softmax_temperature, "temperature": self.temperature}
        return _formula.plan_of(self.rule), constants | {name: np.array(t) for name, t in temperatures.items()}

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """See :mod:`aftermax.sph._formula`."""
        return _formula.evaluate(plan, ops, constants, inputs[0])


def rule_of(array: ResponseArray, weights: NDArray[np.float64], hyperparameters: Mapping[str, Any]) -> PoolingRule:
    """The pooling rule of a response array and its weights."""
    names = ("distance_power", "veto_distance", "veto_count")
    return pooling_rule(array, weights, **{name: hyperparameters[name] for name in names})


def decide(
    logits: NDArray[Any],
    certainty: float,
    rule: PoolingRule,
    trusted: NDArray[np.bool_],
    result: Result,
    out: NDArray[Any],
) -> NDArray[Any]:
    """Gate, veto, pool and trust, chunk by chunk, and fill ``out`` with what ``result`` makes of each chunk."""
    from aftermax.sph import _kernels

    def work(first: int, last: int) -> None:
        chunk = compute_ready(logits[first:last], first)
        predictions, routes = np.empty((2, len(chunk)), dtype=np.int64)
        _kernels.predict_samples(chunk, certainty, trusted, rule, predictions, routes)
        out[first:last] = result(chunk, predictions, routes)

    over_ranges(work, len(logits), samples_per_range(logits.shape[1]))
    return out
