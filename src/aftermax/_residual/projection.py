"""From logits or features to a few half-whitened principal components, where distances are comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY

MAX_COMPONENTS = (100, 400)  # of the logits and of the features
MASKED = (
    200.0  # times the median lead over the second largest: a logit this far below the largest is a mask, not a response
)
RANK_TOLERANCE = 1e-10  # of the largest variance: a direction with less than this is none
FAR = 10.0  # times the median distance from the mean
CLIP_DEPTH = 10.0  # times the typical margin below the largest: below that, all logits are the same to the corrections


class Projection(NamedTuple):
    """z = (clip(x) - mean) @ components: centre, rotate to principal components, and half-whiten.

    Whitening divides each principal component by its standard deviation, lambda^(1/2). Half-whitening divides by
    lambda^(1/4): directions of small variance gain weight without being blown up to the size of the others.
    """

    source: int  # which input: 0 for the logits, 1 for the features
    # How far below the largest of a sample logits are clipped. Of features: how far from the mean a sample may be;
    # one that is further away, an outlier, is moved towards it.
    clip_depth: float
    mean: NDArray[np.float64]  # (d,)
    components: NDArray[np.float64]  # (d, at most 100 or 400)

    def __call__(self, inputs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The samples' half-whitened principal components z."""
        values = inputs[self.source]
        if self.source:
            return np.asarray(pull_in(values - self.mean, self.clip_depth) @ self.components)
        if np.isfinite(self.clip_depth):
            values = clip_below_max(values, self.clip_depth)
        return np.asarray((values - self.mean) @ self.components)


def project_logits(clip_depth: float, values: NDArray[np.float64]) -> Projection:
    """The projection of logits that are clipped already."""
    mean = values.mean(axis=0)
    return _fit_projection(0, clip_depth, mean, values - mean)


def project_features(values: NDArray[np.float64]) -> Projection:
    """The projection of features; samples that are 10 times as far from the mean as the median one are moved to there.

    The mean is that of samples moved so, too: first towards the median of each column.
    """
    center = np.median(values, axis=0)
    pulled = pull_in(values - center, _largest_distance(values - center))
    mean = center + pulled.mean(axis=0)
    largest = _largest_distance(values - mean)
    return _fit_projection(1, largest, mean, pull_in(values - mean, largest))


def _largest_distance(centred: NDArray[np.float64]) -> float:
    median = float(np.median(_lengths(centred)))
    return FAR * median if median > 0 else np.inf


def pull_in(centred: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """Samples less their mean, of which those that are longer than ``largest`` are shortened to that."""
    if not np.isfinite(largest):
        return centred
    lengths = _lengths(centred)
    far = lengths > largest
    return np.where(far[:, None], centred * (largest / np.where(far, lengths, 1.0))[:, None], centred)


def _lengths(centred: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # an infinite length is as good as a large one
        return np.asarray(np.sqrt(np.einsum("nd,nd->n", centred, centred)))


def _fit_projection(
    source: int, clip_depth: float, mean: NDArray[np.float64], centred: NDArray[np.float64]
) -> Projection:
    """The projection of centred samples, from their shrunk covariance.

    With n samples of d columns the covariance S is shrunk towards a multiple of the identity with the same trace,
    (1 - a) S + a tr(S) / d I, where a = min(1, (d + 1) / n). The components are scaled so that z has mean square 1.
    """
    n_samples, columns = centred.shape
    variances, components = _principal_components(centred, MAX_COMPONENTS[source])
    shrinkage = min(1.0, (columns + 1) / n_samples)
    added_variance = shrinkage * np.square(centred).sum() / n_samples / columns
    shrunk = np.maximum((1 - shrinkage) * variances + added_variance, TINY)
    components = components * shrunk**-0.25
    size = np.sqrt(np.mean(np.square(centred @ components).sum(axis=1)))
    return Projection(source, clip_depth, mean, components / max(size, TINY))


def _principal_components(centred: NDArray[np.float64], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances and directions of the largest principal components, from the smaller of the two Gram matrices."""
    n_samples, columns = centred.shape
    if columns <= n_samples:
        variances, directions = np.linalg.eigh(centred.T @ centred / n_samples)
        return variances[-most:], directions[:, -most:]
    variances, scores = np.linalg.eigh(centred @ centred.T / n_samples)
    kept = variances > RANK_TOLERANCE * variances[-1]
    kept[:-most] = False
    if not kept.any():  # all samples are alike
        return np.zeros(1), np.eye(columns, 1)
    variances, directions = variances[kept], centred.T @ scores[:, kept]
    return variances, directions / np.sqrt(n_samples * variances)


def clip_below_max(logits: NDArray[np.float64], depth: float) -> NDArray[np.float64]:
    """Logits raised to ``depth`` below the largest of their sample, so that a masked class (-1e4) is no outlier."""
    return np.asarray(np.maximum(logits, logits.max(axis=1, keepdims=True) - depth))


def scale_logits(logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The typical margin, and the logits clipped and divided by it."""
    scale = typical_margin(logits)
    return scale, clip_below_max(logits, CLIP_DEPTH * scale) / scale


def typical_margin(logits: NDArray[np.float64]) -> float:
    """The median, over samples, of the largest logit less the median logit: the unit that logits are measured in."""
    second, largest = np.partition(logits, -2, axis=1)[:, -2:].T
    median_lead = np.median(largest - second)
    masked = largest[:, None] - logits > MASKED * median_lead
    if masked.any() and median_lead > 0:
        margins = largest - np.nanmedian(np.where(masked, np.nan, logits), axis=1)
    else:
        margins = largest - np.median(logits, axis=1)
    return max(float(np.median(margins)), float(margins.mean()) * 1e-3, TINY)
