"""ResidualHead: the stacked corrections in compact form, which predicts, is saved, and is exported.

The stacking weights are multiplied into the corrections, corrections without weight are left out, and all kernels of an
input share one product with the centers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.chunks import CHUNK, fill_by_chunks
from aftermax._heads.formula import ArrayOperations, Constants, Plan
from aftermax._heads.protocol import Inputs, InputShape, State
from aftermax._residual import formula, state
from aftermax._residual.fitting import StackedCorrections
from aftermax._residual.kernel_ridge import KernelCorrection
from aftermax._residual.terms import InputTerms, compact_terms
from aftermax._utils.multinomial import Scores
from aftermax._utils.softmax import settle_argmax, softmax
from aftermax._utils.threads import thread_count
from aftermax._utils.untrusted import Arrays

if TYPE_CHECKING:
    from aftermax._residual.first_look import FirstLook

FIRST_LOOK_SAMPLES = 32  # fewest


@dataclass(frozen=True)
class ResidualHead:
    """scores = slope * logits + biases + the terms of the logits + the terms of the features."""

    kind: ClassVar[str] = "combination"

    slope: float
    biases: NDArray[np.float64]  # (K,)
    terms: tuple[InputTerms, ...]  # of each input that has any

    @property
    def uses_features(self) -> bool:
        """Whether any term is a function of the features."""
        return any(one.projection.source for one in self.terms)

    def scores(self, inputs: Sequence[NDArray[np.float64]]) -> Scores:
        """The score of each sample and class; their softmax is the probabilities."""
        if len(inputs[0]) == 1:  # matrix products round a single row differently
            return self.scores([np.repeat(values, 2, axis=0) for values in inputs])[:1]
        with np.errstate(over="ignore", invalid="ignore"):  # softmax refuses what comes of it
            out: Scores = inputs[0] * self.slope + self.biases
            for some in _chunks(len(out)):
                for terms in self.terms:
                    terms.add_to(out[some], [values[some] for values in inputs])
        return out

    def mixed_with_softmax(self, temperature: float, trust: float) -> ResidualHead:
        """The head whose scores are (1 - trust) * logits / temperature + trust * the scores of this one."""
        if trust == 1:
            return self
        slope = (1 - trust) / temperature + trust * self.slope
        return ResidualHead(slope, trust * self.biases, tuple(one.scaled(trust) for one in self.terms))

    def predict(self, inputs: Inputs) -> NDArray[np.int64]:
        """The column with the largest score. Large chunks, as the samples that need a second look come together."""
        out = np.empty(len(inputs[0]), dtype=np.int64)
        chunk = CHUNK if len(out) <= CHUNK else max(CHUNK, min(16 * CHUNK, len(out) // (4 * thread_count())))
        return fill_by_chunks(out, inputs, self._predict_chunk, chunk)

    def _predict_chunk(self, inputs: list[NDArray[np.float64]]) -> NDArray[np.int64]:
        """In single precision where that is proven to be enough; for few samples the proof is not worth its time."""
        if len(inputs[0]) < FIRST_LOOK_SAMPLES or not any(one.used.any() for one in self.terms):
            return np.asarray(self.scores(inputs).argmax(axis=1))
        predicted, unproven = self._first_look.predict(inputs)
        if unproven.any():
            predicted[unproven] = self.scores([values[unproven] for values in inputs]).argmax(axis=1)
        return predicted

    @cached_property
    def _first_look(self) -> FirstLook:
        from aftermax._residual.first_look import FirstLook

        return FirstLook.of(self.slope, self.biases, self.terms)

    def predict_proba(self, inputs: Inputs) -> NDArray[np.float64]:
        """Softmax of the scores."""

        def probabilities(chunk: list[NDArray[np.float64]]) -> NDArray[np.float64]:
            scores = self.scores(chunk)
            out = softmax(scores)
            settle_argmax(out, scores.argmax(axis=1))
            return out

        return fill_by_chunks(np.empty(inputs[0].shape), inputs, probabilities)

    def to_state(self) -> State:
        """See :mod:`aftermax._residual.state`."""
        return state.to_state(self.slope, self.biases, self.terms)

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> Self:
        """See :mod:`aftermax._residual.state`."""
        return cls(*state.from_state(values, arrays, shape))

    def formula(self) -> tuple[Plan, dict[str, NDArray[Any]]]:
        """See :mod:`aftermax._residual.formula`."""
        plan, constants = formula.of_terms(self.terms)
        return plan, constants | {"slope": np.array(self.slope), "biases": self.biases}

    @staticmethod
    def evaluate(plan: Plan, ops: ArrayOperations, constants: Constants, inputs: Sequence[Any]) -> tuple[Any, Any]:
        """See :mod:`aftermax._residual.formula`."""
        return formula.evaluate(plan, ops, constants, inputs)


def _chunks(n_samples: int) -> Iterator[slice]:
    """Some samples at a time, and never one alone."""
    for first in range(0, n_samples - 1, CHUNK):
        last = first + CHUNK
        yield slice(first, n_samples if n_samples - last == 1 else last)


def compact(stacked: StackedCorrections) -> ResidualHead:
    """The head with the scores of the stacked corrections, but for rounding.

    The corrections are functions of clipped logits; the slope multiplies the logits as they are, so that a masked class
    (-1e4) stays masked.
    """
    weights = stacked.stacking.weights
    biases = stacked.stacking.biases.copy()
    for (_, _, correction), weight in zip(stacked.corrections, weights[1:], strict=True):
        if isinstance(correction, KernelCorrection):
            biases += weight * correction.intercepts
    found = (compact_terms(stacked, source) for source in range(len(stacked.projections)))
    terms = tuple(one for one in found if one is not None)
    return ResidualHead(float(weights[0] / stacked.scale), biases, terms)
