"""Samples for the corrections."""

import numpy as np

from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def samples_of(rows=300, size=4, seed=1, weights=None, features=None):
    """Labelled samples, ready to be fitted on."""
    logits, codes = make_samples(seed=seed, rows=rows, size=size)
    return Samples(logits, codes, np.ones(rows) if weights is None else weights / weights.mean(), features)
