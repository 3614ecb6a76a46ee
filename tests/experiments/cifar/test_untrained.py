"""Heads on the outputs of untrained networks."""

import numpy as np
import pytest

from experiments.cifar import untrained
from experiments.cifar.untrained import Case, Outcome, UntrainedExperiment, cases, untrained_table


@pytest.fixture
def clustered(monkeypatch):
    """Ten clusters of images: an untrained network's outputs show them."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 10
    images = (rng.random((10, 20))[labels] + 0.05 * rng.normal(size=(600, 20))).astype(np.float32)
    monkeypatch.setattr(untrained, "HELD_OUT", 300)
    monkeypatch.setattr(UntrainedExperiment, "_images", lambda self, data: (images, labels))


def test_a_head_finds_the_classes_in_outputs_that_nobody_trained(clustered):
    [outcome] = UntrainedExperiment(None).measure(Case("mnist", 0), [])
    assert outcome.argmax_accuracy < 0.5
    assert outcome.accuracy > 0.9
    assert outcome.key == ("mnist", 0)


def test_the_table_has_means_over_networks():
    outcomes = [Outcome(data, n, 0.1, 0.2 + 0.2 * n, "combination") for data in ("mnist", "cifar10") for n in (0, 1)]
    assert "| MNIST | 10.0 % | 30.0 % |" in untrained_table(outcomes)


def test_both_data_sets_have_as_many_networks():
    assert [case.data for case in cases()].count("mnist") == [case.data for case in cases()].count("cifar10") == 3


def test_without_cifar10_it_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="CIFAR-10"):
        UntrainedExperiment(tmp_path).measure(Case("cifar10", 0), [])
