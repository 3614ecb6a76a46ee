"""How softmax's certainty is distributed, and whether it still tells right predictions from wrong ones.

The paper suspected that softmax's scores of deep networks bunch near 1 even where they are wrong, so that the gate,
which sends the samples below a certainty to pooling, has nothing to go by. Bunching is one thing (how many wrong
predictions are above 0.9), order another (how often a right prediction has the higher certainty of two).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from aftermax.data import load_vmnist
from experiments.networks.samples import Samples

BINS = 10
BUNCHED = 0.9  # the certainty above which a score counts as near 1
MIN_SAMPLES = 20  # in a bin, for its error rate to be shown


class Certainty(NamedTuple):
    """Samples by softmax's certainty, in ten bins of equal width."""

    name: str
    accuracy: float
    shares: NDArray[np.float64]  # of the samples, in each bin
    error_rates: NDArray[np.float64]  # in each bin; nan where there are fewer than MIN_SAMPLES
    bunched_wrong: float  # the share of wrong predictions above BUNCHED
    order: float  # how often, of a right and a wrong prediction, the right one has the higher certainty (AUROC)


def certainty_of(name: str, samples: Samples) -> Certainty:
    """Of a network's samples."""
    certainty = softmax(samples.logits.astype(np.float64), axis=1).max(axis=1)
    right = samples.logits.argmax(axis=1) == samples.labels
    bins = np.minimum((BINS * certainty).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    errors = np.bincount(bins, weights=~right, minlength=BINS)
    rates = np.divide(errors, counts, out=np.full(BINS, np.nan), where=counts >= MIN_SAMPLES)
    return Certainty(
        name,
        float(np.mean(right)),
        counts / len(certainty),
        rates,
        float(np.mean(certainty[~right] > BUNCHED)) if not right.all() else 0.0,
        float(roc_auc_score(right, certainty)) if 0 < np.mean(right) < 1 else 1.0,
    )


def of_vmnist(trained_on: int) -> Certainty:
    """Of a network on vMNIST whose scores ship with the package, for comparison."""
    scores = load_vmnist(trained_on)
    return certainty_of(f"vMNIST, trained on {trained_on:,}", Samples(scores.test_logits, scores.test_labels))
