"""The trials of the benchmark: on vMNIST and on score files."""

from pathlib import Path

import numpy as np
import pytest

from experiments.benchmark.trials import file_trials, network_samples, vmnist_trials
from experiments.data.mnist import MNIST
from experiments.networks import mnist_networks
from helpers.outcomes import trial_samples


def test_vmnist_trials_are_every_size_with_many_and_few_samples():
    trials = vmnist_trials(None, Path("nowhere"))
    assert len(trials) == len({trial.key for trial in trials}) == 9 * 3 * 2
    assert {trial.samples for trial in trials} == {400, 4000}
    assert [trial.key for trial in vmnist_trials(None, Path("nowhere"), quick=True)] == [
        ("vmnist", "100", 0, 400),
        ("vmnist", "1000", 0, 400),
    ]


def test_score_files_with_features_are_used_with_few_samples_too(tmp_path):
    validation, test = trial_samples()
    arrays = {
        "val_logits": validation.logits,
        "val_labels": validation.labels,
        "test_logits": test.logits,
        "test_labels": test.labels,
    }
    np.savez(tmp_path / "plain.npz", **arrays)
    features = {"val_features": validation.logits.astype(np.float16), "test_features": test.logits.astype(np.float16)}
    np.savez(tmp_path / "shifted.npz", **arrays, **features)
    trials = file_trials(tmp_path)
    assert [trial.key[1:] for trial in trials] == [("plain", 0, 150), ("shifted", 0, 100), ("shifted", 0, 150)]
    assert trials[0].split()[0].features is None
    samples, unseen = trials[1].split()
    assert (samples.features.dtype, samples.features.shape, unseen.features.shape) == (np.float32, (100, 3), (200, 3))
    np.testing.assert_allclose(samples.logits, validation.logits[:100], rtol=1e-6)
    (tmp_path / "shifted.npz").write_bytes((tmp_path / "shifted.npz").read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"shifted.npz is damaged or no score file"):
        file_trials(tmp_path)
    with pytest.raises(FileNotFoundError, match="holds no score files"):
        file_trials(tmp_path / "empty")


def test_a_network_and_its_hidden_layer_are_kept_and_are_those_of_the_main_experiment(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    images = rng.random((300, 784), dtype=np.float32)
    mnist = MNIST(images, rng.integers(10, size=300), images[:100], rng.integers(10, size=100))
    monkeypatch.setattr(mnist_networks, "HELD_OUT", 40)
    validation, test = network_samples(mnist, 100, 0, tmp_path)
    scores = mnist_networks.network_scores(mnist, 100, 0, "adam", tmp_path / "main")
    np.testing.assert_array_equal(validation.logits, scores.val_logits)
    np.testing.assert_array_equal(test.labels, scores.test_labels)
    assert validation.features.shape == test.features.shape == (40, 512)
    assert (validation.features >= 0).all()  # after a ReLU
    monkeypatch.setattr(mnist_networks, "train_network", None)  # it is kept
    np.testing.assert_array_equal(network_samples(mnist, 100, 0, tmp_path)[0].features, validation.features)
