"""Training with softmax's loss, with that of a pooled rule, or with their sum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from experiments.loss.rules import RULES, PooledRule
from experiments.networks.models import dense_network
from experiments.networks.recipes import Recipe

EPOCHS = (9, 20, 40, 80)
MAX_STEPS = 800


class Loss(NamedTuple):
    """What the cross-entropy is of: the responses, as with softmax, the scores of a pooled rule, or the sum of both."""

    rule: str
    softmax: bool


LOSSES = {
    "softmax": Loss("", softmax=True),
    "sph": Loss("sph", softmax=False),
    "sph_softmax": Loss("sph", softmax=True),
    "gaussian": Loss("gaussian", softmax=False),
    "gaussian_softmax": Loss("gaussian", softmax=True),
}


class Model(NamedTuple):
    """A network, and the rule that pools its responses where the loss has one."""

    network: nn.Sequential
    rule: PooledRule | None


def new_model(loss: Loss, recipe: Recipe, inputs: int, classes: int, seed: int) -> Model:
    """An untrained network; the same seed gives the same weights with every loss."""
    torch.set_num_threads(1)  # sums over several threads depend on how many there are
    torch.manual_seed(seed)
    return Model(dense_network(recipe, inputs, classes), RULES[loss.rule](classes) if loss.rule else None)


def epochs_to_try(size: int, batch: int) -> list[int]:
    """The numbers of epochs that take at most MAX_STEPS batches; the fewest always."""
    batches = -(-size // batch)
    return [epochs for epochs in EPOCHS if epochs == EPOCHS[0] or epochs * batches <= MAX_STEPS]


def train(
    model: Model,
    loss: Loss,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    recipe: Recipe,
    stops: Sequence[int],
) -> Iterator[int]:
    """Train as the main experiment does (Adam), and stop for a look after each of these numbers of epochs."""
    network, rule = model
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    parameters = [*network.parameters(), *(rule.parameters() if rule else ())]
    optimiser = torch.optim.Adam(parameters, lr=1e-3, eps=1e-7)
    for epoch in range(1, max(stops) + 1):
        network.train()
        for batch in torch.randperm(len(inputs)).split(recipe.batch):
            optimiser.zero_grad()
            batch_loss(model, loss, inputs[batch], targets[batch]).backward()
            optimiser.step()
        if epoch in stops:
            yield epoch


def batch_loss(model: Model, loss: Loss, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean cross-entropy of a batch; the rule's running statistics take the batch in."""
    responses = model.network(images)
    scores = [responses] if loss.softmax else []
    if model.rule is not None:
        scores.append(model.rule(responses, model.rule.update(responses, labels)))
    return torch.stack([nn.functional.cross_entropy(part, labels) for part in scores]).sum()
