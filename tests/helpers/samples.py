"""samples."""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def make_samples(seed=0, rows=400, size=5, home=2.0, noise=1.0, labels=None):
    """Logits as a so-so network gives them: each class has its own mean response in every unit."""
    centers = np.random.default_rng(1000 + size).normal(size=(size, size)) + home * np.eye(size)
    rng = np.random.default_rng(seed)
    labels = rng.integers(size, size=rows) if labels is None else labels
    return centers[labels] + noise * rng.normal(size=(len(labels), size)), labels
