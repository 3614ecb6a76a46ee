"""Classes without a labelled sample keep their chance, as far as the other classes' counts speak for it.

A fit sees that such a class is never right, and would learn never to predict it. But with few samples it may be missing
by chance: the share of samples whose class has no label is about the share of samples whose class has one label
(I. J. Good, "The population frequencies of species and the estimation of population parameters", Biometrika 40, 1953).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.samples import TINY, Samples
from aftermax._utils.multinomial import Scores
from aftermax._utils.softmax import softmax

ROUNDS = 30
TOLERANCE = 1e-3  # of the logarithm of a mean probability


def unlabelled_classes(samples: Samples) -> NDArray[np.intp]:
    """The columns of the classes that no sample has."""
    totals = np.bincount(samples.codes, samples.weights, minlength=samples.logits.shape[1])
    return np.flatnonzero(totals == 0)


def missing_share(samples: Samples) -> float:
    """Good and Turing's estimate of the share of new samples whose class has no label, with one class more."""
    counts = np.bincount(samples.codes[samples.weights > 0], minlength=samples.logits.shape[1])
    return float((np.count_nonzero(counts == 1) + 1) / counts.sum())


def biases_that_keep_shares(
    scores: Scores,
    softmax_scores: Scores,
    classes: NDArray[np.intp],
    weights: NDArray[np.float64],
    most: float,
) -> NDArray[np.float64]:
    """What to add to the scores of some classes so that their mean probabilities are those of softmax.

    If these sum to more than ``most``, they are lowered to it.
    """
    shares = weights / weights.sum()
    of_softmax = shares @ softmax(softmax_scores)[:, classes]
    wanted = np.log(of_softmax * min(1.0, most / (of_softmax.sum() + TINY)) + TINY)
    highest = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - highest)
    others = exponentials.sum(axis=1) - exponentials[:, classes].sum(axis=1)
    biases = np.zeros(len(classes))
    for _ in range(ROUNDS):
        some = np.exp(np.minimum(scores[:, classes] - highest + biases, 300.0))
        step = wanted - np.log(shares @ (some / (others + some.sum(axis=1))[:, None]) + TINY)
        biases += step
        if np.abs(step).max() < TOLERANCE:
            break
    return biases
