"""ManyClassesHead: slope * logits + biases + similarity to class means, and perhaps linear discriminants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.chunks import fill_by_chunks
from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._heads.protocol import Inputs, InputShape, State
from aftermax._many import formula, state
from aftermax._many.class_means import ClassMeans
from aftermax._residual.head import ResidualHead
from aftermax._utils.multinomial import Scores
from aftermax._utils.softmax import settle_argmax, softmax
from aftermax._utils.threads import samples_per_range
from aftermax._utils.untrusted import Arrays


@dataclass(frozen=True)
class ManyClassesHead:
    """scores = those of a residual head + weight * the cosine of the sample's largest scores and each class mean."""

    kind: ClassVar[str] = "class means"

    residual: ResidualHead  # slope, biases and linear discriminants
    means: ClassMeans
    weight: float

    @property
    def uses_features(self) -> bool:
        """Whether there is a discriminant of features."""
        return self.residual.uses_features

    def scores(self, inputs: Sequence[NDArray[np.float64]]) -> Scores:
        """The score of each sample and class; their softmax is the probabilities."""
        from aftermax._many import kernels

        if not self.residual.terms:
            simple: Scores = np.empty(inputs[0].shape)
            kernels.score(inputs[0], *self._numbers, simple)
            return simple
        out = self.residual.scores(inputs)
        similarities = np.empty_like(out)
        kernels.score(inputs[0], 0.0, np.zeros_like(self.residual.biases), *self._of_means, similarities)
        out += similarities
        return out

    @property
    def _numbers(self) -> tuple[Any, ...]:
        """What the kernels take after the logits."""
        residual = self.residual
        return residual.slope, residual.biases, *self._of_means

    @property
    def _of_means(self) -> tuple[Any, ...]:
        return self.means.count, *self.means.arrays, self.weight

    def mixed_with_softmax(self, temperature: float, trust: float) -> ManyClassesHead:
        """The head whose scores are (1 - trust) * logits / temperature + trust * the scores of this one."""
        mixed = self.residual.mixed_with_softmax(temperature, trust)
        return self if trust == 1 else replace(self, residual=mixed, weight=trust * self.weight)

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The column with the largest score."""
        return fill_by_chunks(
            np.empty(len(inputs[0]), dtype=np.int64), inputs, self._predict_chunk, _chunk(inputs[0].shape[1])
        )

    def _predict_chunk(self, inputs: list[NDArray[np.float64]]) -> NDArray[np.int64]:
        from aftermax._many import kernels

        if self.residual.terms:
            return np.asarray(self.scores(inputs).argmax(axis=1))
        out = np.empty(len(inputs[0]), dtype=np.int64)
        kernels.predict(inputs[0], *self._numbers, out)
        return out

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Softmax of the scores."""

        def probabilities(chunk: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            scores = self.scores(chunk)
            out = softmax(scores)
            settle_argmax(out, scores.argmax(axis=1))
            return out

        return fill_by_chunks(np.empty(inputs[0].shape), inputs, probabilities, _chunk(inputs[0].shape[1]))

    def to_state(self) -> State:
        """See :mod:`aftermax._many.state`."""
        return state.to_state(self.residual, self.means, self.weight)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """See :mod:`aftermax._many.state`."""
        return cls(*state.from_state(values, arrays, shape))

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """See :mod:`aftermax._many.formula`."""
        return formula.of_head(self.residual, self.means, self.weight)

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """See :mod:`aftermax._many.formula`."""
        return formula.evaluate(plan, ops, constants, inputs)


def _chunk(n_classes: int) -> int:
    """Samples at a time: never one alone, whose matrix products would be rounded differently."""
    return max(2, samples_per_range(n_classes))
