"""A world of calibrated logits, in which the classes can have any proportions."""

import numpy as np

SEPARATION = 1.5


def world(shares, n_samples, seed=0, assumed=None):
    """Logits and labels: their softmax is the true probabilities if the classes had the ``assumed`` shares.

    Samples of a class are normally distributed around a corner, whatever the proportions are: label shift.
    """
    rng = np.random.default_rng(seed)
    shares = np.asarray(shares, dtype=float)
    assumed = np.full(len(shares), 1 / len(shares)) if assumed is None else np.asarray(assumed)
    labels = rng.choice(len(shares), n_samples, p=shares / shares.sum())
    samples = rng.normal(size=(n_samples, len(shares))) + SEPARATION * np.eye(len(shares))[labels]
    return SEPARATION * samples + np.log(assumed), labels
