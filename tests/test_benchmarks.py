"""The benchmarks, as far as they use what may change under them."""

import numpy as np
import pytest

from benchmarks import many


def test_the_baseline_of_the_choice_is_an_epoch_that_trains():
    pytest.importorskip("torch")
    from benchmarks.choosing import one_epoch

    epoch = one_epoch(samples=300)
    weights = epoch.args[0][0].weight
    before = weights.detach().clone()
    epoch()
    assert not np.array_equal(before, weights.detach())


def test_many_classes_are_measured_from_the_fit_to_the_figure(tmp_path, monkeypatch):
    """With small sizes; the files on disk are fitted on in a process of its own."""
    small = {
        "SIZES": (10, 300, 320),
        "SAMPLES": 400,
        "PREDICTED": (1_200, 300),
        "THOUSAND": (1_200, 300),
        "LARGEST": (500, 300),
        "AT_ONCE": 200,
        "FIGURE": tmp_path / "many.png",
    }
    for name, value in small.items():
        monkeypatch.setattr(many, name, value)
    results = [*many.speed(), *many.thousand(), *many.largest()]
    assert small["FIGURE"].stat().st_size > 5_000
    errors = {one.what.split(",")[0]: one.value for one in results if one.unit == "%"}
    assert errors["error of AutoHead"] < errors["error of softmax"]
    assert all(np.isfinite(one.value) for one in results)
    assert [one.unit for one in results[-3:]] == ["s", "s", "GB"]


@pytest.mark.slow
def test_predictions_on_dask_are_measured_from_the_files_to_the_figure(tmp_path, monkeypatch):
    """With small sizes, on workers that are processes."""
    pytest.importorskip("distributed")
    from benchmarks import dask

    small = {
        "SAMPLES": 40_000,
        "PART": 5_000,
        "KERNEL_SAMPLES": 5_000,
        "SHARES": (1 / 4, 1),
        "CLASSES": (10, 20),
        "LOGITS": 100_000,
        "TASKS": 20,
        "FIGURE": tmp_path / "dask.png",
    }
    for name, value in small.items():
        monkeypatch.setattr(dask, name, value)
    results = list(dask.speed())
    assert small["FIGURE"].stat().st_size > 5_000
    assert all(np.isfinite(one.value) for one in results)
    assert sum("throughput of a core" in one.what for one in results) == 2
    assert [one.what for one in results if one.baseline == "(no unit)"] == ["exponent of N", "exponent of K"]
