"""A linear discriminant with a shrunk covariance that all classes share, and class means that borrow from each other.

With class means m_k and the covariance S within classes, the score of class k is z' W m_k - m_k' W m_k / 2, where
W is the inverse of (1 - ridge) S + ridge * tr(S) / d * I. A class mean is shrunk towards what is expected of a class
that has no labels yet: of the logits, a multiple of the class's own unit vector, and one of the regression of all
logits on that unit; of features, the mean of all. Ridge, shrinkage and the number of principal components are chosen by
the out-of-fold log loss.

References
----------
J. H. Friedman, "Regularized discriminant analysis", Journal of the American Statistical Association 84, 1989.
C. N. Morris, "Parametric empirical Bayes inference: theory and applications", Journal of the American Statistical
Association 78, 1983 (why means are shrunk towards a regression).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from aftermax._residual.samples import TINY

COMPONENTS = (64, 256, 1_024)
RIDGES = (0.03, 0.3)
LEAST_VARIANCE = 1e-3  # within classes, of that of all samples: a handful of samples may have none
ALL = slice(None)
PRIOR_SAMPLES = (0.5, 3.0)  # how many samples the expected mean counts for


class Settings(NamedTuple):
    """The hyperparameters of a discriminant."""

    components: int
    ridge: float
    prior_samples: float


def settings_for(dimensions: int) -> Iterator[Settings]:
    """All combinations, for an input with so many principal components."""
    sizes = sorted({min(size, dimensions) for size in COMPONENTS})
    return (Settings(size, ridge, prior) for size in sizes for ridge in RIDGES for prior in PRIOR_SAMPLES)


class Discriminant(NamedTuple):
    """scores = z @ slopes + intercepts."""

    slopes: NDArray[np.float32]  # (components, K)
    intercepts: NDArray[np.float32]  # (K,)

    def scores(self, projected: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of each sample and class."""
        return np.asarray(projected[:, : len(self.slopes)] @ self.slopes + self.intercepts)


class Moments(NamedTuple):
    """Sums over samples. Those of two sets of samples add up, and those of a part can be taken away."""

    counts: NDArray[np.float32]  # (K,): total weights
    sums: NDArray[np.float32]  # (K, d)
    squares: NDArray[np.float32]  # (d, d)

    @classmethod
    def of(
        cls, projected: NDArray[np.float32], codes: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
    ) -> Moments:
        """Of these samples."""
        single = weights.astype(np.float32)
        members = csr_array((single, (codes, np.arange(len(codes)))), (n_classes, len(codes)))
        counts = np.bincount(codes, weights, minlength=n_classes).astype(np.float32)
        squares = np.asarray((projected * single[:, None]).T @ projected, dtype=np.float32)
        return cls(counts, np.asarray(members @ projected), squares)

    def without(self, part: Moments) -> Moments:
        """Those of the other samples."""
        return Moments(self.counts - part.counts, self.sums - part.sums, self.squares - part.squares)

    def covariance_within(self, components: int) -> NDArray[np.float64]:
        """The covariance within classes, of the first components."""
        labelled = self.counts > TINY
        means = self.sums[labelled, :components] / self.counts[labelled, None]
        scatter = self.squares[:components, :components] - (means * self.counts[labelled, None]).T @ means
        free = max(float(self.counts.sum()) - np.count_nonzero(labelled), 1.0)
        return np.asarray(scatter / free, dtype=np.float64)

    def means(self, patterns: NDArray[np.float32], components: int, prior_samples: float) -> NDArray[np.float32]:
        """Class means, shrunk towards the multiples of the patterns that fit them best."""
        sums, some = self.sums[:, :components], patterns[:, :, :components]
        expected = np.zeros_like(sums)
        if len(some):
            flat = some.reshape(len(some), -1)
            gram = (flat * np.repeat(self.counts, components)) @ flat.T
            fitted = np.linalg.lstsq(gram, flat @ sums.ravel(), rcond=1e-6)[0]
            expected = np.tensordot(fitted.astype(np.float32), some, 1)
        return np.asarray((sums + prior_samples * expected) / (self.counts + prior_samples)[:, None])


def fit_discriminant(moments: Moments, patterns: NDArray[np.float32], settings: Settings) -> Discriminant:
    """The discriminant of samples with these moments.

    ``patterns``, of shape (patterns, K, d), are what the mean of a class without labels may be a multiple of.
    """
    size, ridge, prior_samples = settings
    covariance = moments.covariance_within(size)
    target = max(float(np.trace(covariance)), LEAST_VARIANCE) / size
    shrunk = (1 - ridge) * covariance + ridge * target * np.eye(size)
    means = moments.means(patterns, size, prior_samples)
    slopes = np.linalg.solve(shrunk, means.T.astype(np.float64)).astype(np.float32)
    return Discriminant(slopes, -np.einsum("kd,dk->k", means, slopes) / 2)


def out_of_fold(
    projected: NDArray[np.float32],
    folds: NDArray[np.int64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    patterns: NDArray[np.float32],
    wanted: NDArray[np.intp],
    n_classes: int,
) -> OutOfFoldDiscriminants:
    """What out-of-fold scores of the ``wanted`` samples are computed from."""
    parts = [
        Moments.of(projected[folds == fold], codes[folds == fold], weights[folds == fold], n_classes)
        for fold in range(int(folds.max()) + 1)
    ]
    whole = Moments(*(np.sum(values, axis=0) for values in zip(*parts, strict=True)))
    return OutOfFoldDiscriminants(projected[wanted], folds[wanted], parts, whole, patterns)


class OutOfFoldDiscriminants(NamedTuple):
    """The moments of each fold and of all samples, and the projected samples whose scores are wanted."""

    projected: NDArray[np.float32]
    folds: NDArray[np.int64]
    parts: list[Moments]
    whole: Moments
    patterns: NDArray[np.float32]

    def scores(self, settings: Settings, which: NDArray[np.intp] | slice = ALL) -> NDArray[np.float32]:
        """The out-of-fold scores of the wanted samples, or of some of them."""
        projected, folds = self.projected[which], self.folds[which]
        out = np.empty((len(folds), len(self.whole.counts)), np.float32)
        for fold, part in enumerate(self.parts):
            held_out = folds == fold
            if held_out.any():
                fitted = fit_discriminant(self.whole.without(part), self.patterns, settings)
                out[held_out] = fitted.scores(projected[held_out])
        return out

    def fitted(self, settings: Settings) -> Discriminant:
        """The discriminant of all samples."""
        return fit_discriminant(self.whole, self.patterns, settings)
