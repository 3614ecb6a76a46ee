"""Labelled samples as the corrections take them."""

import numpy as np

from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def samples_of(n_samples=300, n_classes=4, seed=1, weights=None, features=None):
    """Labelled samples, ready to be fitted on."""
    logits, codes = make_samples(seed=seed, n_samples=n_samples, n_classes=n_classes)
    return Samples(logits, codes, np.ones(n_samples) if weights is None else weights / weights.mean(), features)
