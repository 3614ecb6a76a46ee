"""Corrections to the logits: what they look at, and what each says once it is fitted.

Each is an expert that has a score for every class: an estimate of the classes' probabilities by a linear map or by
kernels, or the log-probabilities by a response array whose units may correlate.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.stacking import Scores

WIDEST = 1 / 3  # the exponent of the widest kernel at a distance of one; the others are its cube, the cube of that, ...
DIMENSIONS = 100  # that corrections look at, at most: of more, the principal ones
OWN_COVARIANCES = 50  # classes, at most, for each to have a covariance of its own
INNER_FOLDS = 5
TINY = 1e-12


# ---- what corrections look at ----------------------------------------------------------------------------------------


class Space(NamedTuple):
    """Inputs made comparable: moved, turned to their principal axes, and each axis brought half way to unit length."""

    center: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def fit(cls, inputs: NDArray[np.float64]) -> Space:
        """From the rows' covariance, shrunk where rows are few."""
        rows, columns = inputs.shape
        center = inputs.mean(axis=0)
        moved = inputs - center
        covariance = moved.T @ moved / rows
        shrinkage = min(1.0, (columns + 1) / rows) * np.trace(covariance) / columns
        lengths, axes = np.linalg.eigh(covariance)
        lengths, axes = lengths[-DIMENSIONS:], axes[:, -DIMENSIONS:]
        shrunk = np.maximum((1 - min(1.0, (columns + 1) / rows)) * lengths + shrinkage, TINY)
        axes = axes * shrunk**-0.25
        size = np.sqrt(np.mean(np.square(moved @ axes).sum(axis=1)))
        return cls(center, axes / max(size, TINY))

    def __call__(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The places of rows."""
        return (inputs - self.center) @ self.axes


def bounded(logits: NDArray[np.float64], depth: float) -> NDArray[np.float64]:
    """Logits raised to ``depth`` below the largest of their row: a masked class (-1e4) is then low, and not remote."""
    return np.asarray(np.maximum(logits, logits.max(axis=1, keepdims=True) - depth))


class View:
    """Rows as the corrections see them: their places in a space, and how near they are to its centers."""

    def __init__(self, places: NDArray[np.float64], centers: NDArray[np.float64]) -> None:
        self.places = places
        self.centers = centers
        self._widest: NDArray[np.float64] | None = None

    def nearness(self, level: int, count: int) -> NDArray[np.float64]:
        """The kernel between rows and the first centers: 1 where they meet, narrower the higher the level."""
        if self._widest is None:
            squares = np.square(self.places).sum(axis=1)[:, None] + np.square(self.centers).sum(axis=1)
            squares -= 2 * (self.places @ self.centers.T)
            np.maximum(squares, 0.0, out=squares)
            squares *= -WIDEST
            self._widest = np.exp(squares, out=squares)
        out = self._widest[:, :count]
        for _ in range(level):
            out = out * out * out
        return out


# ---- the corrections -------------------------------------------------------------------------------------------------


class Correction(Protocol):
    """A fitted correction."""

    def scores(self, view: View) -> Scores:
        """A score for each row and class."""


class Linear(NamedTuple):
    """A linear map of the rows' places: to log-odds, or by least squares to the classes' probabilities."""

    coefficients: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def scores(self, view: View) -> Scores:
        """Estimates of the classes' probabilities."""
        return np.asarray(view.places @ self.coefficients + self.offsets)


class Kernel(NamedTuple):
    """The classes' probabilities by what is known about the neighbourhoods of the centers."""

    level: int
    coefficients: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def scores(self, view: View) -> Scores:
        """Estimates of the classes' probabilities."""
        return np.asarray(view.nearness(self.level, len(self.coefficients)) @ self.coefficients + self.offsets)


class Gaussian(NamedTuple):
    """The classes' log-probabilities if each class's rows were normally distributed, with correlated units.

    It is what the response array of SPH would be with full covariances. They are shrunk towards the one that all
    classes share, and with many classes there is only that one.
    """

    means: NDArray[np.float64]  # of each class, through its factor
    factors: NDArray[np.float64]  # (1 or K, d, d): their products with themselves are the inverse covariances
    offsets: NDArray[np.float64]
    floor: float  # the share of the probability that is spread evenly

    def scores(self, view: View) -> Scores:
        """The classes' log-probabilities."""
        size, (own, dimensions, _) = len(self.offsets), self.factors.shape
        out = np.empty((len(view.places), size))
        if own == 1:
            turned = view.places @ self.factors[0]
            out[:] = turned @ self.means.T - np.square(self.means).sum(axis=1) / 2 + self.offsets
        else:
            flat = self.factors.transpose(1, 0, 2).reshape(dimensions, -1)
            turned = view.places @ flat - self.means.ravel()
            np.square(turned, out=turned)
            out[:] = turned @ np.repeat(np.eye(size) / -2, dimensions, axis=0) + self.offsets
        out -= out.max(axis=1, keepdims=True)
        np.exp(out, out=out)
        out *= (1 - self.floor) / out.sum(axis=1, keepdims=True)
        out += self.floor / size
        return np.asarray(np.log(out, out=out))


def fit_gaussian(
    places: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> Gaussian:
    """Means and covariances of the classes, with as much weight for a class's own as it has rows to tell."""
    rows, dimensions = places.shape
    members = np.zeros((rows, size))
    members[np.arange(rows), codes] = weights
    counts = members.sum(axis=0)
    means = (members.T @ places + places.mean(axis=0)) / (counts + 1)[:, None]
    moved = places - means[codes]
    shared = (moved * weights[:, None]).T @ moved / rows
    ridge = (1e-3 * np.trace(shared) / dimensions + TINY) * np.eye(dimensions)
    covariances = [shared]
    if size <= OWN_COVARIANCES:
        trust = counts / (counts + dimensions)
        own = [(moved[codes == k] * weights[codes == k, None]).T @ moved[codes == k] for k in range(size)]
        covariances = [trust[k] * own[k] / max(counts[k], TINY) + (1 - trust[k]) * shared for k in range(size)]
    inverses = [np.linalg.inv(np.linalg.cholesky(covariance + ridge)).T for covariance in covariances]
    factors = np.array(inverses)
    volumes = np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)
    with np.errstate(divide="ignore"):
        priors = np.where(counts > 0, np.log(counts / rows), -np.inf)
    turned = np.einsum("kd,kde->ke", means, np.broadcast_to(factors, (size, dimensions, dimensions)))
    return Gaussian(turned, factors, priors + volumes, size / (rows + size))


def held_out_gaussian(
    places: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], size: int
) -> tuple[Gaussian, Scores]:
    """Fitted on all rows, and each row's scores by one that was fitted without a fifth of them, its own included."""
    out = np.full((len(places), size), -np.log(size))  # of a single row, nothing can be said without it
    folds = np.arange(len(places)) % INNER_FOLDS
    nowhere = np.empty((0, places.shape[1]))
    for fold in range(INNER_FOLDS if len(places) > 1 else 0):
        others, held_out = folds != fold, folds == fold
        part = fit_gaussian(places[others], codes[others], weights[others], size)
        out[held_out] = part.scores(View(places[held_out], nowhere))
    return fit_gaussian(places, codes, weights, size), out
