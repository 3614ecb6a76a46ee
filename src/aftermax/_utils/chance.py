"""Is the accuracy better than chance? If not, the labels may not belong to the samples."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

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
    warnings.warn(
        f"softmax is right on {right:,} of {n_samples:,} samples, no better than chance ({chance:,.0f}): {check}",
        UserWarning,
        stacklevel=3,
    )


def _compare_with_chance(predicted: NDArray[np.int64], codes: NDArray[np.int64], n_classes: int) -> tuple[float, bool]:
    """Return how many predictions are right by chance, and whether significantly more are: one-sided, at 1 %.

    By chance means that the labels are permuted at random. The expected agreement is that of Cohen's kappa (1960). Its
    variance is that of Hoeffding's (1951) combinatorial central limit theorem: sum_ij d_ij^2 / (n - 1), where d_ij is
    a_ij, 1 if prediction i equals label j and 0 otherwise, with the means of its rows and columns subtracted. That sum
    is sum_ij a_ij^2 - n sum_i r_i^2 - n sum_j c_j^2 + n^2 m^2, by the means r of the rows, c of the columns and m of
    all; as those of a class are equal, it takes no table of pairs of classes.

    References
    ----------
    W. Hoeffding (1951). A combinatorial central limit theorem. Annals of Mathematical Statistics 22, 558-566.

    J. Cohen (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, 37-46.
    """
    n_samples, right = len(codes), int(np.count_nonzero(predicted == codes))
    as_predicted, as_labelled = (
        np.bincount(some, minlength=n_classes).astype(np.float64) for some in (predicted, codes)
    )
    chance = float(as_predicted @ as_labelled) / n_samples
    of_rows = as_predicted @ np.square(as_labelled) / n_samples
    of_columns = as_labelled @ np.square(as_predicted) / n_samples
    squares = float(n_samples * chance - of_rows - of_columns + chance**2)
    deviation = math.sqrt(max(squares, 0.0) / (n_samples - 1))  # rounding may give less than 0
    return chance, right - chance > Z_ONE_PERCENT * deviation + ROUNDING
