"""The paper's protocol: of all hyperparameters, those that do best on the test samples, *by their labels*."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax import SPHClassifier, sweep
from aftermax.sph.grid import Grid
from aftermax.sph.hyperparameters import HYPERPARAMETERS


def best_on_test(
    logits: NDArray[Any],
    labels: NDArray[np.int64],
    test_logits: NDArray[Any],
    test_labels: NDArray[np.int64],
    grid: Grid | None = None,
    n_jobs: int = -1,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """SPH's predictions for the test samples, and its hyperparameters, which were picked by the test labels."""
    classes = np.arange(logits.shape[1])
    evaluated = {"eval_logits": test_logits, "eval_labels": test_labels}
    columns = sweep(logits, labels, grid, **evaluated, classes=classes, n_jobs=n_jobs, progress=False)
    best = int(np.argmax(columns["gain"]))
    hyperparameters = {name: columns[name][best].item() for name in HYPERPARAMETERS}
    head = SPHClassifier(classes=classes, **hyperparameters).fit(logits, labels)
    return np.asarray(head.predict(test_logits)), hyperparameters
