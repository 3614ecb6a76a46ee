"""The kernel corrections: ridge regression of the one-hot labels on RBF kernels, with leave-one-out scores.

The kernels have Nystroem centers: a few of the samples, at most 600, stand for all. Ridge regression has a closed form,
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
CENTERS = (300, 600, 600)  # of the kernels, from the widest to the narrowest
MIN_DOUBT = 0.05  # with which a sample that softmax is certain of is drawn as a center
PENALTIES = tuple(10.0**power for power in range(0, -8, -1))  # the strongest first
MAX_SAMPLES_TO_CHOOSE_ON = 2_000  # samples, to choose a penalty on
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


def choose_centers(logits: Scores, keys: Keys, salt: int) -> NDArray[np.intp]:
    """Samples to be Nystroem centers, drawn without replacement: the more uncertain, the likelier.

    Each gets the priority log(u) / weight with u uniform, and the largest are taken (Efraimidis and Spirakis, 2006).
    """
    doubt = 1 - softmax_certainty(logits)
    priorities = np.log(keyed_uniform(keys, salt)) / (doubt + MIN_DOUBT)
    return np.argsort(-priorities, kind="stable")[: CENTERS[-1]]


def fit_kernels(
    projected: NDArray[np.float64], centers: NDArray[np.float64], samples: Samples, logits: Scores, stacked_on: slice
) -> list[tuple[KernelCorrection, Scores]]:
    """A correction for each kernel width, with the leave-one-out scores of the samples that are ``stacked_on``."""
    found = []
    between_centers = rbf_kernel(centers, centers, 0)
    for level, count in enumerate(CENTERS):
        some = centers[:count]
        root = _inverse_square_root(_narrower(between_centers[:count, :count], level))
        ridge = fit_ridge(partial(_kernel_of, projected, some, level), root, samples, logits, stacked_on)
        found.append((KernelCorrection(level, ridge.coefficients, ridge.intercepts), ridge.out_of_fold))
    return found


def _kernel_of(
    projected: NDArray[np.float64], centers: NDArray[np.float64], level: int, which: Which
) -> NDArray[np.float64]:
    return rbf_kernel(projected[which], centers, level)


def _inverse_square_root(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """R with R R^T = pinv(kernel): the columns of k(., centers) @ R are orthonormal features of the kernel's space."""
    eigenvalues, eigenvectors = np.linalg.eigh(kernel)
    kept = eigenvalues > 1e-10 * eigenvalues[-1]
    return np.asarray(eigenvectors[:, kept] / np.sqrt(eigenvalues[kept]))


# ---- ridge regression ------------------------------------------------------------------------------------------------


class Ridge(NamedTuple):
    """Coefficients and intercepts of a ridge regression of the one-hot labels, and out-of-fold scores."""

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    out_of_fold: Scores


Which = slice | NDArray[np.intp]
Design = Callable[[Which], NDArray[np.float64]]  # the columns of the design matrix for some of the samples
Scorer = Callable[[float], Scores]  # the out-of-fold scores of some of the samples for a penalty


def fit_ridge(design: Design, root: NDArray[np.float64], samples: Samples, logits: Scores, stacked_on: slice) -> Ridge:
    """Ridge regression with the penalty that helps the logits most, by leave-one-out log loss.

    ``design @ root`` has columns whose coefficients are penalised alike. The penalties are tried from the strongest to
    the weakest, each time starting from the stacking found before.
    """
    path = RidgePath(design, samples, root)
    scorer_of = HeldOutGroups(design, samples, root).scorer if samples.grouped else path.scorer
    some = slice(None, None, max(1, len(logits) // MAX_SAMPLES_TO_CHOOSE_ON))
    scorer = scorer_of(some)
    best, least, start = PENALTIES[0], np.inf, None
    for penalty in PENALTIES:
        base_scores = [logits[some], scorer(penalty)]
        start, loss = fit_stacking(base_scores, samples.codes[some], samples.weights[some], biases=False, start=start)
        if loss < least:
            best, least = penalty, loss
    out_of_fold = np.concatenate([scorer_of(part)(best) for part in _chunks(len(logits), stacked_on.step)])
    coefficients = path.axes @ path.coefficients(best)
    return Ridge(coefficients, path.label_mean - path.design_mean @ coefficients, out_of_fold)


class RidgePath:
    """Weighted ridge regression for every penalty at once, from one eigendecomposition of the Gram matrix.

    With the centred design X (times the root), centred one-hot labels Y and weights W, X^T W X / n = V diag(e) V^T,
    and the coefficients in the rotated basis are (V^T X^T W Y / n) / (e + penalty).
    """

    def __init__(self, design: Design, samples: Samples, root: NDArray[np.float64]) -> None:
        n_samples, n_classes = samples.logits.shape
        self.design = design
        self.shares = samples.weights / n_samples
        self.codes = samples.codes
        self.label_mean = np.bincount(samples.codes, self.shares, minlength=n_classes)
        self.design_mean = np.zeros(len(root))
        gram, moments = np.zeros((len(root), len(root))), np.zeros((len(root), n_classes))
        for some in _chunks(n_samples):
            columns = design(some)
            weighted = columns * self.shares[some, None]
            self.design_mean += weighted.sum(axis=0)
            gram += columns.T @ weighted
            moments += weighted.T @ self._centred_labels(some)
        gram -= np.outer(self.design_mean, self.design_mean)  # the labels are centred, so the moments are as well
        eigenvalues, eigenvectors = np.linalg.eigh(root.T @ gram @ root)
        kept = eigenvalues > TINY * eigenvalues[-1]
        self.eigenvalues, self.axes = eigenvalues[kept], root @ eigenvectors[:, kept]
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

    def __init__(self, design: Design, samples: Samples, root: NDArray[np.float64]) -> None:
        self.design, self.folds = design, samples.inner_folds()
        self.n_classes = samples.logits.shape[1]
        self.paths = {}
        for fold in np.unique(self.folds):
            others = np.flatnonzero(self.folds != fold)
            if len(others):
                self.paths[fold] = RidgePath(partial(_of_others, design, others), samples.take(others), root)

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
