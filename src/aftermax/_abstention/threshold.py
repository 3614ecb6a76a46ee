"""The threshold on certainty: the lowest one for which it is proven that few of the kept samples are wrong.

Samples are kept one by one, the most certain first. After each it is tested whether the error of the kept ones is below
what is acceptable, at the full level, and the first failure ends it (fixed-sequence testing, as in Learn then Test,
Angelopoulos et al. 2021). That the threshold is chosen by looking at the labels costs nothing: the promise is broken
only if the test passes at the first threshold whose true error is too large, and the chance of that is the level. For
this, the true error may cross the limit once as certainty falls, in any way otherwise; its test then has a binomial
count of errors, given how many samples are above the crossing.

The first test is where some errors are allowed for, so that a wrong label among the most certain does not end it.

References
----------
A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan, L. Lei (2021). Learn then test: calibrating predictive
algorithms to achieve risk control. arXiv:2110.01052.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._abstention.bounds import (
    binomial_p_values,
    binomial_upper_bound,
    fewest_samples,
    group_p_value,
    group_upper_bound,
)
from aftermax._abstention.record import Abstention
from aftermax._utils.validation import check_number

CONFIDENCE = 0.95
# The first test allows for as many errors as it can: up to three within half of the samples, more within an eighth.
FEW_ERRORS, SHARE_FOR_FEW, SHARE_FOR_MORE = 3, 1 / 2, 1 / 8
MOST_TESTS = 400  # of samples with groups or weights, each of which takes a while
LEAST = 1e-6  # of max_error: fewer errors than one in a million are not proven with any number of labels
ROUNDING = 1e-6  # of certainty, in single precision and with the exponentials of another library


class Judged(NamedTuple):
    """Out-of-fold predictions, the most certain first: how certain, how wrong, and which belong together."""

    certainty: NDArray[np.float64]
    wrong: NDArray[np.float64]  # the weight of the sample if it is wrong, else 0
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]  # numbered from 0; with one sample in each, if samples stand for themselves
    plain: bool  # whether samples stand for themselves and have no weights

    @property
    def ends(self) -> NDArray[np.intp]:
        """How many samples are at least as certain as each that differs from the next: equals are kept together."""
        return np.flatnonzero(np.append(np.diff(self.certainty) < 0, True)) + 1


def choose_threshold(
    certainty: ArrayLike,
    right: ArrayLike,
    max_error: float,
    *,
    confidence: float = CONFIDENCE,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Abstention:
    """Choose the threshold that keeps most samples, with the error of the kept ones below ``max_error``.

    Parameters
    ----------
    certainty : array-like of shape (n_samples,)
        How certain each out-of-fold prediction is, such as the probability of the predicted class. Only the order
        matters.
    right : array-like of shape (n_samples,)
        Whether each out-of-fold prediction is right.
    max_error : float
        The largest error of the kept samples that is acceptable, between 0 and 1.
    confidence : float, default=0.95
        With which probability, over the draw of the labelled samples, the error of the kept ones is below it.
    groups : array-like of shape (n_samples,), default=None
        Which samples belong together, such as those of one patient: the guarantee then counts groups.
    weights : array-like of shape (n_samples,), default=None
        The weight of each sample; the promise is then about the weighted error.

    Returns
    -------
    Abstention
        The threshold, and what is promised of it.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._abstention.threshold import choose_threshold
    >>> rng = np.random.default_rng(0)
    >>> certainty = rng.uniform(0.5, 1, size=2000)
    >>> right = rng.random(2000) < certainty
    >>> choose_threshold(certainty, right, max_error=0.1)
    Abstention: decides alone: 33.5 % of the samples, of which at most 10 % are wrong (confidence 95 %)
    """
    check_limits(max_error, confidence)
    judged = _judged(certainty, right, groups, weights)
    kept = _most_kept(judged, max_error, confidence)
    wrong, weight = float(judged.wrong[:kept].sum()), float(judged.weights[:kept].sum())
    return Abstention(
        threshold=_just_below(judged.certainty, kept) if kept else math.inf,
        max_error=float(max_error),
        confidence=float(confidence),
        share=weight / float(judged.weights.sum()),
        error=wrong / weight if kept else math.nan,
        upper_bound=_upper_bound(judged, kept, confidence) if kept else math.nan,
        n_kept=kept,
        n_samples=len(judged.wrong),
        n_groups=None if groups is None else int(judged.groups.max()) + 1,
        needed=fewest_samples(max_error, confidence),
        weighted=weights is not None,
    )


def rounded_down(certainty: NDArray[np.float64]) -> NDArray[np.float64]:
    """What single precision cannot tell apart, as near 1, is equally certain: exported heads keep the same samples.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._abstention.threshold import rounded_down
    >>> rounded_down(np.array([0.75, 0.7500004]))
    array([0.75, 0.75])
    """
    return np.floor(certainty / ROUNDING) * ROUNDING


def check_limits(max_error: object, confidence: object = CONFIDENCE) -> None:
    """Refuse a largest error or a confidence that is not between 0 and 1."""
    advice = {
        "max_error": "0.02 means that at most 2 % of the predictions that the head decides alone may be wrong",
        "confidence": "0.95 means that the promise is kept for 95 % of the draws of labelled samples",
    }
    for name, value in (("max_error", max_error), ("confidence", confidence)):
        if not LEAST <= check_number(name, value) < 1.0:
            raise ValueError(f"{name}={value!r} is not possible: choose a number between 0 and 1. {advice[name]}.")


def _judged(certainty: ArrayLike, right: ArrayLike, groups: ArrayLike | None, weights: ArrayLike | None) -> Judged:
    """The samples in order, with those of no weight left out."""
    sure, wrong = np.asarray(certainty, dtype=np.float64), ~np.asarray(right, dtype=bool)
    if sure.ndim != 1 or sure.shape != wrong.shape or not len(sure):
        raise ValueError(
            f"certainty has shape {sure.shape} and right {wrong.shape}: pass one value of each for each sample."
        )
    if not np.isfinite(sure).all():
        raise ValueError(f"certainty holds {sure[~np.isfinite(sure)][0]}: leave out samples that were never held out.")
    together = np.arange(len(sure)) if groups is None else np.asarray(groups)
    heavy = np.ones(len(sure)) if weights is None else np.asarray(weights, dtype=np.float64)
    for name, values in (("groups", together), ("weights", heavy)):
        if values.shape != sure.shape:
            raise ValueError(f"{name} has shape {values.shape}: pass one value for each of the {len(sure)} samples.")
    if not (np.isfinite(heavy) & (heavy >= 0)).all() or not heavy.any():
        raise ValueError("weights must be finite, not negative, and not all zero.")
    counted = np.flatnonzero(heavy > 0)
    order = counted[np.argsort(-sure[counted], kind="stable")]
    numbers = np.unique(together[order], return_inverse=True)[1]
    plain = len(np.unique(numbers)) == len(numbers) and float(np.ptp(heavy[order])) == 0.0
    heavy = np.ones(len(sure)) if plain else heavy
    return Judged(sure[order], (wrong * heavy)[order], heavy[order], numbers, plain)


# ---- the sequence of tests -------------------------------------------------------------------------------------------


def _most_kept(judged: Judged, max_error: float, confidence: float) -> int:
    """How many samples are kept: up to the last test before the first failure."""
    ends = judged.ends
    units = _units(judged)[ends - 1]
    ends = ends[units >= _first_test(judged, float(units[-1]), max_error, confidence)]
    if judged.plain:
        wrong = np.cumsum(judged.wrong)[ends - 1]
        failed = np.flatnonzero(binomial_p_values(wrong, ends, max_error) > 1 - confidence)
        passed = ends[: failed[0]] if len(failed) else ends
        return int(passed[-1]) if len(passed) else 0
    kept = 0
    for end, errors, weights in _group_weights(judged, _thinned(ends)):
        if group_p_value(errors, weights, max_error) > 1 - confidence:
            break
        kept = end
    return kept


def _first_test(judged: Judged, units: float, max_error: float, confidence: float) -> int:
    """How many samples, or groups, are kept at the first test."""
    first, errors = fewest_samples(max_error, confidence), 1
    while True:
        size = fewest_samples(max_error, confidence, errors, grouped=not judged.plain)
        if size > units * (SHARE_FOR_FEW if errors <= FEW_ERRORS else SHARE_FOR_MORE):
            return first
        first, errors = size, errors + 1


def _units(judged: Judged) -> NDArray[np.float64]:
    """How many independent groups there are among the first samples, for each number of these."""
    first = np.unique(judged.groups, return_index=True)[1]
    new = np.zeros(len(judged.groups))
    new[first] = 1.0
    return np.asarray(np.cumsum(new))


def _thinned(ends: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(ends) <= MOST_TESTS:
        return ends
    return ends[np.unique(np.linspace(0, len(ends) - 1, MOST_TESTS).round().astype(np.intp))]


def _group_weights(judged: Judged, ends: NDArray[np.intp]) -> Iterator[tuple[int, float, NDArray[np.float64]]]:
    """For each number of kept samples: the weight of the wrong ones, and that of each group."""
    errors, totals, done = 0.0, np.zeros(int(judged.groups.max()) + 1), 0
    for end in ends.tolist():
        np.add.at(totals, judged.groups[done:end], judged.weights[done:end])
        errors, done = errors + float(judged.wrong[done:end].sum()), end
        yield end, errors, totals[totals > 0]


def _upper_bound(judged: Judged, kept: int, confidence: float) -> float:
    if judged.plain:
        return binomial_upper_bound(int(judged.wrong[:kept].sum()), kept, confidence)
    ((_, errors, weights),) = _group_weights(judged, np.array([kept]))
    return group_upper_bound(errors, weights, confidence)


def _just_below(certainty: NDArray[np.float64], kept: int) -> float:
    """The certainty of the last sample that is kept, less some rounding: another library may compute a little less."""
    last = float(certainty[kept - 1])
    room = ROUNDING if kept == len(certainty) else min(ROUNDING, (last - float(certainty[kept])) / 2)
    return last - room
