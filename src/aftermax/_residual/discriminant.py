"""The linear discriminant of features: a Gaussian for each class, with one covariance whose ridge is chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.gaussian import GaussianCorrection, log_priors
from aftermax._residual.samples import TINY, Samples
from aftermax._residual.stacking import fit_stacking
from aftermax._utils.multinomial import Scores

RIDGES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)  # times the mean variance within the classes, the strongest first
TOLERANCE = 1e-5


def out_of_fold_discriminant(
    projected: NDArray[np.float64], samples: Samples, logits: Scores
) -> tuple[GaussianCorrection, Scores]:
    """The correction with the ridge that helps the logits most out-of-fold, and out-of-fold scores of each sample."""
    n_classes, codes, weights = logits.shape[1], samples.codes, samples.weights
    folds = samples.inner_folds()
    held_out = [folds == fold for fold in np.unique(folds)]
    parts = [
        _fit_axes(projected[~some], codes[~some], weights[~some], n_classes) for some in held_out if not some.all()
    ]
    best, least, start = RIDGES[0], np.inf, None
    out_of_fold = np.full(logits.shape, -np.log(n_classes))
    for ridge in RIDGES if parts else ():
        scores = np.empty(logits.shape)
        for some, part in zip(held_out, parts, strict=True):
            scores[some] = part.correction(ridge).scores(projected[some])
        start, loss = fit_stacking([logits, scores], codes, weights, biases=False, start=start, tolerance=TOLERANCE)
        if loss >= least:
            break
        best, least, out_of_fold = ridge, loss, scores
    return _fit_axes(projected, codes, weights, n_classes).correction(best), out_of_fold


class _Axes(NamedTuple):
    """Means of the classes, and the principal axes of the covariance within them."""

    means: NDArray[np.float64]  # (K, d)
    log_priors: NDArray[np.float64]  # (K,)
    variances: NDArray[np.float64]  # (d,)
    directions: NDArray[np.float64]  # (d, d)
    floor: float

    def correction(self, ridge: float) -> GaussianCorrection:
        """With a ridge added to the covariance, as a share of its mean variance."""
        added = ridge * self.variances.mean() + TINY
        factor = self.directions / np.sqrt(np.maximum(self.variances, 0.0) + added)
        return GaussianCorrection(self.means @ factor, factor[None], self.log_priors, self.floor)


def _fit_axes(
    projected: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> _Axes:
    """Means are shrunk by one sample at the overall mean."""
    n_samples = len(projected)
    members = np.zeros((n_samples, n_classes))
    members[np.arange(n_samples), codes] = weights
    counts = members.sum(axis=0)
    means = (members.T @ projected + projected.mean(axis=0)) / (counts + 1)[:, None]
    centred = projected - means[codes]
    variances, directions = np.linalg.eigh((centred * weights[:, None]).T @ centred / weights.sum())
    return _Axes(means, log_priors(counts), variances, directions, n_classes / (n_samples + n_classes))
