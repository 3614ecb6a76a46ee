"""What a residual head adds to the logits as a function of one input, the logits or the features, in compact form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.fitting import StackedCorrections
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.kernel_ridge import GAMMA, KernelCorrection
from aftermax._residual.linear import LinearCorrection
from aftermax._residual.projection import Projection
from aftermax._utils.multinomial import Scores


@dataclass(frozen=True)
class InputTerms:
    """A linear term, a Gaussian one and RBF kernels, all functions of the same projected input z."""

    projection: Projection
    # (d + 2, centers): (z, 1, |z|^2) @ exponents = -gamma |z - c|^2, the exponent of the widest kernel
    exponents: NDArray[np.float64]
    coefficients: NDArray[np.float64]  # (levels, centers, K): of the widest kernel, of its cube, of the cube of that
    used: NDArray[np.bool_]  # which of these levels have any
    linear: NDArray[np.float64]  # (d, K)
    gaussian: GaussianCorrection | None
    gaussian_weight: float

    def scaled(self, factor: float) -> InputTerms:
        """These terms, multiplied by a factor."""
        return replace(
            self,
            coefficients=factor * self.coefficients,
            linear=factor * self.linear,
            gaussian_weight=factor * self.gaussian_weight,
        )

    def add_to(self, scores: Scores, inputs: Sequence[NDArray[np.float64]]) -> None:
        """Add these terms to the scores, in place."""
        projected = self.projection(inputs)
        self.add_simple_to(scores, projected)
        if len(self.coefficients):
            from aftermax._residual.rbf_kernels import add_kernels

            add_kernels(projected, self.exponents, self.coefficients, self.used, scores)

    def add_simple_to(self, scores: Scores, projected: NDArray[np.float64], *, with_gaussian: bool = True) -> None:
        """Add the terms other than the kernels to the scores, in place."""
        if self.linear.any():
            scores += projected @ self.linear
        if self.gaussian is not None and with_gaussian:
            scores += self.gaussian_weight * self.gaussian.scores(projected)


def compact_terms(stacked: StackedCorrections, source: int) -> InputTerms | None:
    """The corrections of one input that have weight, multiplied by it; None if none has."""
    projection, centers = stacked.projections[source], stacked.centers[source]
    n_classes = len(stacked.stacking.biases)
    kernels: dict[int, NDArray[np.float64]] = {}
    linear = np.zeros((projection.components.shape[1], n_classes))
    gaussian, gaussian_weight = None, 0.0
    for one, weight in zip(stacked.corrections, stacked.stacking.weights[1:], strict=True):
        if one.source != source or not weight:
            continue
        match one.correction:
            case LinearCorrection():
                linear += weight * one.correction.coefficients
            case KernelCorrection():
                kernels[one.correction.level] = weight * one.correction.coefficients
            case GaussianCorrection():
                gaussian, gaussian_weight = one.correction, float(weight)
    if not kernels and gaussian is None and not linear.any():
        return None
    centers = centers[: max(map(len, kernels.values()), default=0)]
    exponents = -GAMMA * np.vstack([-2 * centers.T, np.square(centers).sum(axis=1), np.ones(len(centers))])
    coefficients = np.zeros((max(kernels, default=-1) + 1, len(centers), n_classes))
    for level, values in kernels.items():
        coefficients[level, : len(values)] = values
    used = np.array([level in kernels for level in range(len(coefficients))], dtype=bool)
    # Rows in one piece, as in a head file: another layout would be compiled for once more.
    exponents = np.ascontiguousarray(exponents)
    return InputTerms(projection, exponents, coefficients, used, linear, gaussian, gaussian_weight)
