"""The predictions of most samples in single precision, with a proven bound of the error; the others are left open.

Nearly all of the time to predict goes into kernels and Gaussians, and single precision takes half as long. A prediction
is kept if the two largest scores are further apart than the bound; double precision decides the others. So predictions
are always those of double precision.

The bound, with u = 2^-24 and g(n) = n u / (1 - n u), which bounds the relative error of n roundings (N. Higham,
"Accuracy and stability of numerical algorithms", 2002, chapter 3):

- A product w @ (z, 1, |z|^2) is a sum of chains of four, one chain after the other. With m chains, every term is
  rounded at most 4 + m times, and each of its factors once. So the error is at most g(m + 6) times
  |w'| |z| + |w_1| + |w_2| |z|^2 (Cauchy-Schwarz), where w_1 and w_2 are the last numbers of w and w' the others. That
  is at most the size of w, max(|w'|, |w_1|, |w_2|), times 1 + |z| + |z|^2.
- 2^t has the relative error log(2) times the error of t, and that of its polynomial. Every cube has three times the
  relative error of what is cubed, and 2 u.
- A sum of kernels times coefficients is off by the errors of its terms, and by g(n) of their absolute values, where n
  is how often a term is rounded. The sum of all this is computed along with the scores, but for a factor that depends
  on |z|, in place of the last class: scores are relative to that class.
- A squared length |y|^2 of products y, with the error e, is off by at most 2 |y| e + e^2, and the rounding of its sum.
- Log-posteriors are off by at most twice the largest error of a log-density, as log-sum-exp is 1-Lipschitz in the
  maximum norm; and by the rounding of exponentials, of a sum and of logarithms.

All else is in double precision. MARGIN is for terms of higher order, and for the rounding of double precision.
Importing this module imports numba, so import it on first use only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.projection import Projection
from aftermax._residual.single_kernels import (
    GROUPS_PER_SUM,
    LANES,
    ROWS,
    STEP,
    add_kernels,
    clip_and_center,
    decide,
    squared_lengths,
)
from aftermax._residual.terms import InputTerms
from aftermax._utils.multinomial import Scores

Values = NDArray[np.float64]  # one for each sample

UNIT = 2.0**-24
MARGIN = 1.05
LARGEST_ERROR = 0.01  # relative errors above this are too large for the bound
POWER_ERROR = 8 * UNIT  # of the polynomial, relative
ELEMENTARY_ERROR = 8 * UNIT  # of numpy's exponentials and logarithms in single precision, relative
UNDERFLOW = 2.0**-100  # more than what is lost to underflow, for coefficients of size 1
MIN_FLOOR = 1e-12  # of a Gaussian: the logarithm of less could be of any size
LARGEST_INTERCEPT = 1e30  # which single precision can hold
TYPICAL = 3.0  # 1 + |z| + |z|^2 for |z| = 1, the mean square
VALUES_AT_ONCE = 2**20  # of an input, if it has many columns


def rounded(times: int) -> float:
    """g(n)."""
    return times * UNIT / (1 - times * UNIT)


def error_of_products(columns: int) -> float:
    """What the sizes of the terms are multiplied with, for weights of this many columns."""
    return rounded(columns // STEP + 6)


class SingleKernels(NamedTuple):
    """The kernels of an input."""

    exponents: NDArray[np.float32]  # (centers, d + 2), of powers of two, for the widest kernel that is used
    coefficients: NDArray[np.float32]  # (groups of ROWS centers, levels, classes, ROWS), the last class for sizes
    used: NDArray[np.bool_]  # (groups, levels): whether any coefficient is not 0
    levels: NDArray[np.int64]  # (groups,): how many of the levels are needed
    largest: float  # of the sizes of exponents
    others: float  # the error that does not depend on the sample, as a size of exponents
    lost: float  # to underflow

    @classmethod
    def of(cls, terms: InputTerms) -> Self:
        """Of terms with kernels."""
        widest = int(np.argmax(terms.used))
        coefficients = terms.coefficients[widest:]
        exponents = terms.exponents.T * (3.0**widest / np.log(2))
        single = in_single(exponents)
        sizes = np.column_stack([np.linalg.norm(exponents[:, :-2], axis=1), np.abs(exponents[:, -2:])]).max(axis=1)
        of_sum = rounded(1 + ROWS + GROUPS_PER_SUM * int(terms.used.sum()))
        others = (POWER_ERROR + UNIT + of_sum) / (np.log(2) * error_of_products(single.shape[1])) / TYPICAL
        relative = coefficients - coefficients[:, :, -1:]
        growth = 3.0 ** np.arange(len(coefficients))  # of errors, by cubing
        relative[:, :, -1] = growth[:, None] * np.abs(relative).max(axis=2) * (sizes + others)
        levels, _, n_classes = relative.shape
        rows = np.zeros((levels, len(single), padded(n_classes, 2)), dtype=np.float32)
        rows[:, : len(sizes), :n_classes] = relative
        grouped = rows.reshape(levels, -1, ROWS, rows.shape[2]).transpose(1, 0, 3, 2)
        lost = UNDERFLOW * float(relative[:, :, -1].sum())
        used = np.asarray(grouped.any(axis=(2, 3)))
        needed = np.where(used, np.arange(1, levels + 1), 0).max(axis=1)
        return cls(single, np.ascontiguousarray(grouped), used, needed, float(sizes.max()), float(others), lost)

    def add_to(self, scores: Scores, projected: NDArray[np.float64], lengths: Values) -> Values:
        """Add the kernels to the scores, up to a constant for each sample; the bound of a score's error."""
        sizes = np.empty(len(scores))
        add_kernels(projected, self.exponents, self.coefficients, self.used, self.levels, scores, sizes)
        by_size = np.log(2) * error_of_products(self.exponents.shape[1]) * np.maximum(1 + lengths + lengths**2, TYPICAL)
        return np.where(by_size * (self.largest + self.others) < LARGEST_ERROR, by_size * sizes + self.lost, np.inf)


