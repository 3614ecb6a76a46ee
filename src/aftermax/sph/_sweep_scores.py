"""The compiled loops of the sweep that score classes. Importing this module imports numba: import it on first use only.

Scores are summed as W^p M^p, with the factors of W that ``PoolingRules`` describes; ``_kernels.pooled_score`` sums
(W M)^p. The two differ by rounding. Where two classes come closer than that, the latter decides, so that every
prediction is the one that SPHClassifier gives.
"""

import numpy as np

from aftermax._utils.compiled import compiled
from aftermax.sph._kernels import ROUNDING, distance, sharpened

# With such powers and distances, and sums above that, nothing overflows or underflows; the others are summed exactly.
MIN_POWER, MAX_POWER = 0.5, 8.0
MAX_DISTANCE = 1e12
MIN_SUM = 1e-200


@compiled
def is_usual(power):
    """Whether scores of this power can be compared by their rounded sums."""
    return MIN_POWER <= power <= MAX_POWER


@compiled
def largest_response(rules):
    """Responses up to this size are no further than ``MAX_DISTANCE`` from any class."""
    size, spread = 0.0, np.inf
    for i in range(rules.center.shape[0]):
        for j in range(rules.center.shape[1]):
            size = max(size, abs(rules.center[i, j]))
            spread = min(spread, rules.left[i, j], rules.right[i, j])
    return MAX_DISTANCE * spread - size


# ---- scores ----------------------------------------------------------------------------------------------------------


@compiled
def score_batch(columns, rules, scores, flags):
    """Every class's pooled scores for a batch of samples, and how many units are as far from it as each threshold.

    ``columns`` are unit x sample, ``flags`` threshold x class x sample, and ``scores`` sample x power x class x set of
    weights, inf for a class that cannot be the prediction.
    """
    far = np.empty(columns.shape)
    raised = np.empty(columns.shape)
    totals = np.empty((rules.weights.shape[0], columns.shape[1]))
    for i in range(rules.center.shape[0]):
        measure(columns, rules, i, far)
        for t in range(rules.thresholds.shape[0]):
            count_far(far, rules.thresholds[t], flags[t, i])
        for p in range(rules.powers.shape[0]):
            if is_usual(rules.powers[p]):
                raise_distances(far.ravel(), rules.powers[p], raised.ravel())
                add_ranks(raised, rules, i, p, totals)
                for s in range(totals.shape[1]):
                    for a in range(totals.shape[0]):
                        scores[s, p, i, a] = totals[a, s]


@compiled
def measure(columns, rules, i, far):
    """Distances M from class i: rank x sample."""
    for rank in range(far.shape[0]):
        j = rules.units[i, rank]
        column, out = columns[j], far[rank]
        center, left, right = rules.center[i, j], rules.left[i, j], rules.right[i, j]
        for s in range(out.shape[0]):
            out[s] = distance(column[s], center, left, right)


@compiled
def count_far(far, threshold, flags):
    """How many distances of each sample are at or above a threshold."""
    flags[:] = 0
    for rank in range(far.shape[0]):
        row = far[rank]
        for s in range(flags.shape[0]):
            flags[s] += row[s] >= threshold


@compiled
def raise_distances(far, power, raised):
    """The distances to a power. A loop that may call a function is slow, so the common powers have their own."""
    if power == 1.0:
        for n in range(far.shape[0]):
            raised[n] = far[n]
    elif power == 2.0:
        for n in range(far.shape[0]):
            raised[n] = far[n] * far[n]
    elif power == 4.0:
        for n in range(far.shape[0]):
            raised[n] = (far[n] * far[n]) * (far[n] * far[n])
    else:
        for n in range(far.shape[0]):
            raised[n] = far[n] ** power


@compiled
def add_ranks(raised, rules, i, p, totals):
    """Class i's scores: set of weights x sample. The sum so far is the score under one cut after the other."""
    weight_powers = rules.shares.shape[2]
    total = np.empty(raised.shape[1])
    for w in range(weight_powers):
        shares = rules.shares[i, p, w]
        total[:] = 0.0
        first = 0
        for cut in rules.cuts:
            add_products(raised, shares, first, rules.kept[i, cut], total)
            first = rules.kept[i, cut]
            a = cut * weight_powers + w
            out, scale = totals[a], rules.scales[i, p, a]
            for s in range(total.shape[0]):
                out[s] = total[s] * scale
            if not rules.possible[a, i]:
                out[:] = np.inf


@compiled
def add_products(raised, shares, first, last, total):
    """Add the terms of some ranks, four of them at once, so that the total is read and written less often."""
    fours = first + (last - first) // 4 * 4
    for rank in range(first, fours, 4):
        one, two, three, four = shares[rank], shares[rank + 1], shares[rank + 2], shares[rank + 3]
        for s in range(total.shape[0]):
            total[s] += (one * raised[rank, s] + two * raised[rank + 1, s]) + (
                three * raised[rank + 2, s] + four * raised[rank + 3, s]
            )
    for rank in range(fours, last):
        share = shares[rank]
        for s in range(total.shape[0]):
            total[s] += share * raised[rank, s]


# ---- the class with the least score ----------------------------------------------------------------------------------


@compiled
def nearest_classes(scores, classes, best, second, predictions):
    """For every set of weights the one of ``classes`` with the least score, -1 if none, and the two least scores."""
    best[:] = np.inf
    second[:] = np.inf
    predictions[:] = -1
    for i in classes:
        for a in range(scores.shape[1]):
            score = scores[i, a]
            better = score < best[a]
            loser = best[a] if better else score
            second[a] = loser if loser < second[a] else second[a]
            best[a] = score if better else best[a]
            predictions[a] = i if better else predictions[a]


@compiled
def too_close(best, second):
    """Whether rounding may have decided between the two least scores."""
    return second < np.inf and second <= best * ROUNDING + MIN_SUM


@compiled
def nearest_exactly(sample, rules, classes, power, a):
    """The one of ``classes`` with the least score, the first of equals, -1 if none; summed as in ``pooled_score``."""
    prediction = -1
    best = np.inf
    for i in classes:
        if not rules.possible[a, i]:
            continue
        total = 0.0
        for j in range(sample.shape[0] if power > 0.0 else 0):
            weight = rules.weights[a, i, j]
            if weight > 0.0:
                far = distance(sample[j], rules.center[i, j], rules.left[i, j], rules.right[i, j])
                total += sharpened(weight * far, power)
        if prediction < 0 or total < best:
            best = total
            prediction = i
    return prediction
