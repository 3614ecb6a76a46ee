"""How softmax behaves on a network, and the file that keeps it."""

import numpy as np
import pytest

from experiments.cifar.behaviour import behaviour_table, behaviours
from experiments.cifar.cases import SPH, Case
from experiments.networks.samples import Samples


def case_of(labels, predictions, network="made"):
    samples = Samples(3 * np.eye(3, dtype=np.float32)[predictions], np.asarray(labels))
    return Case("networks", "cifar10", network, "", 0, SPH, lambda: (samples, samples))


@pytest.mark.parametrize(("predictions", "imbalance"), [([0, 1, 2, 0], 0.0), ([0, 0, 0, 0], 0.5), ([1, 0, 2, 0], 0.0)])
def test_imbalance_is_how_far_predicted_shares_are_from_the_true_ones(tmp_path, predictions, imbalance):
    [record] = behaviours([case_of([0, 1, 2, 0], predictions)], tmp_path / "behaviour.csv")
    assert record.imbalance == pytest.approx(imbalance)


def test_networks_whose_scores_are_elsewhere_stay_in_the_file(tmp_path):
    path = tmp_path / "behaviour.csv"
    behaviours([case_of([0, 1], [0, 1], "published")], path)
    found = behaviours([case_of([0, 1], [1, 0], "ours")], path)
    assert [record.network for record in found] == ["ours", "published"]
    assert "| CIFAR-10 | published | 100.0 % |" in behaviour_table(found)
