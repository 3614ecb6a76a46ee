"""Stacking for many classes: a weight for each base score, and biases that classes with few labels share.

A class without a label, with one and with two labels each has a bias of its own kind, ``by_count``: how much less, or
more, such a class is right than its scores say. These are fitted on out-of-fold scores, in which some classes of the
held-out samples have no label left, as some classes of new samples have none. So a class that nobody has labelled
keeps the chance that such classes have. Other classes have biases of their own, shrunk by empirical Bayes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY
from aftermax._residual.stacking import BIAS_PRIOR, BIAS_PRIORS, CORRECTION_PRIOR
from aftermax._utils.multinomial import platt_smoothing

FEW = 3  # classes with fewer labels share a bias
COUNT_PRIOR = 0.5  # of these biases: 1 / (2 * prior) is their variance
MAX_STEPS, MAX_HALVINGS, TOLERANCE = 60, 12, 1e-6
# By how much a step of Newton's method may change the scores, in standard deviations within a sample: a longer one may
# end where probabilities are 0 or 1, and nothing tells the way back.
LONGEST_STEP = 2.0
ROUNDS = 3  # of fitting the weights and the biases of single classes
LARGEST_STEP = 1.0  # of a bias

Base = NDArray[np.float32]  # (n_samples, K), out-of-fold


class ManyStacking(NamedTuple):
    """scores = sum_m weights_m * base_m + by_count[number of labels] + biases."""

    weights: NDArray[np.float64]
    by_count: NDArray[np.float64]  # (FEW + 1,); the last is 0
    biases: NDArray[np.float64]  # (K,); 0 for classes without labels

    def class_biases(self, label_counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The biases of classes with so many labels."""
        return np.asarray(self.biases + self.by_count[np.minimum(label_counts, FEW)])


