"""The trials on letters, 26 classes: small networks that were trained on few and on many of UCI's letters."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from experiments.benchmark.trials import SCORES_FOLDER, VALIDATION_SAMPLES, Trial, keep_samples, load_samples
from experiments.data.letters import Letters, load_letters
from experiments.networks.mnist_networks import import_torch
from experiments.networks.recipes import Recipe
from experiments.networks.samples import Samples

SIZES = (500, 2_000, 8_000)  # of the training sets
RECIPE = Recipe("Adam, 40 epochs, two hidden layers of 256", epochs=40, hidden=(256, 256), batch=64)
CLASSES = 26
TEST_SAMPLES = 8_000


def letters_trials(kept: Path = SCORES_FOLDER, quick: bool = False) -> list[Trial]:
    """A network of each size, with many and with few labelled samples; quick: the smallest, with few.

    Labelled and test samples are letters that the network was not trained on.
    """
    letters = load_letters(kept)
    sizes, counts = (SIZES[:1], VALIDATION_SAMPLES[1:]) if quick else (SIZES, VALIDATION_SAMPLES)
    return [
        Trial("letters", str(size), 0, count, partial(letters_samples, letters, size, kept))
        for count in counts
        for size in sizes
    ]


def letters_samples(letters: Letters, size: int, kept: Path) -> tuple[Samples, Samples]:
    """A network's scores and last hidden layer, from the folder ``kept`` or trained now."""
    path = kept / f"letters-{RECIPE.digest}-{size}.npz"
    if not path.is_file():
        torch = import_torch()
        from experiments.networks import models, training

        torch.set_num_threads(1)  # sums over several threads depend on how many there are
        torch.manual_seed(size)
        order = np.random.default_rng(size).permutation(len(letters.labels))
        ends = np.cumsum([size, max(VALIDATION_SAMPLES), TEST_SAMPLES])
        train, validation, test, _ = np.split(order, ends)
        network = models.dense_network(RECIPE, letters.features.shape[1], CLASSES)
        training.train(network, letters.features[train], letters.labels[train], RECIPE)
        hidden, logits = models.hidden_and_logits(network, letters.features)
        keep_samples(path, *(Samples(logits[part], letters.labels[part], hidden[part]) for part in (validation, test)))
    return load_samples(path)
