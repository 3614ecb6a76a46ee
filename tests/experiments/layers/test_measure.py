"""The experiment on layers: its tasks, the layers that are collected, and what is recorded of the heads."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from aftermax import AutoHead
from experiments.commands import app
from experiments.data import mnist as mnist_module
from experiments.data.cifar10 import CIFAR10
from experiments.layers import networks as networks_module
from experiments.layers.measure import LAYERS, LayersExperiment, Outcome, Task, features_of, tasks
from experiments.layers.networks import CLEAN, NOISE, Network, Networks, Responses
from experiments.networks import cifar_networks
from experiments.networks.cifar_recipes import CifarRecipe
from experiments.networks.mnist_networks import draw_samples, train_network
from experiments.networks.recipes import MAIN
from experiments.runs.csv_records import read_records
from helpers.made_digits import dim_digits


@pytest.fixture(scope="module")
def digits():
    return dim_digits()


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


# ---- tasks -----------------------------------------------------------------------------------------------------------


def test_every_network_has_few_labelled_samples_and_the_first_ones_have_many():
    listed = tasks(cifar=True)
    assert len(set(listed)) == len(listed) == 13
    assert {task[1:3] for task in listed if task.samples == 400} == {
        (n, k) for n in (100, 1_000, 5_000) for k in (0, 1)
    }
    assert {task[1:3] for task in listed if task.samples == 4_000} == {(n, 0) for n in (100, 1_000, 5_000)}
    of_cifar = {(task.images, task.samples) for task in listed if task.data == "cifar10"}
    assert of_cifar == {(images, samples) for images in (CLEAN, NOISE) for samples in (500, 2_000)}


def test_the_tasks_of_a_network_follow_each_other_so_that_it_is_trained_once():
    order = [task[:4] for task in tasks(cifar=True)]
    assert len({*order}) == 1 + sum(one != other for one, other in pairwise(order))


def test_without_cifar10_and_in_a_quick_run_there_is_vmnist_only():
    assert {task.data for task in tasks(cifar=False)} == {"vmnist"}
    assert tasks(cifar=True, quick=True) == [Task("vmnist", 100, 0, CLEAN, 400)]


# ---- layers ----------------------------------------------------------------------------------------------------------


def test_the_layers_of_vmnist_are_its_hidden_ones_after_their_relu(digits):
    validation, test = Networks(digits, None).samples(Network("vmnist", 100, 0))
    draws = draw_samples(digits, 100, 0)
    network = train_network(digits, 100, 0, MAIN).eval()
    with torch.no_grad():
        first = network[:2](torch.from_numpy(digits.test_images[draws.test]))
        last = network[2:6](first)
    np.testing.assert_allclose(test.earlier, first, atol=1e-5)
    np.testing.assert_allclose(test.last, last, atol=1e-5)
    np.testing.assert_allclose(test.logits, network[6](last).detach(), atol=1e-5)
    np.testing.assert_array_equal(validation.labels, digits.test_labels[draws.validation])


def test_a_convolutional_layer_is_averaged_over_the_image(digits, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(networks_module, "CIFAR_RECIPE", CifarRecipe("cifar10", (4, 6, 8), 1, batch=16))
    monkeypatch.setattr(cifar_networks, "VALIDATION_SAMPLES", 16)
    images = np.random.default_rng(0).random((40, 3, 32, 32), dtype=np.float32)
    cifar10 = CIFAR10(images, np.arange(40) % 10, images, np.arange(40) % 10)
    found = Networks(digits, cifar10, tmp_path)
    clean, noisy = (found.samples(Network("cifar10", 50_000, 0, shift)) for shift in (CLEAN, NOISE))
    assert capsys.readouterr().out == "The network on CIFAR-10: epoch 1 of 1\n"  # once
    validation, test = cifar_networks.draw_samples(40)
    network = found._trained(cifar10).eval()
    with torch.no_grad():
        block = network[:4](torch.from_numpy(images))
        last = network[4:8](block)
    for part, indices in zip(clean, (validation, test), strict=True):
        np.testing.assert_allclose(part.earlier, block.mean(dim=(2, 3))[indices], atol=1e-5)
        np.testing.assert_allclose(part.last, last[indices], atol=1e-5)
        np.testing.assert_array_equal(part.labels, cifar10.test_labels[indices])
    assert np.abs(clean[1].logits - noisy[1].logits).max() > 0


def test_without_cifar10_its_network_is_an_error(digits):
    with pytest.raises(FileNotFoundError, match="CIFAR-10 is needed"):
        Networks(digits, None).samples(Network("cifar10", 50_000, 0))


# ---- heads -----------------------------------------------------------------------------------------------------------


class MadeNetworks:
    """Three classes. The logits see little of them, the earlier layer sees more, the last one nothing more."""

    def samples(self, network):
        return self.draw(1, 150), self.draw(2, 300)

    def draw(self, seed, n_samples):
        rng = np.random.default_rng(seed)
        labels = rng.integers(3, size=n_samples)
        earlier = np.eye(3)[labels] * 3 + rng.normal(size=(n_samples, 3))
        logits = 0.5 * np.eye(3)[labels] + rng.normal(size=(n_samples, 3))
        last = np.hstack([logits, -logits])
        return Responses(*(values.astype(np.float32) for values in (logits, earlier, last)), labels)


def test_outcomes_are_counted_against_softmax_and_against_the_last_layer(tmp_path):
    experiment, path = LayersExperiment(MadeNetworks()), tmp_path / "outcomes.csv"
    outcomes = experiment.run([Task("vmnist", 100, 0, CLEAN, 120)], path)
    assert outcomes == read_records(Outcome, path)
    assert [one.layers for one in outcomes] == list(LAYERS)
    assert [one.features for one in outcomes] == [0, 6, 3, 9]
    validation, test = MadeNetworks().samples(None)
    softmax = test.logits.argmax(axis=1) == test.labels
    right = {}
    for one in outcomes:
        head = AutoHead(n_jobs=1, progress=False)
        head.fit(
            validation.logits[:120], validation.labels[:120], features_of(validation.at(np.arange(120)), one.layers)
        )
        right[one.layers] = head.predict(test.logits, features_of(test, one.layers)) == test.labels
        assert one.error == pytest.approx(np.mean(~right[one.layers]))
        assert one.gain == pytest.approx(1 - one.error / np.mean(~softmax))
        assert (one.promised, one.proven, one.chosen) == (head.gain_, head.proven_, head.chosen_)
    logits, last, earlier, both = outcomes
    assert earlier.gain > max(logits.gain, last.gain) + 0.2
    assert both.wins_over_last == np.sum(right["both"] & ~right["last"])
    assert both.losses_to_last == np.sum(right["last"] & ~right["both"])
    assert (last.wins_over_last, last.losses_to_last, last.p_value_to_last) == (0, 0, 1.0)


def test_a_run_is_resumed_where_it_stopped(tmp_path):
    path, experiment = tmp_path / "outcomes.csv", LayersExperiment(MadeNetworks())
    first, second = (Task("vmnist", 100, number, CLEAN, 60) for number in range(2))
    experiment.run([first], path)
    done = path.read_text().splitlines()
    experiment.run([first, second], path)
    assert path.read_text().splitlines()[:5] == done
    assert len(path.read_text().splitlines()) == 9


def test_both_layers_stand_side_by_side_the_earlier_one_first():
    [test] = MadeNetworks().samples(None)[1:]
    assert features_of(test, "logits") is None
    assert [part.shape[1] for part in features_of(test, "both")] == [3, 6]


@pytest.mark.slow
def test_a_quick_run_from_images_to_report(digits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mnist_module, "load_mnist", lambda folder: digits)
    done = CliRunner().invoke(app, ["layers", "--quick"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "layers-quick"
    assert "Written to results/layers-quick" in done.output
    assert {path.name for path in folder.iterdir()} == {
        "outcomes.csv",
        "run.json",
        "report.md",
        "table.md",
        "verdict.md",
    }
    outcomes = read_records(Outcome, folder / "outcomes.csv")
    assert [one.features for one in outcomes] == [0, 512, 512, 1_024]
    assert {one.key for one in outcomes} == set(tasks(cifar=False, quick=True))
    assert "It was left out of this run." in (folder / "report.md").read_text()