class SingleGaussian(NamedTuple):
    """A Gaussian correction with a covariance for each class, and its weight."""

    whitening: NDArray[np.float32]  # (K d, d + 2): the rows of F_k^T, with those of -F_k^T mu_k, class by class
    largest_factor: float  # the largest Frobenius norm of F_k
    largest_mean: float  # the largest |F_k^T mu_k|
    intercepts: NDArray[np.float32]  # (K, 1)
    floor: float
    weight: float

    @classmethod
    def of(cls, gaussian: GaussianCorrection, weight: float) -> Self:
        """In single precision."""
        n_classes, dimensions, _ = gaussian.factors.shape
        rows = np.zeros((n_classes, dimensions, dimensions + 2))
        rows[:, :, :-2] = gaussian.factors.transpose(0, 2, 1)
        rows[:, :, -2] = -gaussian.means
        return cls(
            in_single(rows.reshape(-1, dimensions + 2)),
            float(np.linalg.norm(gaussian.factors, axis=(1, 2)).max()),
            float(np.linalg.norm(gaussian.means, axis=1).max()),
            gaussian.intercepts[:, None].astype(np.float32),
            gaussian.floor,
            weight,
        )

    def add_to(self, scores: Scores, projected: NDArray[np.float64], lengths: Values) -> Values:
        """Add the log-posteriors to the scores; the bound of a score's error."""
        n_classes = scores.shape[1]
        values = np.empty((n_classes, len(scores)), dtype=np.float32)
        squared_lengths(projected, self.whitening, values)
        bounds = self._bounds(values.max(axis=0).astype(np.float64), lengths, projected.shape[1])
        values *= np.float32(-0.5)
        values += self.intercepts
        values -= values.max(axis=0)
        np.exp(values, out=values)
        values *= np.float32(1 - self.floor) / values.sum(axis=0)
        values += np.float32(self.floor / n_classes)
        np.log(values, out=values)
        values *= np.float32(self.weight)
        scores += values.T
        return bounds

    def _bounds(self, squares: Values, lengths: Values, dimensions: int) -> Values:
        n_classes = len(self.intercepts)
        error = error_of_products(self.whitening.shape[1]) * (self.largest_factor * lengths + self.largest_mean)
        largest = np.sqrt(squares) + error
        of_square = 2 * largest * error + rounded(dimensions + 1) * np.square(largest)
        finite = self.intercepts[np.isfinite(self.intercepts)]
        of_density = of_square / 2 + 4 * UNIT * (float(np.abs(finite).max()) + squares)
        of_logarithm = ELEMENTARY_ERROR * np.log(n_classes / self.floor)
        of_posterior = 2 * of_density + (n_classes + 8) * UNIT + 2 * ELEMENTARY_ERROR + of_logarithm
        return np.asarray(self.weight * (of_posterior + 2 * UNIT * np.log(n_classes / self.floor)))


