"""Networks with one hidden layer that differ in their loss only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from experiments.networks.models import dense_network, logits
from experiments.networks.recipes import Recipe
from experiments.other_models.data_sets import Features, Labels

RECIPE = Recipe("Adam, 30 epochs, one hidden layer of 128", epochs=30, hidden=(128,), dropout=0.0, batch=32)


def one_vs_rest(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Binary cross-entropy of each class against the rest, for units with a sigmoid."""
    targets = nn.functional.one_hot(labels, outputs.shape[1]).to(outputs.dtype)
    return nn.functional.binary_cross_entropy_with_logits(outputs, targets)


LOSSES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "softmax": nn.functional.cross_entropy,
    "sigmoid": one_vs_rest,
    "hinge": nn.functional.multi_margin_loss,
}


class Network:
    """A trained network; its responses are the outputs of its last layer."""

    def __init__(self, network: nn.Sequential, n_classes: int) -> None:
        self.network = network
        self.classes_ = np.arange(n_classes)

    def decision_function(self, X: Features) -> NDArray[np.float32]:
        return logits(self.network, X)


def train_network(X: Features, y: Labels, loss: str, seed: int) -> Network:
    """Train a network with one of the losses."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    n_classes = int(y.max()) + 1
    network = dense_network(RECIPE, X.shape[1], n_classes)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    network.train()
    for _ in range(RECIPE.epochs):
        for batch in torch.randperm(len(inputs)).split(RECIPE.batch):
            optimiser.zero_grad()
            LOSSES[loss](network(inputs[batch]), targets[batch]).backward()
            optimiser.step()
    return Network(network, n_classes)
