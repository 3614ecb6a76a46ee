"""The compiled inner loops, and only those. Importing this module imports numba, so import it on first use only.

Every kernel works on contiguous float64 arrays, without fast-math. Those that threads share fill arrays that the caller
allocated, for the classes or units from ``first`` up to ``last``.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.compiled import compiled
from aftermax._utils.softmax_kernels import certainty_of, top_and_lead


class PoolingRule(NamedTuple):
    """All that pooling needs to predict, laid out for the kernels; K classes, K units.

    The first block is the rule as the paper has it. The second repeats it so that a class can be dropped early: each
    class's units by rank, heaviest first, and the same rank of all classes side by side in memory.
    """

    center: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    weights: NDArray[np.float64]
    power: float
    veto_distance: float
    veto_count: int

    kept: NDArray[np.int64]  # K: how many units have a weight
    units: NDArray[np.int64]  # rank x class: which ones
    steps: NDArray[np.float64]  # rank x class x 3: their center, weight / left and weight / right


# A class is dropped early only when its rounded partial sum is beyond the best score by more than rounding can explain.
ROUNDING = 1.0 + 1e-9
UNDERFLOW = 1e-290


# ---- the response array D --------------------------------------------------------------------------------------------


@compiled
def two_sum(total, value):
    """Knuth's two-sum: the rounded sum and its error. With errors carried along, the order of samples has no effect."""
    new = total + value
    virtual = new - total
    return new, (total - (new - virtual)) + (value - virtual)


@compiled
def exact_ratio(total, error, count):
    """(total + error) / count as if rounded once, so that the mean of equal values is exactly that value.

    The quotient is corrected by its remainder; Veltkamp's split makes quotient * count exact.
    """
    quotient = (total + error) / count
    split = 134217729.0 * quotient
    high = split - (split - quotient)
    remainder = (total - high * count) - (quotient - high) * count + error
    return quotient + remainder / count


@compiled
def exact_mean(logits, weights, samples, first, last):
    """Weighted mean over ``samples`` of units ``first`` to ``last``."""
    sums = np.zeros(last - first)
    errors = np.zeros(last - first)
    total = 0.0
    for sample in samples:
        weight = weights[sample]
        total += weight
        for j in range(last - first):
            sums[j], error = two_sum(sums[j], weight * logits[sample, first + j])
            errors[j] += error
    return exact_ratio(sums, errors, total)


@compiled
def squares_beside(logits, weights, samples, center, first, last):
    """Weighted squares of deviations from ``center``, summed, and weights: below it [0] and above it [1], by unit."""
    sums = np.zeros((2, last - first))
    errors = np.zeros((2, last - first))
    totals = np.zeros((2, last - first))
    for sample in samples:
        weight = weights[sample]
        for j in range(last - first):
            gap = logits[sample, first + j] - center[j]
            square = weight * (gap * gap)
            sums[0, j], error = two_sum(sums[0, j], square if gap < 0.0 else 0.0)
            errors[0, j] += error
            sums[1, j], error = two_sum(sums[1, j], square if gap > 0.0 else 0.0)
            errors[1, j] += error
            totals[0, j] += weight if gap < 0.0 else 0.0
            totals[1, j] += weight if gap > 0.0 else 0.0
    return sums + errors, totals


@compiled
def medians(logits, weights, samples):
    """Weighted median over ``samples`` for each unit."""
    center = np.empty(logits.shape[1])
    column = np.empty(samples.shape[0])
    own = weights[samples]
    alike = own.min() == own.max()
    for j in range(logits.shape[1]):
        for n in range(samples.shape[0]):
            column[n] = logits[samples[n], j]
        center[j] = np.median(column) if alike else weighted_median(column, own)
    return center


@compiled
def weighted_median(values, weights):
    """The value with half of the weight on either side; the mean of two, if half of it lies between them."""
    order = np.argsort(values)
    half = 0.5 * weights.sum()
    below = 0.0
    for n in range(order.shape[0]):
        below += weights[order[n]]
        if below > half:
            return values[order[n]]
        if below == half:
            return 0.5 * (values[order[n]] + values[order[n + 1]])
    return np.nan


