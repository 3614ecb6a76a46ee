"""Samples of binary models with one logit."""

import numpy as np

WORDS = np.array(["no", "yes"])


def one_logit(n_samples=300, seed=0, shift=1.0):
    """The log-odds of class 1 from a model whose threshold is off by ``shift``, and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_samples)
    return 3.0 * labels - 1.5 + shift + 1.5 * rng.normal(size=n_samples), labels


def halves(z):
    """The same logits as two columns."""
    return np.column_stack([-z / 2, z / 2])


def sigmoid(z):
    return 1 / (1 + np.exp(-z))
