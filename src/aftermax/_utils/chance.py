"""Is the accuracy better than chance? If not, the labels may not belong to the samples."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.warned import warn

MIN_SAMPLES = 50  # with fewer, chance and skill cannot be distinguished
Z_ONE_PERCENT = 2.326  # the standard normal distribution's quantile for a one-sided test at 1 %
ROUNDING = 1e-9


def warn_if_by_chance(
    softmax: NDArray[np.int64], predicted: NDArray[np.int64], codes: NDArray[np.int64], n_classes: int
) -> None:
    """Warn if softmax's predictions are no better than chance.

    If a head's out-of-fold predictions are better, the labels do belong to the samples, and only the order of the
    columns is in doubt.
    """
    n_samples, right = len(codes), int(np.count_nonzero(softmax == codes))
    chance, softmax_is_better = _compare_with_chance(softmax, codes, n_classes)
    _, head_is_better = _compare_with_chance(predicted, codes, n_classes)
    if n_samples < MIN_SAMPLES or softmax_is_better:
        return
    check = "check that labels and logits are in the same order, and that the columns are in the order of the classes."
    if head_is_better:
        check = "the head is better, but check that the columns are in the order of the classes."
    warn(
        f"softmax is right on {right:,} of {n_samples:,} samples, no better than chance ({chance:,.0f}): {check}",
        stacklevel=3,
    )


def _compare_with_chance(predicted: NDArray[np.int64], codes: NDArray[np.int64], n_classes: int) -> tuple[float, bool]:
    """Return how many predictions are right by chance, and whether significantly more are: one-sided, at 1 %.

    By chance means that the labels are permuted at random. The expected agreement is that of Cohen's kappa (1960). Its
    variance is that of Hoeffding's (1951) combinatorial central limit theorem: sum_ij a_ij^2 / (n - 1), where a_ij is 1
    if prediction i equals label j and 0 otherwise, with the means of its rows and columns subtracted.

    References
    ----------
    W. Hoeffding (1951). A combinatorial central limit theorem. Annals of Mathematical Statistics 22, 558-566.

    J. Cohen (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, 37-46.
    """
    n_samples, right = len(codes), int(np.count_nonzero(predicted == codes))
    times = (np.bincount(some, minlength=n_classes).tolist() for some in (predicted, codes))
    both = [(p, q) for p, q in zip(*times, strict=True) if p and q]  # how often each class is predicted, and is true
    agree, skew = sum(p * q for p, q in both), sum(p * q * (p + q) for p, q in both)
    # sum_ij a_ij^2, with the sums multiplied out; whole numbers, so that nothing cancels.
    squares = (agree * n_samples**2 - skew * n_samples + agree**2) / n_samples**2
    chance, deviation = agree / n_samples, math.sqrt(squares / (n_samples - 1))
    return chance, right - chance > Z_ONE_PERCENT * deviation + ROUNDING
