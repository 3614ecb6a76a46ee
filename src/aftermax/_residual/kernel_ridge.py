"""The kernel corrections: ridge regression of the one-hot labels on RBF kernels, with leave-one-out scores.

The kernels have Nystroem centers: a part of the samples stands for all. Ridge regression has a closed form,
and so has each sample's *leave-one-out* score, which is out-of-fold for nothing more: a whole path of penalties is
judged by the log loss it gives when it is stacked on the logits.

References
----------
C. Williams, M. Seeger, "Using the Nystroem method to speed up kernel machines", NIPS 2000. D. Allen, "The relationship
between variable selection and data augmentation and a method for prediction", Technometrics 16, 1974 (leave-one-out
residuals of ridge regression).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY, Samples
from aftermax._residual.stacking import fit_stacking
from aftermax._utils.folds import Keys, keyed_uniform
from aftermax._utils.multinomial import Scores
from aftermax._utils.softmax import softmax_certainty

GAMMA = 1 / 3  # of the widest kernel, exp(-gamma |z - c|^2); each further one is the cube of the one before it
LEVELS = 3  # widths
WORTH = 0.003  # of the log loss: twice as many centers pay if they lower it by this share
ALIKE = 0.02  # of the log loss: widths that differ by less are about as good
MIN_GROWTH = 2.0  # with fewer times as many centers, none are added
MIN_DOUBT = 0.05  # with which a sample that softmax is certain of is drawn as a center
JITTER = 1e-8  # added to the kernel between centers, whose diagonal is 1
PENALTIES = tuple(10.0**power for power in range(-1, -8, -1))  # the strongest first
PATIENCE = 2  # penalties in a row that do not lower the log loss, before weaker ones are left out
TOLERANCE = 1e-5  # of the log loss that penalties are compared by
MAX_SAMPLES_TO_CHOOSE_ON = 2_000  # samples, to choose a penalty on
KEPT_VALUES = 10_000_000  # of a design matrix, up to which it is computed once
CHUNK = 2_000  # samples


class KernelCorrection(NamedTuple):
    """k(z, centers) @ coefficients + intercepts, an estimate of the probabilities; gamma is GAMMA * 3^level."""

    level: int
    coefficients: NDArray[np.float64]  # (centers, K)
    intercepts: NDArray[np.float64]  # (K,)


def rbf_kernel(projected: NDArray[np.float64], centers: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """The RBF kernel between samples and centers; narrower, the higher the level."""
    squares = np.square(projected).sum(axis=1)[:, None] + np.square(centers).sum(axis=1)
    squares -= 2 * (projected @ centers.T)
    np.maximum(squares, 0.0, out=squares)
    squares *= -GAMMA
    return _narrower(np.exp(squares, out=squares), level)


def _narrower(kernel: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """The widest kernel, cubed ``level`` times."""
    for _ in range(level):
        kernel = kernel * kernel * kernel
    return kernel


def choose_centers(logits: Scores, keys: Keys, salt: int, most: int) -> NDArray[np.intp]:
    """Samples to be Nystroem centers, drawn without replacement: the more uncertain, the likelier.

    Each gets the priority log(u) / weight with u uniform, and the largest are taken (Efraimidis and Spirakis, 2006).
    """
    doubt = 1 - softmax_certainty(logits)
    priorities = np.log(keyed_uniform(keys, salt)) / (doubt + MIN_DOUBT)
    return np.argsort(-priorities, kind="stable")[:most]


def fit_kernels(
    projected: NDArray[np.float64],
    centers: NDArray[np.float64],
    first: int,
    samples: Samples,
    logits: Scores,
    stacked_on: slice,
) -> list[tuple[KernelCorrection, Scores]]:
    """A correction for each kernel width, with the leave-one-out scores of the samples that are ``stacked_on``.

    Each width has the ``first`` so many centers. The one that helps the logits most gets twice as many, and again, as
    long as there are more and that lowers the leave-one-out log loss noticeably. Of widths that are about as good, it
    is the narrowest: more centers help it more.
    """
    fit = partial(_fit_kernel, projected, samples, logits, stacked_on)
    found = [fit(centers[:first], level) for level in range(LEVELS)]
    least = min(one.log_loss for one in found)
    best = max(level for level, one in enumerate(found) if one.log_loss <= (1 + ALIKE) * least)
    count, pays = min(first, len(centers)), True
    while pays and len(centers) >= MIN_GROWTH * count:
        count = min(2 * count, len(centers))
        grown = fit(centers[:count], best)
        pays = grown.log_loss < (1 - WORTH) * found[best].log_loss
        found[best] = min(found[best], grown, key=lambda ridge: ridge.log_loss)
    return [
        (KernelCorrection(level, ridge.coefficients, ridge.intercepts), ridge.out_of_fold)
        for level, ridge in enumerate(found)
    ]


def _fit_kernel(
    projected: NDArray[np.float64],
    samples: Samples,
    logits: Scores,
    stacked_on: slice,
    centers: NDArray[np.float64],
    level: int,
) -> Ridge:
    """Ridge regression on the orthonormal features k(z, centers) @ root of the kernel's space."""
    root = _inverse_square_root(rbf_kernel(centers, centers, level))

    def design(which: Which) -> NDArray[np.float64]:
        return rbf_kernel(projected[which], centers, level) @ root

    if len(projected) * len(centers) <= KEPT_VALUES:
        ridge = fit_ridge(design(slice(None)).__getitem__, samples, logits, stacked_on)
    else:
        ridge = fit_ridge(design, samples, logits, stacked_on)
    return ridge._replace(coefficients=root @ ridge.coefficients)


