"""What the paper compares, the honest alternatives, and AutoHead: each method predicts a network's test samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, SPHClassifierCV
from aftermax.data import Scores
from aftermax.sph.grid import Grid
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import draw_samples, scores_of, train_network
from experiments.paper.best_on_test import best_on_test

if TYPE_CHECKING:
    from torch import nn


class TrainedNetwork(NamedTuple):
    """A trained network's scores, and what is needed to train it again, or in another way."""

    mnist: MNIST
    size: int
    number: int
    recipe: str
    grid: Grid | None
    network: nn.Sequential | None  # None if only its scores were kept
    scores: Scores

    def itself(self) -> nn.Sequential:
        """The network, which is trained again if it is not at hand."""
        if self.network is not None:
            return self.network
        return train_network(self.mnist, self.size, self.number, self.recipe)

    def variant(self, **changes: Any) -> NDArray[np.int64]:
        """Predictions of the same network trained in another way, for the test samples."""
        network = train_network(self.mnist, self.size, self.number, self.recipe, **changes)
        draws = draw_samples(self.mnist, self.size, self.number)
        return np.asarray(scores_of(network, self.mnist, draws).test_logits.argmax(axis=1))


# The predicted labels of the test samples, and what was chosen: SPH's hyperparameters, or AutoHead's candidate.
Predictions = tuple[NDArray[np.int64], dict[str, Any]]


def softmax(trained: TrainedNetwork) -> Predictions:
    return trained.scores.test_logits.argmax(axis=1), {}


def sph_best_on_test(trained: TrainedNetwork) -> Predictions:
    """The paper's protocol: the hyperparameters with the best score on the test samples, by their labels."""
    logits, labels, test, truth = trained.scores
    return best_on_test(logits, labels, test, truth, trained.grid)


def sph_chosen(trained: TrainedNetwork) -> Predictions:
    """Hyperparameters chosen on the validation samples alone, and softmax kept where no gain can be shown on them."""
    logits, labels, test, _ = trained.scores
    head = SPHClassifierCV(trained.grid, progress=False).fit(logits, labels)
    return head.predict(test), head.best_params_


def auto_head(trained: TrainedNetwork) -> Predictions:
    """AutoHead, which is not the paper's. It sees the validation samples only, and keeps softmax in the same way."""
    logits, labels, test, _ = trained.scores
    head = AutoHead(progress=False).fit(logits, labels)
    return head.predict(test), {"chosen": head.chosen_}


def inserted_linear(trained: TrainedNetwork) -> Predictions:
    return trained.variant(inserted="linear"), {}


def inserted_relu(trained: TrainedNetwork) -> Predictions:
    return trained.variant(inserted="relu"), {}


def bayes_on_validation(trained: TrainedNetwork) -> Predictions:
    """Naive Bayes on the responses to the validation samples, which SPH is fitted on too."""
    logits, labels, test, _ = trained.scores
    return GaussianNB().fit(logits, labels).predict(test), {}


def bayes_on_training(trained: TrainedNetwork) -> Predictions:
    """Naive Bayes on the responses to the samples that the network was trained on."""
    from experiments.networks import models

    train = draw_samples(trained.mnist, trained.size, trained.number).train
    responses = models.logits(trained.itself(), trained.mnist.train_images[train])
    return GaussianNB().fit(responses, trained.mnist.train_labels[train]).predict(trained.scores.test_logits), {}


def retrained(trained: TrainedNetwork) -> Predictions:
    """The same network trained on the training and the validation samples: another use of these labels."""
    return trained.variant(with_validation=True), {}


METHODS: dict[str, Callable[[TrainedNetwork], Predictions]] = {
    method.__name__: method
    for method in (
        softmax,
        sph_best_on_test,
        sph_chosen,
        auto_head,
        inserted_linear,
        inserted_relu,
        bayes_on_validation,
        bayes_on_training,
        retrained,
    )
}
USE_TEST_LABELS = {"sph_best_on_test"}
