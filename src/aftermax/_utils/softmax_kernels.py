"""The compiled loops of softmax's certainty. Importing this module imports numba, so it is imported on first use."""

import math

import numpy as np

from aftermax._utils.compiled import compiled


@compiled
def top_and_lead(sample):
    """Softmax's answer (lowest index on a tie), and by how much its logit leads the next."""
    top = 0
    highest = sample[0]
    second = -np.inf
    for j in range(1, sample.shape[0]):
        # Selections, not branches: which logit is the largest cannot be foreseen, and a wrong guess costs more.
        value = sample[j]
        higher = value > highest
        lower = highest if higher else value
        second = lower if lower > second else second
        highest = value if higher else highest
        top = j if higher else top
    return top, highest - second


@compiled
def certainty_of(sample, top):
    """The row's largest softmax score."""
    total = 0.0
    for j in range(sample.shape[0]):
        total += math.exp(sample[j] - sample[top])
    return 1.0 / total


@compiled
def certainties(logits, out):
    """Certainty of every row."""
    for n in range(logits.shape[0]):
        out[n] = certainty_of(logits[n], top_and_lead(logits[n])[0])
