"""A fitted combination folded into as few products of matrices as it takes: what answers, and what can be shipped.

The weights are multiplied into the corrections, corrections without weight are gone, and all kernels of a look are one
product. The scores are those of :class:`~aftermax._residual.fitting.ResidualHead` but for rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.corrections import WIDEST, Gaussian, Kernel, Linear, View
from aftermax._residual.fitting import Look, ResidualHead
from aftermax._residual.stacking import Scores

ROWS_AT_A_TIME = 1_024


@dataclass(frozen=True)
class FoldedLook:
    """What is added from one way to look at the rows: at their logits (0) or their features (1)."""

    look: Look
    reach: NDArray[np.float64]  # (d + 2, centers): with a row's place, 1 and squared length, the exponent of the kernel
    coefficients: NDArray[np.float64]  # (levels, centers, K): of the widest kernel, of its cube, of the cube of that
    used: NDArray[np.bool_]  # which of these levels add anything
    linear: NDArray[np.float64]  # (d, K)
    gaussian: Gaussian | None
    gaussian_weight: float

    def add_to(self, scores: Scores, inputs: Sequence[NDArray[np.float64]]) -> None:
        """Add what is seen from here."""
        places = self.look.places(inputs)
        if self.linear.any():
            scores += places @ self.linear
        if self.gaussian is not None:
            scores += self.gaussian_weight * self.gaussian.scores(View(places, places[:0]))
        if len(self.coefficients):
            from aftermax._residual.rbf_kernels import add_kernels

            add_kernels(places, self.reach, self.coefficients, self.used, scores)


@dataclass(frozen=True)
class FoldedHead:
    """Logits times a slope, biases, and what is added from each look."""

    slope: float
    biases: NDArray[np.float64]
    looks: tuple[FoldedLook, ...]

    def scores(self, inputs: Sequence[NDArray[np.float64]]) -> Scores:
        """A score for each row and class: softmax of them gives probabilities."""
        if len(inputs[0]) == 1:  # a product with one row is rounded in another way than with more
            return self.scores([np.repeat(values, 2, axis=0) for values in inputs])[:1]
        out = inputs[0] * self.slope + self.biases
        for some in _chunks(len(out)):
            for look in self.looks:
                look.add_to(out[some], [values[some] for values in inputs])
        return out


def _chunks(rows: int) -> Iterator[slice]:
    """Some rows at a time, and never one alone."""
    for first in range(0, rows - 1, ROWS_AT_A_TIME):
        last = first + ROWS_AT_A_TIME
        yield slice(first, rows if rows - last == 1 else last)


def fold(head: ResidualHead) -> FoldedHead:
    """The same head, folded."""
    weights = head.combination.weights
    biases = head.combination.biases.copy()
    for expert, weight in zip(head.experts, weights[1:], strict=True):
        if isinstance(expert.correction, Kernel | Linear):
            biases += weight * expert.correction.offsets
    looks = (_folded_look(head, number, look) for number, look in enumerate(head.looks))
    return FoldedHead(float(weights[0] / head.scale), biases, tuple(look for look in looks if look is not None))


def _folded_look(head: ResidualHead, number: int, look: Look) -> FoldedLook | None:
    """What has weight of the corrections that look from here; nothing if none has."""
    size = len(head.combination.biases)
    kernels: dict[int, NDArray[np.float64]] = {}
    linear = np.zeros((look.space.axes.shape[1], size))
    gaussian, gaussian_weight = None, 0.0
    for expert, weight in zip(head.experts, head.combination.weights[1:], strict=True):
        if expert.look != number or not weight:
            continue
        match expert.correction:
            case Linear():
                linear += weight * expert.correction.coefficients
            case Kernel():
                kernels[expert.correction.level] = weight * expert.correction.coefficients
            case Gaussian():
                gaussian, gaussian_weight = expert.correction, float(weight)
    if not kernels and gaussian is None and not linear.any():
        return None
    reach = -WIDEST * np.vstack([-2 * look.centers.T, np.square(look.centers).sum(axis=1), np.ones(len(look.centers))])
    coefficients = np.zeros((max(kernels, default=-1) + 1, len(look.centers), size))
    for level, values in kernels.items():
        coefficients[level, : len(values)] = values
    used = np.array([level in kernels for level in range(len(coefficients))], dtype=bool)
    return FoldedLook(look, reach, coefficients, used, linear, gaussian, gaussian_weight)
