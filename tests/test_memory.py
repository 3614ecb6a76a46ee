"""Memory: predict works in chunks, so that it needs next to nothing beyond its input and output."""

import tracemalloc

import numpy as np
import pytest

from aftermax import SPHClassifier
from conftest import make_rows


@pytest.mark.parametrize(
    ("rows", "size", "dtype"),
    [(2_000_000, 10, np.float16), (1_000_000, 10, np.float64), (100_000, 100, np.int8), (10_000, 1000, np.float32)],
)
def test_predict_needs_less_than_64_megabytes_beyond_input_and_output(rows, size, dtype):
    head = SPHClassifier(min_gain=-1.0).fit(*make_rows(rows=5 * size, size=size, labels=np.arange(5 * size) % size))
    logits = np.random.default_rng(0).integers(-5, 5, size=(rows, size), dtype=np.int8).astype(dtype)
    head.predict(logits[:10])
    tracemalloc.start()
    answers = head.predict(logits)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - answers.nbytes < 64 * 2**20
