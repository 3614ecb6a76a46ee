"""What a classifier gains over a baseline: the estimate, its intervals, and its correction for having been selected."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import ALPHA, sign_flip_p_value

DRAWS = 4_000  # of the posterior
MOST_KINDS = 1_000  # different groups, for draws of the posterior; of more, the interval is a normal approximation
FEW_GROUPS = 30
LEVEL = 1 - 2 * ALPHA  # of every interval: it lies above 0 where the gain is significant


class Comparison(NamedTuple):
    """Errors of a classifier and of a baseline in independent groups of samples, each of which may be a single sample.

    Where the samples have weights, errors are weighted.
    """

    drops: NDArray[np.float64]  # by how much the errors of a group drop
    errors: NDArray[np.float64]  # the baseline's errors in a group
    unit: float = 1.0  # what a typical sample counts

    @classmethod
    def of(
        cls,
        before: NDArray[np.bool_],
        after: NDArray[np.bool_],
        weights: NDArray[np.float64] | None = None,
        groups: NDArray[np.int64] | None = None,
    ) -> Self:
        """From which samples are right before and after."""
        weights = np.ones(len(before)) if weights is None else weights
        drops, errors = weights * (after.astype(np.float64) - before), weights * ~before
        return cls(summed(drops, groups), summed(errors, groups), float(weights.mean()))

    @property
    def total(self) -> float:
        """The baseline's errors; if it makes none, one, so that a gain can be counted in errors."""
        return float(self.errors.sum()) or self.unit

    @property
    def gain(self) -> float:
        """The relative reduction of the baseline's errors."""
        return float(self.drops.sum()) / self.total

    @property
    def z_score(self) -> float:
        """The drop of the errors in units of its standard deviation if signs were random; 0 if nothing changes."""
        size = math.sqrt(float(np.square(self.drops).sum()))
        return float(self.drops.sum()) / size if size > 0 else 0.0

    @property
    def p_value(self) -> float:
        """One-sided, of the hypothesis that errors are not fewer."""
        return sign_flip_p_value(self.drops)

    @property
    def selected_gain(self) -> float:
        """The gain, corrected for having been selected because it looked good: shrunk towards 0 by its uncertainty.

        It is gain * max(0, 1 - 1 / z^2), the positive-part James-Stein estimate for one dimension; 0 for a loss.

        References
        ----------
        B. Efron, "Tweedie's formula and selection bias", Journal of the American Statistical Association 106, 2011.
        """
        z = self.z_score
        return self.gain * max(0.0, 1.0 - 1.0 / z**2) if z > 0 else 0.0

    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The 95 % interval of the true gain, and the range in which the gain on as many new samples will be.

        The first is a credible interval. Each group is a win, a loss, wrong in both or right in both, of some weight;
        the shares of these kinds have the posterior Dirichlet(counts + 1/2) (Jeffreys' prior; with groups that are all
        different, the Bayesian bootstrap of Rubin, 1981). So it has a width even if nothing changed.

        References
        ----------
        D. B. Rubin (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
        """
        pairs, counts = np.unique(np.stack([self.drops, self.errors]), axis=1, return_counts=True)
        if pairs.shape[1] > MOST_KINDS:
            return self._normal_intervals()
        prior = self.unit * np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]])  # win, loss, wrong, right
        pairs, counts = np.hstack([pairs, prior]), np.concatenate([counts.astype(np.float64), np.full(4, 0.5)])
        rng = np.random.default_rng(0)
        shares = rng.gamma(counts, size=(DRAWS, len(counts)))
        shares /= shares.sum(axis=1, keepdims=True)
        new = rng.multinomial(len(self.drops), shares).astype(np.float64)
        true, observed = ((some @ pairs[0]) / np.maximum(some @ pairs[1], 1e-300) for some in (shares, new))
        without_errors = (new @ pairs[1]) == 0
        observed[without_errors] = (new @ pairs[0])[without_errors] / self.unit
        found = _central(true), _central(observed)
        return found if len(self.drops) >= FEW_GROUPS else _joined(found, self._normal_intervals())

    def _normal_intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """By the variance of the linearised ratio (Cochran, Sampling Techniques, 1977, chapter 6), and Student's t."""
        from scipy.stats import t

        count = max(len(self.drops), 2)
        deviation = math.sqrt(float(np.square(self.drops - self.gain * self.errors).sum()) * count / (count - 1))
        near = float(t.ppf((1 + LEVEL) / 2, count - 1)) * deviation / self.total
        far = math.sqrt(2) * near
        return (self.gain - near, self.gain + near), (self.gain - far, self.gain + far)


def promised_gain(
    comparison: Comparison, *, kept_softmax: bool
) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """The gain of a head that predicts, its 95 % interval, and its range on as many new samples.

    If softmax is kept, all of them are 0: that is no estimate, as its predictions are softmax's.
    """
    if kept_softmax:
        return 0.0, (0.0, 0.0), (0.0, 0.0)
    return comparison.selected_gain, *comparison.intervals()


def _joined(
    first: tuple[tuple[float, float], tuple[float, float]], second: tuple[tuple[float, float], tuple[float, float]]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Intervals that hold both: of few groups, the posterior knows too little of how groups differ."""
    (one, two) = ((min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(first, second, strict=True))
    return one, two


def _central(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def summed(values: NDArray[np.float64], groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """The sum of the values of each group; the values themselves if there are no groups."""
    return values if groups is None else np.bincount(groups, values).astype(np.float64)
