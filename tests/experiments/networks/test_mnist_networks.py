"""Networks on MNIST: recipes, seeds, and scores that are kept."""

import sys

import numpy as np
import pytest

from experiments.data.mnist import load_mnist
from experiments.networks.mnist_networks import cases, draw_samples, network_scores, seed_of, train_network
from experiments.networks.recipes import RECIPES
from helpers.made_digits import noisy_digits


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("torch")
    return noisy_digits()


def test_every_network_has_its_own_seed_and_draws(digits):
    everything = cases()
    assert len(everything) == 81
    assert len({seed_of(*case) for case in everything}) == 81
    draws = draw_samples(digits, 100, 0)
    assert [len(indices) for indices in draws] == [100, 4_000, 4_000]
    assert not set(draws.validation) & set(draws.test)
    assert len(set(draws.train)) == 100
    assert not np.array_equal(draws.test, draw_samples(digits, 100, 1).test)


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_say_what_they_build(digits, recipe):
    network = train_network(digits, 100, 0, recipe)
    layers = [layer.out_features for layer in network if hasattr(layer, "out_features")]
    assert layers == [*RECIPES[recipe].hidden, 10]


@pytest.mark.parametrize(
    ("inserted", "kinds"), [("linear", ["Linear", "Linear"]), ("relu", ["Linear", "ReLU", "Linear"])]
)
def test_the_inserted_layer_comes_between_the_response_units_and_softmax(digits, inserted, kinds):
    network = list(train_network(digits, 100, 0, "adam", inserted=inserted))
    assert [type(layer).__name__ for layer in network[-len(kinds) :]] == kinds
    assert [layer.out_features for layer in network if hasattr(layer, "out_features")] == [512, 512, 10, 10]


def test_a_network_is_kept_and_the_same_every_time(digits, tmp_path):
    first = network_scores(digits, 100, 0, "adam", tmp_path / "a")
    again = network_scores(digits, 100, 0, "adam", tmp_path / "b")
    kept = network_scores(digits, 100, 0, "adam", tmp_path / "a")
    other = network_scores(digits, 100, 1, "adam", tmp_path / "a")
    for ours, theirs, third in zip(first, again, kept, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(ours, third)
    assert not np.array_equal(first.val_logits, other.val_logits)
    digest = RECIPES["adam"].digest
    assert {path.name for path in (tmp_path / "a").iterdir()} == {f"adam-{digest}-100-{n}.npz" for n in range(2)}


def test_without_torch_the_error_names_the_install_command_and_nothing_is_left(digits, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install --editable '\.\[experiments\]'"):
        network_scores(digits, 100, 0, "adam", tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_mnist_networks_are_as_strong_as_the_papers(shared, tmp_path):
    pytest.importorskip("torch")
    scores = network_scores(load_mnist(shared / "data"), 100, 0, "adam", tmp_path)
    assert 0.6 < np.mean(scores.val_logits.argmax(axis=1) == scores.val_labels) < 0.85