class StackingSamples(NamedTuple):
    """What a stacking is fitted on: samples in the order of their folds.

    ``label_counts`` are those of the classes in the samples outside of each fold, of shape (folds, K).
    """

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    folds: NDArray[np.int64]
    label_counts: NDArray[np.int64]

    def by_fold(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """The samples of each fold, and which of the shared biases each class has in it."""
        for fold, counts in enumerate(self.label_counts):
            first, last = np.searchsorted(self.folds, [fold, fold + 1])
            yield slice(int(first), int(last)), np.minimum(counts, FEW)

    def take(self, which: NDArray[np.intp]) -> StackingSamples:
        """Some of the samples, in the same order."""
        return StackingSamples(self.codes[which], self.weights[which], self.folds[which], self.label_counts)


def fit_many_stacking(
    bases: Sequence[Base], samples: StackingSamples, *, by_count: bool = True, biases: bool = True
) -> tuple[ManyStacking, float]:
    """The stacking with the least penalised log loss, and that loss."""
    problem = _Problem(bases, samples, by_count)
    n_classes = bases[0].shape[1]
    theta = np.zeros(len(bases) + FEW)
    theta[0] = 1.0
    of_classes, prior = np.zeros(n_classes), BIAS_PRIOR
    theta, loss = problem.solve(theta, of_classes)
    for _ in range(ROUNDS if biases else 0):
        of_classes, prior = problem.moved_biases(theta, of_classes, prior)
        theta, loss = problem.solve(theta, of_classes)
    shared = np.append(theta[len(bases) :], 0.0)
    return ManyStacking(theta[: len(bases)], shared, of_classes), loss


class _Problem:
    """The penalised log loss as a function of weights and shared biases (theta), minimised by Newton's method."""

    def __init__(self, bases: Sequence[Base], samples: StackingSamples, by_count: bool) -> None:
        self.bases, self.samples = list(bases), samples
        self.count = len(bases)
        n_samples, self.n_classes = bases[0].shape
        self.shares = samples.weights / samples.weights.sum()
        self.smoothing = platt_smoothing(n_samples)
        self.spreads = np.array([*(np.sqrt(np.mean(base.var(axis=1))) for base in self.bases), *[1.0] * FEW])
        self.penalties = np.append(CORRECTION_PRIOR / n_samples * self.spreads[: self.count], np.zeros(FEW))
        self.penalties[0] = 0.0
        self.free = np.ones(self.count + FEW, dtype=bool)
        self.free[self.count :] = by_count & (samples.label_counts.min(initial=FEW) < FEW)
        self.targets = self._targets()

    def _targets(self) -> NDArray[np.float64]:
        """What the expected values of base scores and kinds of classes should be, for each sample."""
        chosen = np.arange(len(self.samples.codes)), self.samples.codes
        right = [base[chosen].astype(np.float64) for base in self.bases]
        uniform = [base.mean(axis=1, dtype=np.float64) for base in self.bases]
        kinds, shares = np.zeros((FEW, len(chosen[0]))), np.zeros((FEW, len(chosen[0])))
        for some, kind in self.samples.by_fold():
            for number in range(FEW):
                kinds[number, some] = kind[self.samples.codes[some]] == number
                shares[number, some] = np.mean(kind == number)
        return (1 - self.smoothing) * np.array([*right, *kinds]) + self.smoothing * np.array([*uniform, *shares])

    def solve(self, theta: NDArray[np.float64], of_classes: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """The best theta; weights of corrections are not negative (projected Newton method)."""
        loss, probabilities = self._loss(theta, of_classes)
        for _ in range(MAX_STEPS):
            gradient, hessian = self._derivatives(theta, probabilities)
            free = self.free.copy()
            free[: self.count] &= (theta[: self.count] > 0) | (gradient[: self.count] < 0)
            step = np.zeros(len(theta))
            step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            if -(gradient @ step) / 2 <= TOLERANCE * abs(loss):
                break
            step *= min(1.0, LONGEST_STEP / float(np.abs(step * self.spreads).max()))
            for halvings in range(MAX_HALVINGS):
                moved = theta + step / 2**halvings
                moved[: self.count] = np.maximum(moved[: self.count], 0.0)
                lower, after = self._loss(moved, of_classes)
                if lower < loss:
                    break
            else:
                break
            theta, loss, probabilities = moved, lower, after
        return theta, loss

    def _loss(self, theta: NDArray[np.float64], of_classes: NDArray[np.float64]) -> tuple[float, Base]:
        scores = self.bases[0] * np.float32(theta[0])
        for base, weight in zip(self.bases[1:], theta[1:], strict=False):
            if weight:
                scores += np.float32(weight) * base
        shared = np.append(theta[self.count :], 0.0)
        for some, kind in self.samples.by_fold():
            scores[some] += (of_classes + shared[kind]).astype(np.float32)
        scores -= scores.max(axis=1, keepdims=True)
        # The mean score by which the target is reached: that of the true class, smoothed.
        reached = scores[np.arange(len(scores)), self.samples.codes] * (1 - self.smoothing)
        reached = reached + self.smoothing * scores.mean(axis=1, dtype=np.float64)
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1, dtype=np.float64)
        loss = float(self.shares @ (np.log(totals) - reached)) + float(self.penalties @ theta)
        loss += COUNT_PRIOR / len(scores) * float(np.square(theta[self.count :]).sum())
        scores /= totals[:, None].astype(np.float32)
        return loss, scores

    def _derivatives(
        self, theta: NDArray[np.float64], probabilities: Base
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Gradient and Hessian by theta: expected values less targets, and covariances."""
        expected = np.zeros((self.count + FEW, len(probabilities)))
        second = np.zeros((self.count + FEW, self.count + FEW))
        for number, base in enumerate(self.bases):
            weighted = probabilities * base
            expected[number] = weighted.sum(axis=1, dtype=np.float64)
            for other in range(number + 1):
                products = np.einsum("nk,nk->n", weighted, self.bases[other])
                second[number, other] = second[other, number] = self.shares @ products
            for some, kind in self.samples.by_fold():
                by_kind = weighted[some] @ _indicators(kind)
                second[number, self.count :] += self.shares[some] @ by_kind
        second[self.count :, : self.count] = second[: self.count, self.count :].T
        for some, kind in self.samples.by_fold():
            expected[self.count :, some] = (probabilities[some] @ _indicators(kind)).T
        by_count = expected[self.count :] @ self.shares
        second[range(self.count, len(second)), range(self.count, len(second))] += by_count
        gradient = (expected - self.targets) @ self.shares + self.penalties
        hessian = second - (expected * self.shares) @ expected.T
        curvature = 2 * COUNT_PRIOR / len(probabilities)
        gradient[self.count :] += curvature * theta[self.count :]
        hessian[np.diag_indices(len(hessian))] += TINY + 1e-10 * np.diag(second)
        hessian[range(self.count, len(hessian)), range(self.count, len(hessian))] += curvature
        return gradient, hessian

    def moved_biases(
        self, theta: NDArray[np.float64], of_classes: NDArray[np.float64], prior: float
    ) -> tuple[NDArray[np.float64], float]:
        """The biases of single classes after one step, each on its own, and their prior, estimated from them."""
        _, probabilities = self._loss(theta, of_classes)
        n_samples = len(probabilities)
        expected = self.shares.astype(np.float32) @ probabilities
        observed = np.bincount(self.samples.codes, self.shares, minlength=self.n_classes)
        labelled = self.samples.label_counts.max(axis=0) > 0
        strength = 2 * prior / n_samples
        step = (observed - expected - strength * of_classes) / (expected + strength)
        moved = of_classes + np.where(labelled, np.clip(step, -LARGEST_STEP, LARGEST_STEP), 0.0)
        square = float(np.sum((np.square(moved) + 1 / (n_samples * expected + 2 * prior))[labelled]))
        return moved, float(np.clip(np.count_nonzero(labelled) / (2 * max(square, TINY)), *BIAS_PRIORS))


def _indicators(kind: NDArray[np.int64]) -> NDArray[np.float32]:
    """For each class, which of the shared biases it has."""
    return np.asarray(kind[:, None] == np.arange(FEW), dtype=np.float32)
