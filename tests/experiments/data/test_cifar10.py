"""CIFAR-10 as a whole: where it is looked for, and in which order its batches come."""

import pickle

import numpy as np
import pytest

from experiments.data import cifar10
from experiments.data.cifar10 import TEST_BATCH, TRAIN_BATCHES, load_cifar10

SAMPLES = 4


def made_batch(seed=0, samples=SAMPLES):
    rng = np.random.default_rng(seed)
    return {
        b"data": rng.integers(256, size=(samples, 3072), dtype=np.uint8),
        b"labels": rng.integers(10, size=samples).tolist(),
    }


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(cifar10, "BATCH_SIZE", SAMPLES)


@pytest.fixture
def folder(tmp_path, small):
    """Something like CIFAR-10, with four images to a batch."""
    (tmp_path / "cifar-10-batches-py").mkdir()
    for seed, name in enumerate([*TRAIN_BATCHES, TEST_BATCH]):
        (tmp_path / "cifar-10-batches-py" / name).write_bytes(pickle.dumps(made_batch(seed), protocol=2))
    return tmp_path


def test_images_are_numbers_from_0_to_1_in_the_order_of_the_batches(folder):
    found = load_cifar10(folder)
    assert [part.shape for part in found] == [
        (5 * SAMPLES, 3, 32, 32),
        (5 * SAMPLES,),
        (SAMPLES, 3, 32, 32),
        (SAMPLES,),
    ]
    assert [str(part.dtype) for part in found] == ["float32", "int64", "float32", "int64"]
    second, last = made_batch(1), made_batch(5)
    np.testing.assert_array_equal(found.train_labels[SAMPLES : 2 * SAMPLES], second[b"labels"])
    np.testing.assert_array_equal(
        np.rint(255 * found.train_images[SAMPLES : 2 * SAMPLES]).reshape(SAMPLES, -1), second[b"data"].astype(float)
    )
    np.testing.assert_array_equal(np.rint(255 * found.test_images).reshape(SAMPLES, -1), last[b"data"].astype(float))


def test_where_there_is_no_cifar10_there_is_none(tmp_path, monkeypatch):
    monkeypatch.delenv("AFTERMAX_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_cifar10() is None
    assert load_cifar10(tmp_path / "nowhere") is None


def test_it_is_looked_for_where_mnist_is(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("AFTERMAX_DATA", str(folder))
    assert load_cifar10() is not None
    assert load_cifar10(tmp_path / "given") is None
    monkeypatch.delenv("AFTERMAX_DATA")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    assert load_cifar10() is None
    (folder / "cifar-10-batches-py").rename(tmp_path / "data" / "cifar-10-batches-py")
    assert load_cifar10() is not None


def test_a_missing_batch_is_named(folder):
    (folder / "cifar-10-batches-py" / "data_batch_3").unlink()
    with pytest.raises(FileNotFoundError, match=r"CIFAR-10 is not whole: .*data_batch_3 is missing; get .* again"):
        load_cifar10(folder)