@compiled
def fit_classes(logits, weights, samples, offsets, median, first, last, center, left, right):
    """Center and spreads of classes ``first`` to ``last``; class i owns ``samples[offsets[i]:offsets[i + 1]]``.

    Sums of the weights must be exact; see :func:`~aftermax.sph._weights.weights_within_classes`.
    """
    for i in range(first, last):
        own = samples[offsets[i] : offsets[i + 1]]
        if own.shape[0] == 0:
            center[i] = left[i] = right[i] = np.nan
            continue
        center[i] = medians(logits, weights, own) if median else exact_mean(logits, weights, own, 0, logits.shape[1])
        squares, beside = squares_beside(logits, weights, own, center[i], 0, logits.shape[1])
        for j in range(logits.shape[1]):
            # A side without samples takes the other side's spread; with neither, both are zero.
            left[i, j] = math.sqrt(squares[0, j] / beside[0, j]) if beside[0, j] > 0.0 else 0.0
            right[i, j] = math.sqrt(squares[1, j] / beside[1, j]) if beside[1, j] > 0.0 else 0.0
            if beside[0, j] == 0.0:
                left[i, j] = right[i, j]
            if beside[1, j] == 0.0:
                right[i, j] = left[i, j]


@compiled
def unit_deviations(logits, first, last, out):
    """Standard deviation (ddof 0) over all samples of units ``first`` to ``last``."""
    samples, ones = np.arange(logits.shape[0]), np.ones(logits.shape[0])
    squares, _ = squares_beside(logits, ones, samples, exact_mean(logits, ones, samples, first, last), first, last)
    out[first:last] = np.sqrt((squares[0] + squares[1]) / samples.shape[0])


@compiled
def separations(center, left, right, first, last, out):
    """Of units ``first`` to ``last``: the median of each class's distances from the others. Arrays are unit x class."""
    distances = np.empty(center.shape[1])
    for j in range(first, last):
        for i in range(center.shape[1]):
            distances_between(center[j], left[j], right[j], i, distances)
            out[j, i] = median_but_least(distances)


@compiled
def distances_between(center, left, right, i, out):
    """For one unit, the distance of class i from every class; 0 from itself."""
    for k in range(out.shape[0]):
        facing = left[i] + right[k] if center[i] > center[k] else right[i] + left[k]
        out[k] = abs(center[i] - center[k]) / (0.5 * facing)


@partial(compiled, fastmath={"nnan", "nsz"})  # so that the largest and the least are found without branches
def median_but_least(values):
    """Median of values >= 0, the least of them (one of the least) left out. Faster than partial sorting.

    Bisection finds a pivot that divides the values in two parts, of which one has the lower of the two in the middle as
    its largest, the other has the upper one as its least.
    """
    size = values.shape[0]
    middle = (size + 1) // 2  # of all values, how many are below the upper one
    low, high = -1.0, 0.0
    for n in range(size):
        high = values[n] if values[n] > high else high
    if high == np.inf:
        ordered = np.sort(values)
        return ordered[middle] if size % 2 == 0 else (ordered[middle - 1] + ordered[middle]) / 2
    while True:
        pivot = 0.5 * (low + high)
        if not low < pivot < high:  # values in the middle are the same
            return high
        n_below = 0
        for n in range(size):
            n_below += 1 if values[n] <= pivot else 0
        if n_below == middle:
            break
        if n_below < middle:
            low = pivot
        else:
            high = pivot
    lower, upper = low, high
    for n in range(size):
        below = values[n] if values[n] <= pivot else lower
        above = values[n] if values[n] > pivot else upper
        lower = below if below > lower else lower
        upper = above if above < upper else upper
    return upper if size % 2 == 0 else (lower + upper) / 2


# ---- pooling ---------------------------------------------------------------------------------------------------------


@compiled
def distance(response, center, left, right):
    """M: how many spreads lie between a response and the center, with the spread of its own side."""
    gap = response - center
    return abs(gap) / (right if gap > 0.0 else left)


