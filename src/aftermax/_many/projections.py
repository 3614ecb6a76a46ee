"""From many logits, or from features, to principal components for a linear discriminant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.discriminant import COMPONENTS
from aftermax._many.samples import ManySamples
from aftermax._residual.projection import CLIP_DEPTH, Projection, clip_below_max, project_features
from aftermax._residual.samples import TINY

LARGEST_PROJECTED = 1e12  # of the logits: sums of squares are in single precision
LOGITS_TO_PROJECT_BY = 20_000_000  # principal components are found from so many logits


class Projected(NamedTuple):
    """Projected samples, and what the mean of a class without labels may be a multiple of, projected."""

    projection: Projection
    values: NDArray[np.float32]  # (n_samples, d)
    patterns: NDArray[np.float32]  # (patterns, K, d)


def project_many_logits(samples: ManySamples, scale: float) -> Projected | None:
    """The principal components of the clipped logits, of size 1 in the mean; None if a logit is too large for that.

    A class without labels is expected to raise its own logit: its pattern is the unit vector e_k. And where that logit
    is high, others are too: its pattern is the regression of all logits on it, C e_k / C_kk with their covariance C.
    """
    depth = CLIP_DEPTH * scale
    if any(np.abs(samples.read(chunk)).max() > LARGEST_PROJECTED for chunk in samples.chunks()):
        return None
    some = clip_below_max(samples.every(LOGITS_TO_PROJECT_BY).in_memory().logits, depth).astype(np.float32)
    mean = some.mean(axis=0)
    variances, directions = _principal_components(some - mean)
    size = np.sqrt(max(float(variances.sum()), TINY))
    projection = Projection(0, depth, mean.astype(np.float64), directions.astype(np.float64) / size)
    values = np.concatenate([projection([samples.read(chunk)]).astype(np.float32) for chunk in samples.chunks()])
    regressed = directions * variances
    regressed /= np.maximum((directions * regressed).sum(axis=1, keepdims=True), TINY)
    return Projected(projection, values, np.stack([directions, regressed]).astype(np.float32) / np.float32(size))


def project_many_features(features: NDArray[np.float64]) -> Projected:
    """The half-whitened principal components of the features, as for few classes."""
    projection = project_features(features)
    values = projection([features[:0], features]).astype(np.float32)
    return Projected(projection, values, np.zeros((0, 0, values.shape[1]), np.float32))


def _principal_components(centred: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Variances and directions of the largest principal components, the largest first."""
    n_samples, columns = centred.shape
    most = max(1, min(COMPONENTS[-1], columns, n_samples // 2))
    if columns <= n_samples:
        variances, directions = np.linalg.eigh(centred.T @ centred / n_samples)
        return np.maximum(variances[::-1][:most], 0.0), directions[:, ::-1][:, :most]
    variances, scores = np.linalg.eigh(centred @ centred.T / n_samples)
    variances, scores = np.maximum(variances[::-1][:most], TINY), scores[:, ::-1][:, :most]
    return variances, centred.T @ scores / np.sqrt(n_samples * variances)
