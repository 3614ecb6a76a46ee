"""Labelled samples of made-up networks, and the root of the repository."""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def make_samples(seed=0, n_samples=400, n_classes=5, home=2.0, noise=1.0, labels=None):
    """Logits as a so-so network gives them: each class has its own mean response in every unit."""
    centers = np.random.default_rng(1000 + n_classes).normal(size=(n_classes, n_classes)) + home * np.eye(n_classes)
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n_samples) if labels is None else labels
    return centers[labels] + noise * rng.normal(size=(len(labels), n_classes)), labels


def weak_samples(n_samples=400, seed=1):
    """Samples of a network whose softmax leaves much on the table: the biases of its five units are off."""
    logits, labels = make_samples(seed=seed, n_samples=n_samples)
    return logits + np.array([2.0, -1.0, 0.0, 1.0, -2.0]), labels
