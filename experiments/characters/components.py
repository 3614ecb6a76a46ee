"""What the peers see of the scores: their principal components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

COMPONENTS = 512
MOST_SAMPLES = 10_000  # that the components are found on
AT_ONCE = 2_000  # samples, to save memory
LEAST = 1e-6  # of a component's spread, relative to the first

Floats = NDArray[np.float32]


class Components:
    """The first principal components of centred log-scores, half-way to whitened, of unit length.

    The scores of a sample are centred over its classes, and those of a class over the samples. Each component is
    divided by the square root of its standard deviation. The dot product of two samples is the cosine between them.
    """

    def fit(self, logits: Floats) -> Self:
        some = logits[:MOST_SAMPLES]
        some = some - some.mean(axis=1, keepdims=True)
        self._center = some.mean(axis=0)
        _, spreads, axes = randomized_svd(some - self._center, min(COMPONENTS, *some.shape), n_iter=2, random_state=0)
        there = spreads > LEAST * spreads[0]
        self._axes = np.asarray(axes[there].T * np.sqrt(spreads[0] / spreads[there]), dtype=np.float32)
        return self

    def transform(self, logits: Floats) -> Floats:
        return in_parts(self._transform, logits)

    def _transform(self, logits: Floats) -> Floats:
        seen = (logits - logits.mean(axis=1, keepdims=True) - self._center) @ self._axes
        return unit(seen)


def unit(vectors: Floats) -> Floats:
    """Vectors of length 1 in the same directions; zeros stay as they are."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(np.float32).tiny), dtype=np.float32)


def in_parts(work: Callable[[Floats], NDArray[Any]], samples: Floats) -> NDArray[Any]:
    """What ``work`` returns for some samples at a time, joined."""
    return np.concatenate([work(samples[start : start + AT_ONCE]) for start in range(0, len(samples), AT_ONCE)])
