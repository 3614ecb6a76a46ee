"""The Gaussian correction: discriminant analysis with shrunk covariances.

It is what the response array of SPH would be if its units could correlate: one multivariate normal distribution for
each class instead of K x K univariate ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY, Samples
from aftermax._utils.multinomial import Scores

OWN_COVARIANCES = 50  # with more classes than this, all share one covariance


class GaussianCorrection(NamedTuple):
    """The classes' log-posteriors log p(k | z) if z is normally distributed in each class.

    With the factor F_k of the inverse covariance, F_k F_k^T = S_k^-1, the log-density of class k is, up to a constant,
    log |F_k| - |F_k^T z - F_k^T mu_k|^2 / 2.

    References
    ----------
    J. Friedman, "Regularized discriminant analysis", Journal of the American Statistical Association 84, 1989.
    """

    means: NDArray[np.float64]  # (K, d): F_k^T mu_k
    factors: NDArray[np.float64]  # (1 or K, d, d): F_k; one of them if all classes share it
    intercepts: NDArray[np.float64]  # (K,): log prior + log |F_k|; -inf for a class without samples
    floor: float  # the share of the probability that is spread evenly over the classes

    def scores(self, projected: NDArray[np.float64]) -> Scores:
        """Log-posteriors of the classes, of shape (n_samples, K)."""
        n_classes, (covariances, dimensions, _) = len(self.intercepts), self.factors.shape
        out = np.empty((len(projected), n_classes))
        if covariances == 1:  # the quadratic term is the same for all classes, and drops out
            out[:] = projected @ (self.factors[0] @ self.means.T)
            out += self.intercepts - np.square(self.means).sum(axis=1) / 2
        else:
            side_by_side = self.factors.transpose(1, 0, 2).reshape(dimensions, -1)
            whitened = projected @ side_by_side - self.means.ravel()
            np.square(whitened, out=whitened)
            out[:] = whitened @ np.repeat(np.eye(n_classes) / -2, dimensions, axis=0) + self.intercepts
        out -= out.max(axis=1, keepdims=True)
        np.exp(out, out=out)
        out *= (1 - self.floor) / out.sum(axis=1, keepdims=True)
        out += self.floor / n_classes
        return np.asarray(np.log(out, out=out))


def fit_gaussian(
    projected: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> GaussianCorrection:
    """Fit means and covariances of the classes.

    A class with n_k samples in d dimensions has the covariance w S_k + (1 - w) S, where w = n_k / (n_k + d), S_k is its
    own and S the pooled one; plus a ridge of a thousandth of the mean variance. Its mean is shrunk by one sample at
    the overall mean.
    """
    n_samples, dimensions = projected.shape
    members = np.zeros((n_samples, n_classes))
    members[np.arange(n_samples), codes] = weights
    counts = members.sum(axis=0)
    means = (members.T @ projected + projected.mean(axis=0)) / (counts + 1)[:, None]
    centred = projected - means[codes]
    pooled = (centred * weights[:, None]).T @ centred / n_samples
    ridge = (1e-3 * np.trace(pooled) / dimensions + TINY) * np.eye(dimensions)
    covariances = [pooled] if n_classes > OWN_COVARIANCES else _own_covariances(centred, codes, weights, counts, pooled)
    factors = np.array([np.linalg.inv(np.linalg.cholesky(covariance + ridge)).T for covariance in covariances])
    log_determinants = np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)
    of_each = np.broadcast_to(factors, (n_classes, dimensions, dimensions))
    whitened_means = np.einsum("kd,kde->ke", means, of_each)
    return GaussianCorrection(
        whitened_means, factors, log_priors(counts) + log_determinants, n_classes / (n_samples + n_classes)
    )


def log_priors(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithms of the classes' shares; minus infinity for a class without samples."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(counts / counts.sum()))


def _own_covariances(
    centred: NDArray[np.float64],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    pooled: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    """The covariance of each class, shrunk towards the pooled one."""
    out = []
    for k, count in enumerate(counts):
        own = (centred[codes == k] * weights[codes == k, None]).T @ centred[codes == k]
        share = count / (count + centred.shape[1])
        out.append(share * own / max(count, TINY) + (1 - share) * pooled)
    return out


def out_of_fold_gaussian(projected: NDArray[np.float64], samples: Samples) -> tuple[GaussianCorrection, Scores]:
    """The correction fitted on all samples, and out-of-fold scores of each, by five folds."""
    n_classes, codes, weights = samples.logits.shape[1], samples.codes, samples.weights
    out = np.full((len(projected), n_classes), -np.log(n_classes))
    folds = samples.inner_folds()
    for fold in np.unique(folds):
        others, held_out = folds != fold, folds == fold
        if not others.any():  # no other to be scored by
            break
        part = fit_gaussian(projected[others], codes[others], weights[others], n_classes)
        out[held_out] = part.scores(projected[held_out])
    return fit_gaussian(projected, codes, weights, n_classes), out
