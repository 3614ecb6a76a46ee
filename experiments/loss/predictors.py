"""How a trained network predicts: by its own rule, with D from other samples, or with AutoHead."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax

from aftermax import AutoHead
from experiments.data.mnist import MNIST
from experiments.loss.rules import RULES, PooledRule
from experiments.loss.training import LOSSES, Model
from experiments.networks import models
from experiments.networks.mnist_networks import Draws

Array = NDArray[np.float32]
Prediction = tuple[str, NDArray[np.int64], float]  # the predictor, the classes, and the seconds that it took to fit


def predictions(mnist: MNIST, draws: Draws, loss: str, model: Model, with_auto: bool) -> Iterator[Prediction]:
    """Every predictor that suits a loss, on the test samples. Where the loss has softmax in it, argmax comes first."""
    validation, test = (responses_of(model, mnist.test_images[samples]) for samples in (draws.validation, draws.test))
    labels = mnist.test_labels[draws.validation]
    if LOSSES[loss].softmax:
        yield "argmax", test.argmax(axis=1), 0.0
    if model.rule is not None:
        yield "running", rule_scores(model.rule, test).argmax(axis=1), 0.0
    for name in [LOSSES[loss].rule] if LOSSES[loss].rule else RULES:
        rule = fitted_rule(name, validation, labels)
        yield f"{name}_validation", rule_scores(rule, test).argmax(axis=1), 0.0
    if with_auto:
        begun = perf_counter()
        if not LOSSES[loss].softmax:  # then response j has nothing to do with class j, but score j of the rule has
            validation, test = own_scores(model, validation), own_scores(model, test)
        predicted = auto_predictions(validation, test, labels)
        yield "auto", predicted, perf_counter() - begun


def own_scores(model: Model, responses: Array) -> Array:
    """The scores by which a network predicts: the log-probabilities of its rule, or the responses without one."""
    if model.rule is None:
        return responses
    return np.asarray(log_softmax(rule_scores(model.rule, responses), axis=1), dtype=np.float32)


def responses_of(model: Model, images: Array) -> Array:
    return models.logits(model.network, images)


def rule_scores(rule: PooledRule, responses: Array) -> Array:
    with torch.no_grad():
        return np.asarray(rule(torch.from_numpy(responses)).numpy())


def fitted_rule(name: str, responses: Array, labels: NDArray[np.int64]) -> PooledRule:
    """A rule with D from these samples alone."""
    rule = RULES[name](responses.shape[1])
    with torch.no_grad():
        rule.update(torch.from_numpy(responses), torch.from_numpy(labels))
    return rule


def auto_predictions(validation: Array, test: Array, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """AutoHead's predictions for the test samples, fitted on the validation samples."""
    head = AutoHead(classes=np.arange(validation.shape[1]), progress=False, n_jobs=1)
    with warnings.catch_warnings():  # rare classes are part of the experiment
        warnings.filterwarnings("ignore", r"Fewer than \d+ labelled samples", UserWarning)
        return np.asarray(head.fit(validation, labels).predict(test))
