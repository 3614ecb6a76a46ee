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
CLIP_DEPTH = 10.0  # times the typical margin below the largest: below that, all logits are the same to the corrections


class Projection(NamedTuple):
    """z = (clip(x) - mean) @ components: centre, rotate to principal components, and half-whiten.

    Whitening divides each principal component by its standard deviation, lambda^(1/2). Half-whitening divides by
    lambda^(1/4): directions of small variance gain weight without being blown up to the size of the others.
    """

    source: int  # which input: 0 for the logits, 1 for the features
    clip_depth: float  # how far below the largest of a sample logits are clipped; infinite for features
    mean: NDArray[np.float64]  # (d,)
    components: NDArray[np.float64]  # (d, at most 100 or 400)

    def __call__(self, inputs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The samples' half-whitened principal components z."""
        values = inputs[self.source]
        if np.isfinite(self.clip_depth):
            values = clip_below_max(values, self.clip_depth)
        return np.asarray((values - self.mean) @ self.components)


def fit_projection(source: int, clip_depth: float, values: NDArray[np.float64]) -> Projection:
    """The projection of samples that are clipped already, from their shrunk covariance.

    With n samples of d columns the covariance S is shrunk towards a multiple of the identity with the same trace,
    (1 - a) S + a tr(S) / d I, where a = min(1, (d + 1) / n). The components are scaled so that z has mean square 1.
    """
    n_samples, columns = values.shape
    mean = values.mean(axis=0)
    centred = values - mean
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