class FirstLook(NamedTuple):
    """A head in single precision, where that pays."""

    slope: float
    biases: NDArray[np.float64]
    terms: tuple[InputTerms, ...]
    kernels: tuple[SingleKernels | None, ...]
    gaussians: tuple[SingleGaussian | None, ...]

    @classmethod
    def of(cls, slope: float, biases: NDArray[np.float64], terms: tuple[InputTerms, ...]) -> Self:
        """Of a head of these parts."""
        with np.errstate(over="ignore"):  # what single precision cannot hold is infinite, and so is its bound
            kernels = tuple(SingleKernels.of(one) if one.used.any() else None for one in terms)
            gaussians = tuple(_single_gaussian(one.gaussian, one.gaussian_weight) for one in terms)
        return cls(slope, biases, terms, kernels, gaussians)

    def predict(self, inputs: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The predictions, and which of them are not proven to be those of double precision."""
        n_samples = len(inputs[0])
        predicted, unproven = np.empty(n_samples, dtype=np.int64), np.empty(n_samples, dtype=np.bool_)
        with np.errstate(all="ignore"):  # beyond the range of single precision, the bound is infinite or NaN
            at_once = LANES * max(1, min(16, VALUES_AT_ONCE // (LANES * max(values.shape[1] for values in inputs))))
            for first in range(0, n_samples, at_once):
                some = slice(first, first + at_once)
                scores, bounds = self._scores([values[some] for values in inputs])
                decide(scores, 2 * MARGIN * bounds, predicted[some], unproven[some])  # two scores are compared
        return predicted, unproven

    def _scores(self, inputs: Sequence[NDArray[np.float64]]) -> tuple[Scores, Values]:
        """Scores, up to a constant for each sample, and the bound of their errors."""
        scores = inputs[0] * self.slope + self.biases
        bounds = np.zeros(len(scores))
        for terms, kernels, gaussian in zip(self.terms, self.kernels, self.gaussians, strict=True):
            projected = _projected(terms.projection, inputs)
            lengths = np.sqrt(np.einsum("nd,nd->n", projected, projected))
            terms.add_simple_to(scores, projected, with_gaussian=gaussian is None)
            for part in (kernels, gaussian):
                if part is not None:
                    bounds += part.add_to(scores, projected, lengths)
        return scores, bounds


def _projected(projection: Projection, inputs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """What the projection gives, but the clipping of logits compiled."""
    if projection.source:
        return projection(inputs)
    values, mean = (np.require(one, requirements=["C", "W"]) for one in (inputs[projection.source], projection.mean))
    centred = np.empty(values.shape)
    clip_and_center(values, projection.clip_depth, mean, centred)
    return np.asarray(centred @ projection.components)


def _single_gaussian(gaussian: GaussianCorrection | None, weight: float) -> SingleGaussian | None:
    if gaussian is None or len(gaussian.factors) == 1 or gaussian.floor < MIN_FLOOR:
        return None
    if np.abs(gaussian.intercepts[np.isfinite(gaussian.intercepts)]).max() > LARGEST_INTERCEPT:
        return None
    return SingleGaussian.of(gaussian, weight)


def in_single(weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of weights as the compiled loops need them, padded with zeros."""
    rows, columns = weights.shape
    out = np.zeros((padded(rows, ROWS), padded(columns, STEP)), dtype=np.float32)
    out[:rows, :columns] = weights
    return out


def padded(size: int, to: int) -> int:
    """The next multiple."""
    return -(-size // to) * to
