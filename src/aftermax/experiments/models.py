"""The networks of the experiments, and how they are trained."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from aftermax.experiments.recipes import Recipe

INSERTED: dict[str, list[type[nn.Module]]] = {"": [], "linear": [], "relu": [nn.ReLU]}


def dense_network(recipe: Recipe, inputs: int, classes: int, inserted: str = "") -> nn.Sequential:
    """The recipe's hidden layers and one unit for each class; dropout after each hidden layer.

    ``inserted`` puts one more fully connected layer between these units and softmax, as the paper did for comparison:
    "linear" right after them, "relu" with a ReLU in between. The paper does not say which.
    """
    layers: list[nn.Module] = []
    for width in recipe.hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(recipe.dropout)]
        inputs = width
    layers.append(nn.Linear(inputs, classes))
    if inserted:
        layers += [*(module() for module in INSERTED[inserted]), nn.Linear(classes, classes)]
    network = nn.Sequential(*layers)
    if recipe.keras_weights:
        for layer in network:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)
    return network


def train(network: nn.Module, images: NDArray[np.float32], labels: NDArray[np.int64], recipe: Recipe) -> None:
    """Train with cross-entropy, with Keras's default rates. The caller seeds torch."""
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    optimiser: torch.optim.Optimizer
    if recipe.optimiser == "adam":
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, eps=1e-7)
    else:
        optimiser = torch.optim.RMSprop(network.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    network.train()
    for _ in range(recipe.epochs):
        for batch in torch.randperm(len(inputs)).split(recipe.batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(inputs[batch]), targets[batch]).backward()
            optimiser.step()


def logits(network: nn.Module, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the network says before softmax."""
    network.eval()
    with torch.no_grad():
        answers: NDArray[np.float32] = network(torch.from_numpy(images)).numpy()
    return answers