def _inverse_square_root(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """R with R R^T = kernel^-1. Centers that are alike make it singular, so a little is added to its diagonal."""
    from scipy.linalg import solve_triangular

    identity = np.eye(len(kernel))
    lower = np.linalg.cholesky(kernel + JITTER * identity)
    return np.asarray(solve_triangular(lower, identity, lower=True, check_finite=False).T)


# ---- ridge regression ------------------------------------------------------------------------------------------------


class Ridge(NamedTuple):
    """Coefficients and intercepts of a ridge regression of the one-hot labels, and out-of-fold scores."""

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    out_of_fold: Scores
    log_loss: float  # of the logits and the out-of-fold scores, stacked


Which = slice | NDArray[np.intp]
Design = Callable[[Which], NDArray[np.float64]]  # the columns of the design matrix for some of the samples
Scorer = Callable[[float], Scores]  # the out-of-fold scores of some of the samples for a penalty


def fit_ridge(design: Design, samples: Samples, logits: Scores, stacked_on: slice) -> Ridge:
    """Ridge regression with the penalty that helps the logits most, by leave-one-out log loss.

    The penalties are tried from the strongest to the weakest, each time starting from the stacking found before.
    """
    path = RidgePath(design, samples)
    scorer_of = HeldOutGroups(design, samples).scorer if samples.grouped else path.scorer
    some = slice(None, None, max(1, len(logits) // MAX_SAMPLES_TO_CHOOSE_ON))
    scorer = scorer_of(some)
    best, loss = _best_penalty(scorer, logits[some], samples.codes[some], samples.weights[some])
    if some.step == stacked_on.step:
        out_of_fold = scorer(best)
    else:
        out_of_fold = np.concatenate([scorer_of(part)(best) for part in _chunks(len(logits), stacked_on.step)])
    coefficients = path.axes @ path.coefficients(best)
    return Ridge(coefficients, path.label_mean - path.design_mean @ coefficients, out_of_fold, loss)


def _best_penalty(
    scorer: Scorer, logits: Scores, codes: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """The penalty with the least log loss of logits and out-of-fold scores, stacked, and that loss."""
    best, least, start, worse = PENALTIES[0], np.inf, None, 0
    for penalty in PENALTIES:
        start, loss = fit_stacking(
            [logits, scorer(penalty)], codes, weights, biases=False, start=start, tolerance=TOLERANCE
        )
        best, least, worse = (penalty, loss, 0) if loss < least else (best, least, worse + 1)
        if worse == PATIENCE:
            break
    return best, least


class RidgePath:
    """Weighted ridge regression for every penalty at once, from one eigendecomposition of the Gram matrix.

    With the centred design X, centred one-hot labels Y and weights W, X^T W X / n = V diag(e) V^T,
    and the coefficients in the rotated basis are (V^T X^T W Y / n) / (e + penalty).
    """

    def __init__(self, design: Design, samples: Samples) -> None:
        n_samples, n_classes = samples.logits.shape
        self.design, columns = design, design(slice(1)).shape[1]
        self.shares = samples.weights / n_samples
        self.codes = samples.codes
        self.label_mean = np.bincount(samples.codes, self.shares, minlength=n_classes)
        self.design_mean = np.zeros(columns)
        gram, moments = np.zeros((columns, columns)), np.zeros((columns, n_classes))
        for some in _chunks(n_samples):
            values = design(some)
            weighted = values * self.shares[some, None]
            self.design_mean += weighted.sum(axis=0)
            gram += values.T @ weighted
            moments += weighted.T @ self._centred_labels(some)
        gram -= np.outer(self.design_mean, self.design_mean)  # the labels are centred, so the moments are as well
        eigenvalues, eigenvectors = np.linalg.eigh(gram)
        kept = eigenvalues > TINY * eigenvalues[-1]
        self.eigenvalues, self.axes = eigenvalues[kept], eigenvectors[:, kept]
        self.moments = self.axes.T @ moments

    def _centred_labels(self, which: slice) -> Scores:
        """One-hot labels, less their mean."""
        codes = self.codes[which]
        labels: Scores = np.tile(-self.label_mean, (len(codes), 1))
        labels[np.arange(len(codes)), codes] += 1.0
        return labels

    def coefficients(self, penalty: float) -> NDArray[np.float64]:
        """In the rotated basis."""
        return np.asarray(self.moments / (self.eigenvalues + penalty)[:, None])

    def rotated(self, design: NDArray[np.float64]) -> NDArray[np.float64]:
        """The design of some samples, in the rotated basis."""
        return np.asarray((design - self.design_mean) @ self.axes)

    def scorer(self, which: slice) -> Scorer:
        """The scores of some samples, each by a regression without that sample (leave-one-out).

        The leave-one-out residual is the residual / (1 - h), where h is the sample's leverage: the diagonal of the hat
        matrix, which here includes the intercept (+ 1).
        """
        rotated, labels = self.rotated(self.design(which)), self._centred_labels(which)
        squares = np.square(rotated)

        def leave_one_out(penalty: float) -> Scores:
            leverage = self.shares[which] * (squares @ (1 / (self.eigenvalues + penalty)) + 1)
            residuals = labels - rotated @ self.coefficients(penalty)
            residuals /= np.maximum(1 - leverage, 1e-6)[:, None]
            return np.asarray(labels - residuals + self.label_mean)

        return leave_one_out


class HeldOutGroups:
    """Ridge regressions without each of a few folds that keep samples together which belong together.

    Leave-one-out would leave the sample's own group in, and choose a penalty that learns groups by heart.
    """

    def __init__(self, design: Design, samples: Samples) -> None:
        self.design, self.folds = design, samples.inner_folds()
        self.n_classes = samples.logits.shape[1]
        self.paths = {}
        for fold in np.unique(self.folds):
            others = np.flatnonzero(self.folds != fold)
            if len(others):
                self.paths[fold] = RidgePath(partial(_of_others, design, others), samples.take(others))

    def scorer(self, which: slice) -> Scorer:
        """The scores of some samples, each by a regression without its fold."""
        positions = np.arange(len(self.folds))[which]
        held_out = {fold: np.flatnonzero(self.folds[positions] == fold) for fold in self.paths}
        rotated = {
            fold: self.paths[fold].rotated(self.design(positions[rows])) for fold, rows in held_out.items() if len(rows)
        }

        def out_of_fold(penalty: float) -> Scores:
            out = np.full((len(positions), self.n_classes), 1 / self.n_classes)
            for fold, values in rotated.items():
                path = self.paths[fold]
                out[held_out[fold]] = values @ path.coefficients(penalty) + path.label_mean
            return out

        return out_of_fold


def _of_others(design: Design, others: NDArray[np.intp], which: Which) -> NDArray[np.float64]:
    return design(others[which])


def _chunks(n_samples: int, step: int = 1) -> list[slice]:
    """Every sample, or every ``step``-th, some at a time."""
    return [slice(first, first + CHUNK * step, step) for first in range(0, n_samples, CHUNK * step)]
