"""Softmax with a temperature: the head that changes no prediction. Every other head is compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.chunks import fill_by_chunks
from aftermax._heads.formula import ArrayOperations, Constants, Plan, log_softmax
from aftermax._heads.protocol import Inputs, InputShape, State
from aftermax._utils.softmax import divided, settle_argmax, softmax
from aftermax._utils.untrusted import Arrays, fields, number


@dataclass(frozen=True)
class SoftmaxHead:
    """Temperature scaling: probabilities are the softmax of logits / temperature.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.
    """

    kind: ClassVar[str] = "softmax"
    uses_features: ClassVar[bool] = False
    temperature: float = 1.0

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The column of the largest logit."""
        out = np.empty(len(inputs[0]), dtype=np.int64)
        return fill_by_chunks(out, inputs[:1], lambda chunk: chunk[0].argmax(axis=1))

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Softmax of the logits, divided by the temperature."""

        def probabilities(chunk: Inputs) -> NDArray[np.float64]:
            out = softmax(divided(chunk[0], self.temperature))
            settle_argmax(out, chunk[0].argmax(axis=1))
            return out

        return fill_by_chunks(np.empty(inputs[0].shape), inputs[:1], probabilities)

    def to_state(self) -> State:
        """Its temperature."""
        return State({"temperature": self.temperature}, {})

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """From what :meth:`to_state` gives."""
        named = fields(values, {"temperature"}, "the softmax head")
        return cls(number(named["temperature"], "temperature", positive=True))

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """Its temperature."""
        return {"values_per_sample": 1}, {"temperature": np.array(self.temperature)}

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """As :meth:`predict` and the logarithm of :meth:`predict_proba`."""
        return ops.row_argmax(inputs[0]), log_softmax(ops, inputs[0] / constants["temperature"])
