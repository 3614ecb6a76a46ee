"""AdaptedHead: another head, in a world with other class proportions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.chunks import fill_by_chunks
from aftermax._heads.formula import ArrayOperations, Constants, Plan, log_softmax
from aftermax._heads.protocol import FittedHead, Inputs, InputShape, State
from aftermax._utils.softmax import MIN_PROBABILITY, settle_argmax, softmax
from aftermax._utils.untrusted import Arrays, fields, number
from aftermax._wrapped.base_heads import INNER, evaluate_inner, formula_around, inner_from_state, state_around

LARGEST = 1e6  # of slope and offsets: beyond that, scores could overflow


@dataclass(frozen=True, eq=False)
class AdaptedHead:
    """Probabilities are the softmax of slope * log-probabilities of the inner head + offsets.

    The offsets are the biases of a calibration and the logarithms of new class share / assumed class share.
    """

    kind: ClassVar[str] = "adapted"

    inner: FittedHead
    slope: float
    offsets: NDArray[np.float64]  # (n_classes,)

    @property
    def uses_features(self) -> bool:
        """Whether the inner head does."""
        return self.inner.uses_features

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The column of the largest score."""
        out = np.empty(len(inputs[0]), dtype=np.int64)
        return fill_by_chunks(out, [self.inner.predict_proba(inputs)], lambda some: self._scores(some).argmax(axis=1))

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """The probabilities of the inner head, as they are in the new world."""

        def probabilities(chunk: Inputs) -> NDArray[np.float64]:
            scores = self._scores(chunk)
            out = softmax(scores)
            settle_argmax(out, scores.argmax(axis=1))
            return out

        return fill_by_chunks(np.empty(inputs[0].shape), [self.inner.predict_proba(inputs)], probabilities)

    def _scores(self, probabilities: Inputs) -> NDArray[np.float64]:
        return np.asarray(self.slope * np.log(np.maximum(probabilities[0], MIN_PROBABILITY)) + self.offsets)

    def to_state(self) -> State:
        """The inner head, the slope and the offsets."""
        return state_around(self.inner, {"slope": self.slope}, {"adapted_offsets": self.offsets})

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """From what :meth:`to_state` gives."""
        named = fields(values, {INNER, "slope"}, "the adapted head")
        slope = number(named["slope"], "slope", 0.0, LARGEST, positive=True)
        offsets = arrays.take("adapted_offsets", (len(shape.classes),), low=-LARGEST)
        if (offsets > LARGEST).any():
            raise ValueError("the array adapted_offsets holds values that are too high")
        return cls(inner_from_state(named[INNER], arrays, shape), slope, offsets)

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """That of the inner head, the slope and the offsets."""
        constants = {
            "adapted_least": np.array(np.log(MIN_PROBABILITY)),
            "adapted_slope": np.array(self.slope),
            "adapted_offsets": self.offsets,
        }
        return formula_around(self.inner, {}, constants)

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """As :meth:`predict` and the logarithm of :meth:`predict_proba`."""
        _, logs = evaluate_inner(plan, ops, constants, inputs)
        scores = (
            ops.maximum(logs, constants["adapted_least"]) * constants["adapted_slope"] + constants["adapted_offsets"]
        )
        return ops.row_argmax(scores), log_softmax(ops, scores)
