"""Random samples of every kind, on which SPH is compared with its reference."""

import numpy as np


def draw_samples(rng):
    """Validation and test samples of one random kind: width, type, grid, rare classes, twins, constant units."""
    n_classes = int(rng.integers(2, 31))
    n_samples = int(rng.integers(10, 40 + 4 * n_classes))
    labels = rng.integers(n_classes, size=n_samples)
    labels[:2] = [0, n_classes - 1]
    for rare in rng.permutation(n_classes)[: rng.integers(0, n_classes - 1)]:
        if rng.random() < 0.5:
            keep = np.flatnonzero(labels == rare)[: rng.integers(0, 2)]
            labels[(labels == rare) & ~np.isin(np.arange(n_samples), keep)] = 0 if rare else n_classes - 1
    centers = rng.normal(size=(n_classes, n_classes)) * rng.choice([0.3, 1.0, 2.0]) + np.eye(n_classes) * rng.choice(
        [0.0, 2.0, 6.0]
    )
    if n_classes > 2 and rng.random() < 0.3:
        centers[1] = centers[0]
    logits = centers[labels] + rng.normal(size=(n_samples, n_classes)) * rng.choice([0.5, 1.5])
    test = centers[rng.integers(n_classes, size=40)] + rng.normal(size=(40, n_classes)) * rng.choice([0.5, 1.5])
    for unit in range(n_classes):
        if rng.random() < 0.1:
            logits[:, unit] = test[:, unit] = rng.choice([0.1, -3.0, 0.0])
    if rng.random() < 0.3:
        logits, test = np.round(logits), np.round(test)
    if rng.random() < 0.3:
        logits[rng.integers(n_samples, size=5)] = logits[0]
    dtype = rng.choice([np.float32, np.float64])
    return logits.astype(dtype), labels, test.astype(dtype), n_classes
