"""reference_samples."""

import numpy as np


def draw_rows(rng):
    """Validation and test rows of one random kind: width, type, grid, rare classes, twins, constant units."""
    size = int(rng.integers(2, 31))
    rows = int(rng.integers(10, 40 + 4 * size))
    labels = rng.integers(size, size=rows)
    labels[:2] = [0, size - 1]
    for rare in rng.permutation(size)[: rng.integers(0, size - 1)]:
        if rng.random() < 0.5:
            keep = np.flatnonzero(labels == rare)[: rng.integers(0, 2)]
            labels[(labels == rare) & ~np.isin(np.arange(rows), keep)] = 0 if rare else size - 1
    centers = rng.normal(size=(size, size)) * rng.choice([0.3, 1.0, 2.0]) + np.eye(size) * rng.choice([0.0, 2.0, 6.0])
    if size > 2 and rng.random() < 0.3:
        centers[1] = centers[0]
    logits = centers[labels] + rng.normal(size=(rows, size)) * rng.choice([0.5, 1.5])
    test = centers[rng.integers(size, size=40)] + rng.normal(size=(40, size)) * rng.choice([0.5, 1.5])
    for unit in range(size):
        if rng.random() < 0.1:
            logits[:, unit] = test[:, unit] = rng.choice([0.1, -3.0, 0.0])
    if rng.random() < 0.3:
        logits, test = np.round(logits), np.round(test)
    if rng.random() < 0.3:
        logits[rng.integers(rows, size=5)] = logits[0]
    dtype = rng.choice([np.float32, np.float64])
    return logits.astype(dtype), labels, test.astype(dtype), size
