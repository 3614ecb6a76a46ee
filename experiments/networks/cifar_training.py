"""How the networks on CIFAR are trained: on one core, in bfloat16, and resumed where they were interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from aftermax._utils.files import write_atomically
from experiments.networks.cifar_recipes import CLASSES, CifarRecipe
from experiments.networks.models import small_resnet

DROPOUT = 0.2  # of the dense networks
MAX_SHIFT = 4  # pixels, of augmented images

# Called with a network and the number of epochs that it was trained for.
OnCheckpoint = Callable[[nn.Sequential, float], None]


def new_network(recipe: CifarRecipe) -> nn.Sequential:
    """The network before training. The caller seeds torch."""
    classes = CLASSES[recipe.data]
    if not recipe.dense:
        network = small_resnet(recipe.widths, classes)
        # torch's types do not know of memory_format.
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]
    layers: list[nn.Module] = [nn.Flatten()]
    inputs = 3 * 32 * 32
    for width in recipe.widths:
        layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(DROPOUT)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, classes))


def augmented(images: torch.Tensor) -> torch.Tensor:
    """Every image shifted by up to four pixels in both directions, at random, and about half of them flipped.

    All images that are shifted alike are copied at once: a batch at a time, this would take longer than the network.
    """
    size, shifts = images.shape[-1], 2 * MAX_SHIFT + 1
    padded = nn.functional.pad(images, 4 * [MAX_SHIFT])
    moved = torch.empty_like(images)
    kinds = torch.randint(2 * shifts * shifts, (len(images),))
    for kind in range(2 * shifts * shifts):
        chosen = (kinds == kind).nonzero()[:, 0]
        down, across = kind // 2 // shifts, kind // 2 % shifts
        part = padded[:, :, down : down + size, across : across + size][chosen]
        moved[chosen] = part.flip(-1) if kind % 2 else part
    return moved


class Training:
    """A network, its optimiser and its schedule, with the number of epochs that are done."""

    def __init__(self, recipe: CifarRecipe, samples: int) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.done = recipe, 0
        self.network = new_network(recipe)
        self.steps = -(-samples // recipe.batch)  # of an epoch
        parameters = self.network.parameters()
        self.optimiser: torch.optim.Optimizer
        if recipe.dense:
            self.optimiser = torch.optim.Adam(parameters, lr=recipe.rate)
        else:
            self.optimiser = torch.optim.SGD(
                parameters, lr=recipe.rate, momentum=0.9, nesterov=True, weight_decay=5e-4 if recipe.augmented else 0.0
            )
        self.schedule = self._new_schedule()

    def _new_schedule(self) -> torch.optim.lr_scheduler.LRScheduler:
        if self.recipe.constant_rate:
            return torch.optim.lr_scheduler.ConstantLR(self.optimiser, factor=1.0)
        steps = self.recipe.epochs * self.steps
        return torch.optim.lr_scheduler.OneCycleLR(self.optimiser, max_lr=self.recipe.rate, total_steps=steps)

    def epoch(self, images: torch.Tensor, labels: torch.Tensor, on_checkpoint: OnCheckpoint) -> None:
        """One epoch. Its random numbers follow from its number, so that a run that is resumed goes on the same way."""
        torch.manual_seed(1_000 * (self.recipe.seed + 1) + self.done)
        ends = {round(epochs * self.steps): epochs for epochs in self.recipe.checkpoints}
        inputs = augmented(images) if self.recipe.augmented else images
        for step, batch in enumerate(torch.randperm(len(images)).split(self.recipe.batch), start=1):
            self.network.train()
            self.optimiser.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                outputs = self.network(inputs[batch].contiguous(memory_format=torch.channels_last))
            nn.functional.cross_entropy(outputs.float(), labels[batch]).backward()
            self.optimiser.step()
            self.schedule.step()
            if (reached := self.done * self.steps + step) in ends:
                on_checkpoint(self.network, ends[reached])
        self.done += 1

    def save(self, path: Path) -> None:
        """Write all that is needed to go on, whole or not at all."""
        state = {"done": self.done} | {name: part.state_dict() for name, part in self._parts.items()}
        with write_atomically(path) as unfinished:
            torch.save(state, unfinished)

    def resume(self, path: Path) -> None:
        """Go on from what :meth:`save` wrote. Tensors and numbers only: nothing in the file is run."""
        state = torch.load(path, weights_only=True)
        self.done = state["done"]
        for name, part in self._parts.items():
            part.load_state_dict(state[name])

    @property
    def _parts(self) -> dict[str, Any]:
        return {"network": self.network, "optimiser": self.optimiser, "schedule": self.schedule}


def train(
    recipe: CifarRecipe,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    checkpoint: Path,
    on_checkpoint: OnCheckpoint,
    report: Callable[[int], None] = lambda done: None,
) -> nn.Sequential:
    """Train a network, or go on from the file ``checkpoint``, which is written after every epoch.

    ``on_checkpoint`` is called after each of the recipe's checkpoints, ``report`` after every epoch.
    """
    torch.set_num_threads(1)  # sums over several threads depend on how many there are
    training = Training(recipe, len(images))
    if checkpoint.is_file():
        training.resume(checkpoint)
    inputs, targets = torch.from_numpy(images), torch.from_numpy(labels)
    while training.done < recipe.epochs:
        training.epoch(inputs, targets, on_checkpoint)
        training.save(checkpoint)
        report(training.done)
    return training.network
