"""Two rules compared on the same samples, in the objective asked for: difference, interval and p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.comparison import LEVEL, summed
from aftermax._utils.paired_tests import sign_flip_p_value
from aftermax.decide.objectives import Confusion, Objective, confusion_matrix

DRAWS = 1_000  # of the bootstrap, and of the permutation test
FEW_GROUPS = 30


@dataclass(frozen=True)
class Judged:
    """The samples that decisions are judged on: true classes, weights, and groups that are not independent."""

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]  # their mean is 1
    groups: NDArray[np.int64] | None
    n_classes: int

    def take(self, some: NDArray[np.intp]) -> Judged:
        """Some of the samples."""
        groups = None if self.groups is None else np.unique(self.groups[some], return_inverse=True)[1]
        return Judged(self.codes[some], self.weights[some], groups, self.n_classes)

    def value(self, objective: Objective, decisions: NDArray[np.int64]) -> float:
        """The objective of these decisions."""
        return objective.value(self.confusion(decisions))

    def confusion(self, decisions: NDArray[np.int64]) -> Confusion:
        """The confusion matrix of these decisions."""
        return confusion_matrix(self.codes, decisions, self.weights, self.n_classes)

    def one_of_each(self, objective: Objective, decisions: NDArray[np.int64]) -> float:
        """How far one more sample of each class could move the objective, as a standard deviation."""
        return float(np.linalg.norm(np.ptp(objective.slope(self.confusion(decisions)), axis=1)))


def standard_error(
    objective: Objective, judged: Judged, before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[float, float]:
    """By how much the objective of the decisions after is larger than before, and the standard error of that.

    The error is that of the linearised objective (the infinitesimal jackknife; Efron, 1982), which for costs is that of
    a mean of paired differences.
    """
    changes = _influences(objective, judged, after) - _influences(objective, judged, before)
    by_group = summed(changes, judged.groups)
    difference = judged.value(objective, after) - judged.value(objective, before)
    count = len(by_group)
    return difference, math.sqrt(float(np.square(by_group - by_group.mean()).sum()) * count / max(count - 1, 1))


def _influences(objective: Objective, judged: Judged, decisions: NDArray[np.int64]) -> NDArray[np.float64]:
    slope = objective.slope(judged.confusion(decisions))
    return np.asarray(judged.weights * slope[judged.codes, decisions])


def interval(
    objective: Objective, judged: Judged, before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[float, float]:
    """The paired 95 % interval of the difference, after minus before: groups have Student's t for costs, and else the
    Bayesian bootstrap (Rubin, 1981), joined with Student's t where groups are few."""
    from scipy.stats import t

    difference, error = standard_error(objective, judged, before, after)
    count = _n_groups(judged)
    near = float(t.ppf((1 + LEVEL) / 2, max(count - 1, 1))) * error
    by_error = difference - near, difference + near
    if objective.costs is not None or not np.any(before != after):
        return by_error
    low, high = np.quantile(_bootstrap(objective, judged, before, after), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if count < FEW_GROUPS:
        return min(float(low), by_error[0]), max(float(high), by_error[1])
    return float(low), float(high)


def _n_groups(judged: Judged) -> int:
    return len(judged.codes) if judged.groups is None else int(judged.groups.max()) + 1


def _bootstrap(
    objective: Objective, judged: Judged, before: NDArray[np.int64], after: NDArray[np.int64]
) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    groups = np.arange(len(judged.codes)) if judged.groups is None else judged.groups
    out = np.empty(DRAWS)
    for draw in range(DRAWS):
        weights = judged.weights * rng.exponential(size=_n_groups(judged))[groups]
        one, other = (confusion_matrix(judged.codes, some, weights, judged.n_classes) for some in (after, before))
        out[draw] = objective.value(one) - objective.value(other)
    return out


def better_p_value(objective: Objective, judged: Judged, before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """One-sided p-value of the claim that the decisions after are better.

    If they are not, decisions before and after can be swapped in any group of samples: the difference is compared with
    those of random swaps. For costs, this is the sign-flip test of paired differences.
    """
    if objective.costs is not None:
        costs = objective.costs
        drops = judged.weights * (costs[judged.codes, before] - costs[judged.codes, after])
        return sign_flip_p_value(summed(drops, judged.groups))
    if not np.any(before != after):
        return 1.0
    observed = judged.value(objective, after) - judged.value(objective, before)
    rng = np.random.default_rng(0)
    groups = np.arange(len(judged.codes)) if judged.groups is None else judged.groups
    at_least = 0
    for _ in range(DRAWS):
        swapped = (rng.random(_n_groups(judged)) < 0.5)[groups]
        one, other = np.where(swapped, before, after), np.where(swapped, after, before)
        at_least += judged.value(objective, one) - judged.value(objective, other) >= observed - 1e-12
    return (1 + at_least) / (1 + DRAWS)
