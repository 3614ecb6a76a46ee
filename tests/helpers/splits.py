"""Splits of a cross-validation."""

import numpy as np


def covered_once(splits, n_samples):
    """Whether each sample is held out exactly once."""
    return bool((np.bincount(np.concatenate([test for _, test in splits]), minlength=n_samples) == 1).all())
