"""How the networks are trained."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from experiments.networks.recipes import Recipe


def train(network: nn.Module, images: NDArray[np.float32], labels: NDArray[np.int64], recipe: Recipe) -> None:
    """Train with cross-entropy, with Keras's default learning rates. The caller seeds torch."""
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


def train_with_augmentation(
    network: nn.Module,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    epochs: int,
    batch: int,
    rate: float,
) -> None:
    """Train with cross-entropy on images that are shifted by up to four pixels and flipped. The caller seeds torch.

    Stochastic gradient descent with momentum and a one-cycle schedule, whose largest learning rate is ``rate``.
    """
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    optimiser = torch.optim.SGD(network.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = epochs * -(-len(inputs) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=rate, total_steps=steps)
    network.train()
    for _ in range(epochs):
        for samples in torch.randperm(len(inputs)).split(batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(augmented(inputs[samples])), targets[samples]).backward()
            optimiser.step()
            schedule.step()


def augmented(images: torch.Tensor, most: int = 4) -> torch.Tensor:
    """Each image shifted by up to ``most`` pixels in both directions, at random, and about half of them flipped."""
    count, _, height, width = images.shape
    padded = nn.functional.pad(images, (most, most, most, most))
    down = torch.randint(2 * most + 1, (count, 1)) + torch.arange(height)
    across = torch.randint(2 * most + 1, (count, 1)) + torch.arange(width)
    across = torch.where(torch.rand(count, 1) < 0.5, across.flip(1), across)
    moved = padded[torch.arange(count)[:, None, None], :, down[:, :, None], across[:, None, :]]
    return moved.permute(0, 3, 1, 2)  # channels last in memory, which is faster for convolutions
