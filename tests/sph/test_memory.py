"""Memory: predict works in chunks, so it needs little beyond its input and output."""

import tracemalloc

import numpy as np
import pytest

from aftermax import SPHClassifier, sweep
from helpers.samples import make_samples


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "dtype"),
    [(2_000_000, 10, np.float16), (1_000_000, 10, np.float64), (100_000, 100, np.int8), (20_000, 500, np.float32)],
)
def test_predict_needs_less_than_64_megabytes_beyond_input_and_output(n_samples, n_classes, dtype):
    head = SPHClassifier(min_gain=-1.0).fit(
        *make_samples(n_samples=5 * n_classes, n_classes=n_classes, labels=np.arange(5 * n_classes) % n_classes)
    )
    logits = np.random.default_rng(0).integers(-5, 5, size=(n_samples, n_classes), dtype=np.int8).astype(dtype)
    head.predict(logits[:10])
    tracemalloc.start()
    predicted = head.predict(logits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - predicted.nbytes < 64 * 2**20


@pytest.mark.parametrize(
    "grid",
    [
        {
            "certainty": np.linspace(0.1, 1.0, 400),
            "min_separation": np.linspace(0, 2, 50),
            "weight_power": [0, 1, 2],
            "veto_distance": [2, 3, 4],
        },
        {"min_gain": np.linspace(-0.5, 0.5, 20_000), "veto_distance": [2, 3, 4, 5], "veto_count": [1, 2, 3]},
    ],
)
def test_a_sweep_needs_little_beyond_its_columns_however_large_the_grid(grid):
    samples = make_samples(n_samples=100, n_classes=10)
    sweep(*samples, {"certainty": [0.5]}, n_jobs=1)
    tracemalloc.start()
    columns = sweep(*samples, grid, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(columns["wins"]) >= 180_000
    assert peak - sum(column.nbytes for column in columns.values()) < 32 * 2**20


@pytest.mark.slow
def test_a_sweep_over_many_weights_and_classes_needs_little():
    samples = make_samples(n_samples=450, n_classes=150, labels=np.arange(450) % 150)
    sweep(*samples, {"certainty": [0.5]}, n_jobs=1)
    tracemalloc.start()
    sweep(*samples, {"min_separation": np.linspace(0, 2, 200), "distance_power": [1, 2, 4]}, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20
