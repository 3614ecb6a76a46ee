"""The trials on letters: networks that are trained once, on other letters than the heads."""

import numpy as np
import pytest

from experiments.benchmark import letters_trials
from experiments.benchmark.letters_trials import letters_samples
from experiments.data.letters import Letters
from experiments.networks.recipes import Recipe


@pytest.fixture
def letters(monkeypatch):
    """300 letters, each of which has a number of its own; 100 labelled and 120 test samples."""
    rng = np.random.default_rng(0)
    made = Letters(rng.random((300, 16), dtype=np.float32), np.arange(300) % 26)
    monkeypatch.setattr(letters_trials, "load_letters", lambda kept: made)
    monkeypatch.setattr(letters_trials, "VALIDATION_SAMPLES", (100, 40))
    monkeypatch.setattr(letters_trials, "TEST_SAMPLES", 120)
    monkeypatch.setattr(letters_trials, "RECIPE", Recipe("quick", epochs=1, hidden=(8, 5)))
    return made


def test_a_network_of_each_size_with_many_and_few_samples(letters, tmp_path):
    trials = letters_trials.letters_trials(tmp_path)
    assert [trial.key for trial in trials] == [
        ("letters", str(size), 0, count) for count in (100, 40) for size in (500, 2_000, 8_000)
    ]
    [quick] = letters_trials.letters_trials(tmp_path, quick=True)
    assert quick.key == ("letters", "500", 0, 40)


def test_heads_are_fitted_and_tested_on_letters_that_the_network_was_not_trained_on(letters, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from experiments.networks import models, training

    trained = []
    monkeypatch.setattr(training, "train", lambda network, X, y, recipe: trained.append(X))
    validation, test = letters_samples(letters, 60, tmp_path)
    assert (validation.logits.shape, test.logits.shape) == ((100, 26), (120, 26))
    assert (validation.features.shape, test.features.shape) == ((100, 5), (120, 5))
    order = np.random.default_rng(60).permutation(300)
    np.testing.assert_array_equal(trained[0], letters.features[order[:60]])
    np.testing.assert_array_equal(validation.labels, letters.labels[order[60:160]])
    np.testing.assert_array_equal(test.labels, letters.labels[order[160:280]])
    monkeypatch.setattr(models, "dense_network", None)  # it is kept
    np.testing.assert_array_equal(letters_samples(letters, 60, tmp_path)[0].logits, validation.logits)
