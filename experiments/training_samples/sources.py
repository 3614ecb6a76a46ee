"""Where the scores come from that a head is fitted on: training samples, cross-fitted or not, and held-out samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import (
    HELD_OUT,
    Case,
    Draws,
    draw_samples,
    import_torch,
    seed_of,
    train_network,
)
from experiments.networks.recipes import MAIN, RECIPES

if TYPE_CHECKING:
    from torch import nn

FOLDS = 5
MAX_FITTED_ON = 4_000


class Labelled(NamedTuple):
    """Scores of labelled samples."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]

    def first(self, count: int) -> Labelled:
        return Labelled(self.logits[:count], self.labels[:count])


class Trained(NamedTuple):
    """A network of the main experiment, and what it was trained on."""

    mnist: MNIST
    case: Case
    draws: Draws
    network: nn.Sequential


class Fitting(NamedTuple):
    """What a head is fitted on, and the network that it is then used on."""

    samples: Labelled
    network: nn.Sequential


def train(mnist: MNIST, case: Case) -> Trained:
    """Train a network of the main experiment."""
    return Trained(mnist, case, draw_samples(mnist, *case), train_network(mnist, *case, MAIN))


def on_training(trained: Trained) -> Fitting:
    """The scores of the training samples themselves."""
    return Fitting(_scores(trained.network, trained.mnist, trained.draws.train[:MAX_FITTED_ON]), trained.network)


def cross_fitted(trained: Trained) -> Fitting:
    """Out-of-fold scores of the training samples; the head is used on the network trained on all of them."""
    folds = np.array_split(trained.draws.train, FOLDS)  # the draw is in random order already
    parts = []
    for fold, samples in enumerate(folds):
        others = np.concatenate([other for number, other in enumerate(folds) if number != fold])
        parts.append(_scores(_train_on(trained, others, 1 + fold), trained.mnist, samples))
    logits, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    # With more samples than a head is fitted on, every fold should be among them.
    order = np.random.default_rng(seed_of(*trained.case)).permutation(len(labels))[:MAX_FITTED_ON]
    return Fitting(Labelled(logits[order], labels[order]), trained.network)


def held_out(trained: Trained) -> Fitting:
    """As many other samples as there are training samples, from the rest of MNIST's training set."""
    train = trained.draws.train
    rest = np.setdiff1d(np.arange(len(trained.mnist.train_labels)), train)
    count = min(len(train), MAX_FITTED_ON, len(rest))
    samples = np.random.default_rng([seed_of(*trained.case), 1]).permutation(rest)[:count]
    return Fitting(_scores(trained.network, trained.mnist, samples), trained.network)


def validation(trained: Trained) -> Fitting | None:
    """The validation samples of the main experiment; None where ``held_out`` has as many."""
    if trained.case.size >= HELD_OUT:
        return None
    samples = trained.draws.validation
    logits = _logits(trained.network, trained.mnist.test_images[samples])
    return Fitting(Labelled(logits, trained.mnist.test_labels[samples]), trained.network)


def split(trained: Trained) -> Fitting:
    """The same labels, used in another way: a network trained on 80 % of them, and the head on the other 20 %."""
    train = trained.draws.train
    first = len(train) * 4 // 5
    network = _train_on(trained, train[:first], 1 + FOLDS)
    return Fitting(_scores(network, trained.mnist, train[first:][:MAX_FITTED_ON]), network)


SOURCES: dict[str, Callable[[Trained], Fitting | None]] = {
    source.__name__: source for source in (on_training, cross_fitted, held_out, validation, split)
}


def test_scores(trained: Trained, network: nn.Sequential) -> Labelled:
    """The scores of the test samples by this network."""
    samples = trained.draws.test
    return Labelled(_logits(network, trained.mnist.test_images[samples]), trained.mnist.test_labels[samples])


def _train_on(trained: Trained, samples: NDArray[np.int64], number: int) -> nn.Sequential:
    """Train on these samples of MNIST's training set, from a seed that no other network has."""
    from experiments.networks import models, training

    mnist = trained.mnist
    import_torch().manual_seed(seed_of(*trained.case) + 100 * number)
    network = models.dense_network(RECIPES[MAIN], mnist.train_images.shape[1], 10)
    training.train(network, mnist.train_images[samples], mnist.train_labels[samples], RECIPES[MAIN])
    return network


def _scores(network: nn.Sequential, mnist: MNIST, samples: NDArray[np.int64]) -> Labelled:
    return Labelled(_logits(network, mnist.train_images[samples]), mnist.train_labels[samples])


def _logits(network: nn.Sequential, images: NDArray[np.float32]) -> NDArray[np.float32]:
    from experiments.networks import models

    return models.logits(network, images)
