"""The compiled inner loops of the sweep. Importing this module imports numba, so import it on first use only.

Scores are summed as W^p M^p, with all sets of weights side by side in memory; ``_kernels.pooled_score`` sums (W M)^p.
The two differ by rounding. Where two classes come closer than that, the latter decides, so that every prediction is the
one that SPHClassifier gives.
"""

import numpy as np

from aftermax._utils.compiled import compiled
from aftermax.sph._kernels import ROUNDING, distance, sharpened

SAME, WIN, LOSS = 0, 1, 2  # of a pooled sample: as right as softmax, right where it is wrong, the reverse

# With such powers and distances, and sums above that, nothing overflows or underflows; the others are summed exactly.
MIN_POWER, MAX_POWER = 0.5, 8.0
MAX_DISTANCE = 1e12
MIN_SUM = 1e-200


@compiled
def tally_predictions(logits, codes, softmax, bins, by_prediction, array, weights, powers, vetoes, tally):
    """Predict every sample under every pooling rule, and count the outcomes.

    A rule is a power p, a veto v (a distance and a count of flags) and a set of weights a. ``weights`` are class x unit
    x a, so that the innermost loops run over sets; those beyond the tally's are padding. The counts are in
    ``tally[bin, p, v, a, class, outcome]``; the class is the predicted (``by_prediction``) or the true one. Samples
    without a prediction are not counted.

    Most vetoes change few predictions. So ``tally`` has one more v, the last, without any veto, and the others are
    filled with the difference from that.
    """
    n_classes, sets, unvetoed = logits.shape[1], tally.shape[3], vetoes.shape[0]
    distances = np.empty((n_classes, n_classes))
    vetoed = np.zeros((unvetoed + 1, n_classes), dtype=np.bool_)
    strikes = np.empty((n_classes, unvetoed), dtype=np.int64)
    struck = np.empty(n_classes, dtype=np.int64)
    scores = np.empty((n_classes, weights.shape[2]))
    free = np.empty(weights.shape[2], dtype=np.int64)
    close = np.empty(weights.shape[2], dtype=np.bool_)
    possible = can_be_predicted(weights)
    farthest = largest_response(array)
    raised_weights = raise_weights(weights, powers)
    for n in range(logits.shape[0]):
        measure(logits[n], array, vetoes, distances, vetoed, strikes, struck)
        too_far = max(-logits[n].min(), logits[n].max()) > farthest
        softmax_right = softmax[n] == codes[n]
        for p in range(powers.shape[0]):
            exactly = too_far or powers[p] < MIN_POWER or powers[p] > MAX_POWER
            if not exactly:
                score_classes(distances, raised_weights[p], possible, powers[p], scores)
                nearest_classes(scores, free, close)
            counts = tally[bins[n], p]
            for a in range(sets):
                if exactly or close[a]:
                    free[a] = nearest_exactly(distances, weights, a, powers[p], vetoed[unvetoed], possible)
                count(counts[unvetoed, a], free[a], 1, codes[n], softmax_right, by_prediction)
                for index in range(struck[free[a]] if free[a] >= 0 else 0):
                    v = strikes[free[a], index]
                    prediction = -2 if exactly else nearest_unvetoed(scores, a, vetoed[v])
                    if prediction == -2:
                        prediction = nearest_exactly(distances, weights, a, powers[p], vetoed[v], possible)
                    count(counts[v, a], free[a], -1, codes[n], softmax_right, by_prediction)
                    count(counts[v, a], prediction, 1, codes[n], softmax_right, by_prediction)
    tally[:, :, :unvetoed] += tally[:, :, unvetoed:]


@compiled
def count(counts, prediction, step, code, softmax_right, by_prediction):
    """Count a sample's outcome, if it has a prediction."""
    if prediction >= 0:
        right = prediction == code
        outcome = SAME if right == softmax_right else WIN if right else LOSS
        counts[prediction if by_prediction else code, outcome] += step


@compiled
def sum_trusted(by_class, by_prediction, uncertain, min_gains, out):
    """Of every rule, gate and ``min_gain``: wins, losses and pooled samples of the trusted classes, and their number.

    The tallies are gate x rule x class x outcome, summed up to each gate; ``uncertain`` is the number of samples
    of each class below each gate, and ``out`` is 4 x gate x rule x gain.
    """
    for gate in range(by_class.shape[0]):
        for rule in range(by_class.shape[1]):
            for k in range(by_class.shape[2]):
                if uncertain[gate, k] == 0:
                    continue
                # The same quotient as SPHClassifier's: a gain of exactly ``min_gain`` is not enough.
                better = by_class[gate, rule, k, WIN] - by_class[gate, rule, k, LOSS]
                gain = better / uncertain[gate, k]
                for g in range(min_gains.shape[0]):
                    if gain > min_gains[g]:
                        out[0, gate, rule, g] += by_prediction[gate, rule, k, WIN]
                        out[1, gate, rule, g] += by_prediction[gate, rule, k, LOSS]
                        out[2, gate, rule, g] += by_prediction[gate, rule, k].sum()
                        out[3, gate, rule, g] += 1


