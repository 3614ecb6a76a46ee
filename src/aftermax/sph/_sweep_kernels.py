"""The compiled loops of the sweep that count. Importing this module imports numba, so import it on first use only.

The axes of a pooling rule are p, its distance power, v, its veto, and a, its set of weights.
"""

import numpy as np

from aftermax._utils.compiled import compiled
from aftermax.sph._sweep_rules import BATCH
from aftermax.sph._sweep_scores import (
    is_usual,
    largest_response,
    nearest_classes,
    nearest_exactly,
    score_batch,
    too_close,
)

# Of a pooled sample: as right as softmax, right where it is wrong, the reverse. With weights, there is a fourth sum, of
# the squared weights of wins and losses.
SAME, WIN, LOSS, SQUARES = 0, 1, 2, 3
LANES = 16  # sets of weights are compared side by side, and loops of odd lengths are several times slower


@compiled
def tally_predictions(logits, codes, right, weights, bins, rules, net_wins, outcomes):
    """Predict every sample under every pooling rule, and count. A tally without bins is left out.

    Codes and predictions are numbers of the rules' classes; a code is -1 if the true class is not among them. ``right``
    tells whether softmax is. ``net_wins[bin, p, v, class, a]`` are wins less losses by true class,
    ``outcomes[bin, p, v, class, a, outcome]`` samples by predicted class. Samples without a prediction are not counted.
    Each counts as much as its weight, which is an integer if tallies are.
    """
    n_classes, n_powers, n_sets = rules.center.shape[0], rules.powers.shape[0], rules.weights.shape[0]
    lanes = -(-n_sets // LANES) * LANES
    batch = min(BATCH, -(-logits.shape[0] // LANES) * LANES)
    columns = np.empty((logits.shape[1], batch))
    scores = np.full((batch, n_powers, n_classes, lanes), np.inf)
    flags = np.empty((rules.thresholds.shape[0], n_classes, batch), dtype=np.int64)
    two_least = np.empty((2, lanes))
    free, vetoed = np.empty((n_powers, lanes), dtype=np.int64), np.empty((n_powers, lanes), dtype=np.int64)
    everyone = np.arange(n_classes)
    winners, left = np.empty(n_classes, dtype=np.int64), np.empty(n_classes, dtype=np.int64)
    farthest = largest_response(rules)
    for n in range(logits.shape[0]):
        s = n % batch
        if s == 0:
            for other in range(batch):  # the last sample stands in for those that a batch lacks
                columns[:, other] = logits[min(n + other, logits.shape[0] - 1)]
            score_batch(columns, rules, scores, flags)
        too_far = max(-logits[n].min(), logits[n].max()) > farthest
        predict(logits[n], scores[s], rules, everyone, too_far, two_least, free)
        n_winners = list_distinct(free[:, :n_sets], winners)
        for v in range(rules.veto_counts.shape[0]):
            predictions = free
            # Where a veto spares every winner, they win under that veto too.
            if is_any_vetoed(winners[:n_winners], rules, v, flags, s):
                n_left = list_unvetoed(rules, v, flags, s, left)
                predict(logits[n], scores[s], rules, left[:n_left], too_far, two_least, vetoed)
                predictions = vetoed
            for p in range(n_powers):
                if net_wins.shape[0] > 0:  # of fitted samples, whose true classes are all among the rules'
                    add_net_wins(predictions[p], codes[n], right[n], weights[n], net_wins[bins[n], p, v, codes[n]])
                if outcomes.shape[0] > 0:
                    count_outcomes(predictions[p], codes[n], right[n], weights[n], outcomes[bins[n], p, v])


# ---- the predictions of one sample -----------------------------------------------------------------------------------


@compiled
def predict(sample, scores, rules, classes, too_far, two_least, predictions):
    """The nearest of some classes under every power and set of weights, -1 if none."""
    best, second = two_least[0], two_least[1]
    for p in range(rules.powers.shape[0]):
        exactly = too_far or not is_usual(rules.powers[p])
        nearest_classes(scores[p], classes, best, second, predictions[p])
        for a in range(rules.weights.shape[0]):
            if exactly or too_close(best[a], second[a]):
                predictions[p, a] = nearest_exactly(sample, rules, classes, rules.powers[p], a)


@compiled
def list_distinct(predictions, classes):
    """List the classes that are predicted, and return how many they are. Neighbours mostly agree: few are looked up."""
    n_found = 0
    for p in range(predictions.shape[0]):
        previous = -1
        for a in range(predictions.shape[1]):
            if predictions[p, a] != previous:
                previous = predictions[p, a]
                known = previous < 0
                for index in range(n_found):
                    known |= classes[index] == previous
                if not known:
                    classes[n_found] = previous
                    n_found += 1
    return n_found


@compiled
def is_any_vetoed(classes, rules, v, flags, s):
    """Whether veto v strikes out any of the classes."""
    if rules.threshold_of[v] >= 0:
        for i in classes:
            if flags[rules.threshold_of[v], i, s] >= rules.veto_counts[v]:
                return True
    return False


@compiled
def list_unvetoed(rules, v, flags, s, classes):
    """List the classes that veto v leaves, and return how many they are."""
    n_left = 0
    for i in range(flags.shape[1]):
        if flags[rules.threshold_of[v], i, s] < rules.veto_counts[v]:
            classes[n_left] = i
            n_left += 1
    return n_left


# ---- counts ----------------------------------------------------------------------------------------------------------


@compiled
def add_net_wins(predictions, code, right, weight, net_wins):
    """Add a win (+) or a loss (-) for every set of weights with a prediction."""
    for a in range(net_wins.shape[0]):
        net_wins[a] += weight * (int(predictions[a] == code) - int(right)) if predictions[a] >= 0 else 0


@compiled
def count_outcomes(predictions, code, right, weight, outcomes):
    """Count the outcome for the predicted class of every set of weights with a prediction."""
    for a in range(outcomes.shape[1]):
        if predictions[a] >= 0:
            pooled_right = predictions[a] == code
            outcome = SAME if pooled_right == right else WIN if pooled_right else LOSS
            outcomes[predictions[a], a, outcome] += weight
            if outcomes.shape[2] > SQUARES and outcome != SAME:
                outcomes[predictions[a], a, SQUARES] += weight * weight


@compiled
def sum_trusted(net_wins, outcomes, uncertain, min_gains, out):
    """Of every rule, gate and ``min_gain``: wins, losses and pooled samples of the trusted classes, and their number.

    The tallies are summed up to each gate, with p and v as one axis; ``uncertain`` is the number, or the weight, of the
    samples of each class below each gate, and ``out`` is 4 x gate x p and v x a x gain; 5, with the sum of squares.
    """
    for gate in range(net_wins.shape[0]):
        for pv in range(net_wins.shape[1]):
            for k in range(net_wins.shape[2]):
                if uncertain[gate, k] == 0:
                    continue
                for a in range(net_wins.shape[3]):
                    # The same quotient as SPHClassifier's: a gain of exactly ``min_gain`` is not enough.
                    gain = net_wins[gate, pv, k, a] / uncertain[gate, k]
                    counts = outcomes[gate, pv, k, a]
                    same, wins, losses = counts[SAME], counts[WIN], counts[LOSS]
                    for g in range(min_gains.shape[0]):
                        if gain > min_gains[g]:
                            out[0, gate, pv, a, g] += wins
                            out[1, gate, pv, a, g] += losses
                            out[2, gate, pv, a, g] += same + wins + losses
                            out[3, gate, pv, a, g] += 1
                            if out.shape[0] > 4:
                                out[4, gate, pv, a, g] += counts[SQUARES]