@compiled
def sharpened(value, power):
    """``value ** power``; the common powers without a call."""
    if power == 2.0:
        return value * value
    if power == 1.0:
        return value
    return value**power


@compiled
def pooled_score(sample, i, rule):
    """Class i's pooled score, as the paper has it: the sum over units, in their order, of (W_ij M_ij) ^ power."""
    if rule.power == 0.0:
        return float(sample.shape[0])
    total = 0.0
    for j in range(sample.shape[0]):
        weight = rule.weights[i, j]
        weighted = 0.0
        if weight > 0.0:
            weighted = weight * distance(sample[j], rule.center[i, j], rule.left[i, j], rule.right[i, j])
        total += sharpened(weighted, rule.power)
    return total


@compiled
def is_vetoed(sample, i, rule):
    """Whether at least ``veto_count`` of all units find class i improbable."""
    flags = 0
    for j in range(sample.shape[0]):
        far = distance(sample[j], rule.center[i, j], rule.left[i, j], rule.right[i, j])
        flags += far >= rule.veto_distance
        if flags >= rule.veto_count:
            return True
    return False


@compiled
def is_beyond(sample, i, rule, bound):
    """Whether class i's score surely passes ``bound``: its terms are all >= 0, so a partial sum can tell."""
    if rule.power == 0.0:  # all scores are the same
        return False
    total = 0.0
    for n in range(rule.kept[i]):
        gap = sample[rule.units[n, i]] - rule.steps[n, i, 0]
        weighted = abs(gap) * (rule.steps[n, i, 2] if gap > 0.0 else rule.steps[n, i, 1])
        total += sharpened(weighted, rule.power)
        if total > bound:
            return True
    return False


@compiled
def pool(sample, guess, rule):
    """Pooling's prediction for one sample, or -1 if no class is left.

    ``guess``, softmax's prediction, is visited first: a good first score lets most other classes be dropped early.
    """
    best = -1
    best_score = np.inf
    for visit in range(sample.shape[0]):
        i = guess if visit == 0 else visit - 1 if visit <= guess else visit
        if rule.kept[i] == 0:
            continue
        if best >= 0 and is_beyond(sample, i, rule, best_score * ROUNDING + UNDERFLOW):
            continue
        if rule.veto_distance < np.inf and is_vetoed(sample, i, rule):
            continue
        score = pooled_score(sample, i, rule)
        if best < 0 or score < best_score or (score == best_score and i < best):
            best = i
            best_score = score
    return best


@compiled
def predict_samples(logits, certainty, trusted, rule, predictions, routes):
    """The whole of SPH on every sample: gate, veto, pool, trust. Routes: 0 softmax, 1 pooled, 2 reverted."""
    # With such a lead the certainty is above the threshold even if all other classes come second: no need for exp.
    clear_lead = math.log((logits.shape[1] - 1) * certainty / (1.0 - certainty)) + 1e-6
    for n in range(logits.shape[0]):
        top, lead = top_and_lead(logits[n])
        predictions[n] = top
        routes[n] = 0
        if lead < clear_lead and certainty_of(logits[n], top) < certainty:
            pooled = pool(logits[n], top, rule)
            routes[n] = 2
            if pooled >= 0 and trusted[pooled]:
                predictions[n] = pooled
                routes[n] = 1


@compiled
def pooled_scores(columns, rule, out):
    """Every class's pooled score, as :func:`pooled_score` has it; inf for a class that pooling can never predict.

    ``columns`` (units x samples) and ``out`` (classes x samples) let the innermost loop run over samples.
    """
    for i in range(out.shape[0]):
        out[i] = 0.0 if rule.kept[i] else np.inf
        for j in range(columns.shape[0] if rule.kept[i] else 0):
            weight = rule.weights[i, j]
            for n in range(columns.shape[1]):
                weighted = 0.0
                if weight > 0.0:
                    weighted = weight * distance(columns[j, n], rule.center[i, j], rule.left[i, j], rule.right[i, j])
                out[i, n] += sharpened(weighted, rule.power)
