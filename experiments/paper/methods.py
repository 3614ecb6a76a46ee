"""What the paper compares, and the honest alternatives: each method answers the test rows of a trained network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from aftermax import SPHClassifier, SPHClassifierCV, sweep
from aftermax.data import Scores
from aftermax.sph.classifier import HYPERPARAMETERS
from aftermax.sph.grid import Grid
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import draw_rows, scores_of, train_network

if TYPE_CHECKING:
    from torch import nn


class Subject(NamedTuple):
    """A trained network with all that the methods may ask for."""

    mnist: MNIST
    size: int
    number: int
    recipe: str
    grid: Grid | None
    network: nn.Sequential
    scores: Scores

    def variant(self, **changes: Any) -> NDArray[np.int64]:
        """Answers to the test rows of the same network trained in another way."""
        network = train_network(self.mnist, self.size, self.number, self.recipe, **changes)
        draws = draw_rows(self.mnist, self.size, self.number)
        return np.asarray(scores_of(network, self.mnist, draws).test_logits.argmax(axis=1))


# The test rows' labels as answered, and SPH's settings if it was SPH.
Answers = tuple[NDArray[np.int64], dict[str, Any]]


def softmax(subject: Subject) -> Answers:
    return subject.scores.test_logits.argmax(axis=1), {}


def sph_best_on_test(subject: Subject) -> Answers:
    """The paper's protocol: of all settings, those with the best score on the test rows, by their labels."""
    logits, labels, test, truth = subject.scores
    columns = sweep(logits, labels, subject.grid, eval_logits=test, eval_labels=truth, progress=False)
    best = int(np.argmax(columns["gain"]))
    settings = {name: columns[name][best].item() for name in HYPERPARAMETERS}
    return SPHClassifier(**settings).fit(logits, labels).predict(test), settings


def sph_chosen(subject: Subject) -> Answers:
    """Settings chosen on the validation rows alone, and softmax kept where no gain can be shown on them."""
    logits, labels, test, _ = subject.scores
    head = SPHClassifierCV(subject.grid, progress=False).fit(logits, labels)
    return head.predict(test), head.best_params_


def inserted_linear(subject: Subject) -> Answers:
    return subject.variant(inserted="linear"), {}


def inserted_relu(subject: Subject) -> Answers:
    return subject.variant(inserted="relu"), {}


def bayes_on_validation(subject: Subject) -> Answers:
    """Naive Bayes on the responses to the validation rows, the rows that SPH has too."""
    logits, labels, test, _ = subject.scores
    return GaussianNB().fit(logits, labels).predict(test), {}


def bayes_on_training(subject: Subject) -> Answers:
    """Naive Bayes on the responses to the rows that the network was trained on."""
    from experiments.networks import models

    rows = draw_rows(subject.mnist, subject.size, subject.number).train
    responses = models.logits(subject.network, subject.mnist.train_images[rows])
    return GaussianNB().fit(responses, subject.mnist.train_labels[rows]).predict(subject.scores.test_logits), {}


def retrained(subject: Subject) -> Answers:
    """The same network trained on the training and the validation rows: what else the labels could be used for."""
    return subject.variant(with_validation=True), {}


METHODS: dict[str, Callable[[Subject], Answers]] = {
    method.__name__: method
    for method in (
        softmax,
        sph_best_on_test,
        sph_chosen,
        inserted_linear,
        inserted_relu,
        bayes_on_validation,
        bayes_on_training,
        retrained,
    )
}
LOOK_AT_TEST_LABELS = {"sph_best_on_test"}
