"""CIFAR-100, with fine and with coarse labels."""

import pickle

import numpy as np
import pytest

from experiments.data import cifar100
from experiments.data.cifar100 import load_cifar100

TRAIN, TEST = 200, 4


def made_file(samples, seed):
    rng = np.random.default_rng(seed)
    fine = rng.permutation(np.arange(samples) % 100)
    return {
        b"data": rng.integers(256, size=(samples, 3072), dtype=np.uint8),
        b"fine_labels": fine.tolist(),
        b"coarse_labels": (fine // 5).tolist(),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Something like CIFAR-100, with few images."""
    monkeypatch.setattr(cifar100, "TRAIN_SIZE", TRAIN)
    monkeypatch.setattr(cifar100, "TEST_SIZE", TEST)
    (tmp_path / "cifar-100-python").mkdir()
    for seed, (name, samples) in enumerate([("train", TRAIN), ("test", TEST)]):
        (tmp_path / "cifar-100-python" / name).write_bytes(pickle.dumps(made_file(samples, seed), protocol=2))
    return tmp_path


def test_images_come_with_fine_and_coarse_labels(folder):
    found = load_cifar100(folder)
    train, test = made_file(TRAIN, 0), made_file(TEST, 1)
    assert found.train_images.shape == (TRAIN, 3, 32, 32)
    assert found.test_images.dtype == np.float32
    np.testing.assert_array_equal(np.rint(255 * found.test_images).reshape(TEST, -1), test[b"data"].astype(float))
    np.testing.assert_array_equal(found.train_labels, train[b"fine_labels"])
    np.testing.assert_array_equal(found.train_coarse_labels, train[b"coarse_labels"])
    np.testing.assert_array_equal(found.test_labels, test[b"fine_labels"])
    np.testing.assert_array_equal(found.test_coarse_labels, test[b"coarse_labels"])


def test_where_there_is_no_cifar100_there_is_none(tmp_path):
    assert load_cifar100(tmp_path) is None


def test_a_missing_file_is_named(folder):
    (folder / "cifar-100-python" / "test").unlink()
    with pytest.raises(FileNotFoundError, match=r"CIFAR-100 is not whole: .*test is missing; get cifar-100-python"):
        load_cifar100(folder)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({b"coarse_labels": [20] * TEST}, r"its labels run from 20 to 20, not from 0 to 19"),
        ({b"fine_labels": [-1] * TEST}, r"its labels run from -1 to -1, not from 0 to 99"),
        ({b"fine_labels": None}, r"its labels are no list of 4 whole numbers"),
    ],
)
def test_labels_that_cifar100_does_not_have_are_refused(folder, change, complaint):
    path = folder / "cifar-100-python" / "test"
    path.write_bytes(pickle.dumps(made_file(TEST, 1) | change, protocol=2))
    with pytest.raises(ValueError, match=rf"test is damaged or no batch of CIFAR-100 \({complaint}"):
        load_cifar100(folder)


def test_a_file_without_coarse_labels_is_refused(folder):
    content = made_file(TEST, 1)
    del content[b"coarse_labels"]
    (folder / "cifar-100-python" / "test").write_bytes(pickle.dumps(content, protocol=2))
    with pytest.raises(ValueError, match=r"no batch of CIFAR-100 \(no b'coarse_labels'\)"):
        load_cifar100(folder)
