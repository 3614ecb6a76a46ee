"""Identical samples: are they copies of one input, or different ones to which the model gives the same scores?

Copies are the same image twice, or a text that several people labelled: evidence from one input. If they were divided
among the folds, a head that has seen one would know the others. Scores that repeat by nature, as the leaves of a tree,
votes and rounded probabilities, are of different inputs, each of which is evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import row_hashes
from aftermax._utils.large import predicted_columns, two_largest
from aftermax._utils.one_logit import LogOddsRange
from aftermax._utils.softmax import softmax

COPIES_AGREE = 0.8  # share of the sets of identical samples with an error in which all labels agree, if they are copies
ENOUGH_SETS = 3  # with an error, to tell copies from scores that repeat by nature
ALIKE, ERRORS_OF_IT = 0.1, 2.0  # intraclass correlation of copies at least, and by how many standard errors above 0
LEAST_ERRING, LEAST_SETS = 10, 3  # sets with an error, and sets for each predicted class, to estimate it
STEPS, RIDGE, LARGEST = 12, 1e-2, 12.0  # of Newton's method, its penalty, and the largest log-odds
MOST_COPIES, MOST_COPIES_SHARE = 5, 0.02  # of one sample, in number or as a share of all, where that cannot be told
HARDLY_ANY, NEARLY_ALL, COLUMNS_LOOKED_AT = 0.1, 0.9, 32  # to tell samples that were drawn again
FEW_SAMPLES = 10  # for each different one in the mean: scores that repeat by nature soon have more
LEAST_STEP, OFF_BY = 1e-4, 0.05  # of rounded scores and shares of votes, and by what part of a step they are off
HALF = 1e-9  # relative error of the logarithms of probabilities in half precision
CERTAIN, FAR = 1e-5, 11.0  # 1 less a probability that single precision hardly tells from 1, and its lead in logarithms
# The log-odds of that probability, and of the one next to 1 in double precision. Where they are clipped is in between.
CERTAIN_ODDS, MOST_ODDS = 11.5, 37.0


def find_copies(
    logits: NDArray[Any],
    codes: NDArray[np.int64],
    features: NDArray[np.float64] | None = None,
    *,
    in_doubt: bool = False,
) -> NDArray[np.int64] | None:
    """A number for each set of identical samples; None if there are none, or if they are not copies.

    Samples are identical if all their logits and features are. Where neither scores nor labels tell whether they are
    copies, they are if ``in_doubt``.
    """
    hashes = row_hashes(logits)
    if features is not None:
        hashes = row_hashes(features, hashes)
    found, sets = np.unique(hashes, return_inverse=True)
    if len(found) == len(hashes):
        return None
    predicted = predicted_columns(logits)
    right = predicted == codes
    if not (_are_of_one_input(sets, logits) or _labels_are_alike(sets, logits, predicted, right)):
        in_doubt = in_doubt or _drawn_again(sets, logits, codes)
        if not _are_copies(sets, right, codes, in_doubt=in_doubt):
            return None
    return np.asarray(sets, dtype=np.int64)


def share_in_sets(sets: NDArray[np.int64]) -> float:
    """The share of samples that are identical to another one."""
    return float(np.mean(np.bincount(sets)[sets] > 1)) if len(sets) else 0.0


# ---- by the scores ---------------------------------------------------------------------------------------------------


def _are_of_one_input(sets: NDArray[np.int64], logits: NDArray[Any]) -> bool:
    """Whether identical samples must be the same input, whatever their labels: an image that several people labelled.

    Then scores are numbers of many digits, which repeat only where whole samples do, and most samples are different.
    Scores that repeat by nature are on a grid, as votes or rounded probabilities, or few, as the leaves of a tree, or
    probabilities so close to 1 that single precision does not tell them apart, or that they are clipped.
    """
    _, first = np.unique(sets, return_index=True)
    if len(sets) > FEW_SAMPLES * len(first) or not _repeat_as_wholes(first, logits):
        return False
    if share_in_sets(sets[~_are_certain(logits)]) < share_in_sets(sets) / 2:
        return False
    return logits.shape[1] > 2 or not _is_rounded(np.asarray(logits[first], dtype=np.float64))


def _are_certain(logits: NDArray[Any]) -> NDArray[np.bool_]:
    """Which samples have logarithms of probabilities, one of them of (almost) 1; or the log-odds of such a one."""
    largest, second = two_largest(logits)
    if _may_be_log_odds(logits):
        return np.asarray(largest - second >= CERTAIN_ODDS)
    return np.asarray((np.abs(largest) <= CERTAIN) & (largest - second >= FAR))


def _may_be_log_odds(logits: NDArray[Any]) -> bool:
    """Whether the two columns are -z / 2 and z / 2, with z no further from 0 than the log-odds of a probability."""
    found = LogOddsRange.of(logits)
    return found is not None and max(-found.low, found.high) <= MOST_ODDS


def _repeat_as_wholes(first: NDArray[np.intp], logits: NDArray[Any]) -> bool:
    """Whether values repeat only where whole samples do; ``first`` is where each different sample comes first."""
    distinct = logits[:, :COLUMNS_LOOKED_AT][first]
    return max(len(np.unique(column)) for column in distinct.T) >= NEARLY_ALL * len(first)


def _is_rounded(logits: NDArray[np.float64]) -> bool:
    """Whether the scores of a binary model are rounded, as logits or probabilities: to few digits or half precision."""
    positive = softmax(logits)[:, 1]
    odds = logits[:, 1] - logits[:, 0]
    return _is_grid(positive) or _is_grid(odds) or _is_half(logits, 0.0) or _is_half(positive, HALF)


def _is_grid(scores: NDArray[np.float64]) -> bool:
    """Whether scores are multiples of a step: rounded to a few digits, or so many votes of all."""
    values = np.unique(np.round(scores, 9))[1:-1]  # the ends may be clipped
    steps = np.diff(values)
    steps = steps[steps >= 0.99 * LEAST_STEP]
    if not len(steps):
        return len(values) < 2
    multiples = values / steps.min()
    return bool(np.mean(np.abs(multiples - np.rint(multiples)) <= OFF_BY) >= NEARLY_ALL)


def _is_half(scores: NDArray[np.float64], error: float) -> bool:
    """Whether scores are numbers in half precision: IEEE's or Google's brain floating point."""
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
        brain = ((single.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
        halves = scores.astype(np.float16), brain
    shares = [np.mean(np.abs(scores - half) <= error * np.abs(scores)) for half in halves]
    return bool(max(shares) >= NEARLY_ALL)


# ---- by the labels ---------------------------------------------------------------------------------------------------


def _labels_are_alike(
    sets: NDArray[np.int64], logits: NDArray[Any], predicted: NDArray[np.int64], right: NDArray[np.bool_]
) -> bool:
    """Whether the labels of identical samples are more alike than their scores explain, as those of one input are.

    The intraclass correlation (Fisher, 1925) of r_i - p_i, where r_i is whether sample i is predicted right, and p_i
    its chance by the lead of the largest score: the mean of (r_i - p_i) (r_j - p_j) over pairs of identical samples,
    divided by the mean of (r_i - p_i)^2. Different samples with the same scores have hardly any, as those with similar
    scores are right as often. The standard error is that of a ratio of sums over sets. Hard decisions, 0 and 1, have
    hardly more sets than classes, some of which are easier than others: they tell nothing.
    """
    largest, second = two_largest(logits)
    rest = right - _chance_by_rank(largest - second, right)
    sizes, sums, squares = np.bincount(sets), np.bincount(sets, rest), np.bincount(sets, rest**2)
    several = sizes > 1
    pairs = (sums[several] ** 2 - squares[several]) / (sizes[several] - 1)
    total = squares[several].sum()
    erring = np.count_nonzero(np.bincount(sets, ~right)[several])
    if erring < LEAST_ERRING or len(sizes) < LEAST_SETS * len(np.unique(predicted)):
        return False
    correlation = pairs.sum() / total
    error = np.sqrt(np.sum((pairs - correlation * squares[several]) ** 2)) / total
    return bool(correlation >= max(ALIKE, ERRORS_OF_IT * error))


def _chance_by_rank(lead: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The chance that a sample is predicted right, by logistic regression on the rank of its lead and the square."""
    _, places, counts = np.unique(lead, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[places] / len(lead)
    columns = np.column_stack([np.ones(len(lead)), 2 * middle - 1, (2 * middle - 1) ** 2])
    weights = np.zeros(3)

    def chance() -> NDArray[np.float64]:
        return np.asarray(1 / (1 + np.exp(-np.clip(columns @ weights, -LARGEST, LARGEST))))

    for _ in range(STEPS):
        current = chance()
        curvature = columns.T @ (columns * (current * (1 - current))[:, None]) + RIDGE * np.eye(3)
        weights = weights + np.linalg.solve(curvature, columns.T @ (right - current) - RIDGE * weights)
    return chance()


def _are_copies(
    sets: NDArray[np.int64], right: NDArray[np.bool_], codes: NDArray[np.int64], *, in_doubt: bool = False
) -> bool:
    """Whether identical samples are copies of each other, and not just samples with the same scores.

    Copies have the same label; samples that a tree or a few votes give the same scores need not. Only sets with an
    error tell the two apart: where the model is right, all labels are the same anyway. With too few of these, large
    sets are hardly copies, or ``in_doubt`` they are; see :func:`_drawn_again`.
    """
    sizes = np.bincount(sets)
    erring = (sizes > 1) & (np.bincount(sets, ~right) > 0)
    if np.count_nonzero(erring) < ENOUGH_SETS:
        return in_doubt or bool(sizes.max() <= max(MOST_COPIES, MOST_COPIES_SHARE * len(sets)))
    low, high = np.full(len(sizes), codes.max()), np.zeros(len(sizes), dtype=np.int64)
    np.minimum.at(low, sets, codes)
    np.maximum.at(high, sets, codes)
    return bool(np.mean((low == high)[erring]) >= COPIES_AGREE)


def _drawn_again(sets: NDArray[np.int64], logits: NDArray[Any], codes: NDArray[np.int64]) -> bool:
    """Whether it looks as if samples of rare classes were drawn several times, to balance the classes.

    Then nearly all samples of some classes have copies, and hardly any of the others; and values repeat only where
    whole samples do. Scores that repeat by nature, as votes, rounded probabilities or the leaves of a tree, do so in
    every class.
    """
    repeated = (np.bincount(sets)[sets] > 1).astype(np.float64)
    shares = np.bincount(codes, repeated)[np.unique(codes)] / np.bincount(codes)[np.unique(codes)]
    if not (shares.min() <= HARDLY_ANY and shares.max() >= NEARLY_ALL):
        return False
    if ((shares > HARDLY_ANY) & (shares < NEARLY_ALL)).any():
        return False
    return _repeat_as_wholes(np.unique(sets, return_index=True)[1], logits)
