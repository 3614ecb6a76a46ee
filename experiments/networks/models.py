"""The architectures of the networks, and their outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from experiments.networks.recipes import Recipe

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


def small_resnet(widths: Sequence[int], classes: int) -> nn.Sequential:
    """A small residual network for colour images: each width has a block that halves the image and a residual block."""
    layers: list[nn.Module] = []
    channels = 3
    for width in widths:
        layers += [_convolution(channels, width, halved=True), ResidualBlock(width)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class ResidualBlock(nn.Module):
    """Two convolutions, added to their input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.added = nn.Sequential(_convolution(width, width), _convolution(width, width))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        added: torch.Tensor = self.added(images)
        return images + added


def _convolution(channels: int, width: int, halved: bool = False) -> nn.Sequential:
    size, stride = (4, 2) if halved else (3, 1)
    convolution = nn.Conv2d(channels, width, size, stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(width), nn.ReLU())


def logits(network: nn.Module, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """The network's outputs before softmax."""
    network.eval()
    with torch.no_grad():
        outputs: NDArray[np.float32] = network(torch.from_numpy(images)).numpy()
    return outputs


def hidden_and_logits(
    network: nn.Sequential, images: NDArray[np.float32], chunk: int = 1_000
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The outputs of the network's last hidden layer, and those before softmax."""
    network.eval()
    hidden, outputs = [], []
    with torch.no_grad():
        for part in torch.from_numpy(images).split(chunk):
            hidden.append(network[:-1](part))
            outputs.append(network[-1](hidden[-1]))
    return torch.cat(hidden).numpy(), torch.cat(outputs).numpy()
