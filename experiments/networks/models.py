"""The networks of the experiments, and how they are trained."""

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


def small_resnet(widths: Sequence[int], classes: int) -> nn.Sequential:
    """A small residual network for colour images: each width has a block that halves the image and a residual block."""
    layers: list[nn.Module] = []
    channels = 3
    for width in widths:
        layers += [_convolution(channels, width, halved=True), Residual(width)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Residual(nn.Module):
    """What comes in, and two convolutions of it added."""

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


def train_on_photos(
    network: nn.Module,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    epochs: int,
    batch: int,
    rate: float,
) -> None:
    """Train with cross-entropy on images that are moved by up to four pixels and mirrored. The caller seeds torch.

    Stochastic gradient descent with momentum, at a rate that rises to ``rate`` and falls to nothing.
    """
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    optimiser = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = epochs * -(-len(inputs) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=steps)
    network.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(moved_and_mirrored(inputs[rows])), targets[rows]).backward()
            optimiser.step()
            schedule.step()


def moved_and_mirrored(images: torch.Tensor, most: int = 4) -> torch.Tensor:
    """Each image moved by up to ``most`` pixels either way, at random, and about half of them mirrored."""
    count, _, height, width = images.shape
    padded = nn.functional.pad(images, (most, most, most, most))
    down = torch.randint(2 * most + 1, (count, 1)) + torch.arange(height)
    across = torch.randint(2 * most + 1, (count, 1)) + torch.arange(width)
    across = torch.where(torch.rand(count, 1) < 0.5, across.flip(1), across)
    moved = padded[torch.arange(count)[:, None, None], :, down[:, :, None], across[:, None, :]]
    return moved.permute(0, 3, 1, 2)  # channels last in memory, which convolutions take to


def logits(network: nn.Module, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the network says before softmax."""
    network.eval()
    with torch.no_grad():
        answers: NDArray[np.float32] = network(torch.from_numpy(images)).numpy()
    return answers


def hidden_and_logits(
    network: nn.Sequential, images: NDArray[np.float32], chunk: int = 1_000
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The network's last hidden layer, and what it says before softmax."""
    network.eval()
    hidden, answers = [], []
    with torch.no_grad():
        for part in torch.from_numpy(images).split(chunk):
            hidden.append(network[:-1](part))
            answers.append(network[-1](hidden[-1]))
    return torch.cat(hidden).numpy(), torch.cat(answers).numpy()
