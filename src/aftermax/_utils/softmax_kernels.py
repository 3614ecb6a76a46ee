"""The compiled loops of softmax's certainty. Importing this module imports numba, so import it on first use only."""

import math

import numpy as np

from aftermax._utils.compiled import compiled


@compiled
def top_and_lead(sample):
    """Return the predicted class (the lowest index on a tie), and the margin to the second largest logit."""
    top = 0
    highest = sample[0]
    second = -np.inf
    for j in range(1, sample.shape[0]):
        # Selections, not branches: the largest logit cannot be predicted, and a mispredicted branch costs more.
        value = sample[j]
        higher = value > highest
        lower = highest if higher else value
        second = lower if lower > second else second
        highest = value if higher else highest
        top = j if higher else top
    return top, highest - second


@compiled
def certainty_of(sample, top):
    """The sample's largest softmax probability."""
    total = 0.0
    for j in range(sample.shape[0]):
        total += math.exp(sample[j] - sample[top])
    return 1.0 / total


@compiled
def certainties(logits, out):
    """Certainty of every sample."""
    for n in range(logits.shape[0]):
        out[n] = certainty_of(logits[n], top_and_lead(logits[n])[0])