@compiled
def raise_weights(weights, powers):
    """The weights to every power: p x class x unit x a."""
    out = np.empty((powers.shape[0], *weights.shape))
    for p in range(powers.shape[0]):
        for i in range(weights.shape[0]):
            for j in range(weights.shape[1]):
                for a in range(weights.shape[2]):
                    out[p, i, j, a] = sharpened(weights[i, j, a], powers[p])
    return out


@compiled
def can_be_predicted(weights):
    """Which classes have a weight at all, by set: class x a."""
    out = np.zeros((weights.shape[0], weights.shape[2]), dtype=np.bool_)
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            for a in range(weights.shape[2]):
                out[i, a] |= weights[i, j, a] > 0.0
    return out


@compiled
def largest_response(array):
    """Responses up to this size are no further than ``MAX_DISTANCE`` from any class."""
    center, left, right = array
    size, spread = 0.0, np.inf
    for i in range(center.shape[0]):
        for j in range(center.shape[0]):
            if center[i, j] == center[i, j]:  # not a class without samples
                size = max(size, abs(center[i, j]))
                spread = min(spread, left[i, j], right[i, j])
    return MAX_DISTANCE * spread - size


@compiled
def measure(sample, array, vetoes, distances, vetoed, strikes, struck):
    """A sample's distances M from every class, and which vetoes strike out which classes.

    Class i is struck by ``struck[i]`` vetoes, the first ones in ``strikes[i]``.
    """
    center, left, right = array
    for i in range(sample.shape[0]):
        for j in range(sample.shape[0]):
            distances[i, j] = distance(sample[j], center[i, j], left[i, j], right[i, j])
        struck[i] = 0
        flags = 0
        for v in range(vetoes.shape[0]):
            if v == 0 or vetoes[v, 0] != vetoes[v - 1, 0]:
                flags = 0
                for j in range(sample.shape[0] if vetoes[v, 0] < np.inf else 0):
                    flags += distances[i, j] >= vetoes[v, 0]
            vetoed[v, i] = flags >= vetoes[v, 1]
            if vetoed[v, i]:
                strikes[i, struck[i]] = v
                struck[i] += 1


@compiled
def score_classes(distances, raised_weights, possible, power, scores):
    """Every class's pooled score under every set of weights; inf for a class that cannot be the prediction."""
    for i in range(scores.shape[0]):
        scores[i] = 0.0
        for j in range(scores.shape[0]):
            square = distances[i, j] * distances[i, j]
            raised = square * square if power == 4.0 else sharpened(distances[i, j], power)
            for a in range(scores.shape[1]):
                scores[i, a] += raised_weights[i, j, a] * raised
        for a in range(scores.shape[1]):
            scores[i, a] = scores[i, a] if possible[i, a] else np.inf


@compiled
def nearest_classes(scores, predictions, close):
    """For every set of weights the class with the least score, -1 if none, and whether another is too close to it."""
    best = np.full(scores.shape[1], np.inf)
    second = np.full(scores.shape[1], np.inf)
    predictions[:] = -1
    for i in range(scores.shape[0]):
        for a in range(scores.shape[1]):
            score = scores[i, a]
            better = score < best[a]
            loser = best[a] if better else score
            second[a] = loser if loser < second[a] else second[a]
            best[a] = score if better else best[a]
            predictions[a] = i if better else predictions[a]
    for a in range(scores.shape[1]):
        close[a] = second[a] < np.inf and second[a] <= best[a] * ROUNDING + MIN_SUM


@compiled
def nearest_unvetoed(scores, a, vetoed):
    """As ``nearest_classes`` for one set of weights, among the classes that are not vetoed; -2 if two are too close."""
    prediction = -1
    best = np.inf
    second = np.inf
    for i in range(scores.shape[0]):
        if vetoed[i]:
            continue
        if scores[i, a] < best:
            second = best
            best = scores[i, a]
            prediction = i
        elif scores[i, a] < second:
            second = scores[i, a]
    return -2 if second < np.inf and second <= best * ROUNDING + MIN_SUM else prediction


@compiled
def nearest_exactly(distances, weights, a, power, vetoed, possible):
    """The class with the least score, the first of equals, -1 if none; scores are summed as in ``pooled_score``."""
    prediction = -1
    best = np.inf
    for i in range(distances.shape[0]):
        if vetoed[i] or not possible[i, a]:
            continue
        total = 0.0
        for j in range(distances.shape[0] if power > 0.0 else 0):
            if weights[i, j, a] > 0.0:
                total += sharpened(weights[i, j, a] * distances[i, j], power)
        if prediction < 0 or total < best:
            best = total
            prediction = i
    return prediction
