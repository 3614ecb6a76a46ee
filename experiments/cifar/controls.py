"""More cases, which keep apart what the others mix: with these the explanations stand or fall.

- ``temperature``: networks whose scores do bunch near 1, the published ones and one that was trained without
  augmentation, at the temperature with the least log loss.
- ``classes-200``: subsets of CIFAR-100's classes with 200 validation and 200 test samples each, whatever their size. In
  the part ``classes`` few classes have few samples too, on which the best of many hyperparameters overfits.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from experiments.cifar.cases import HEADS, SPH, SUBSETS, SUBSETS_OF, Case, Load, fitted_temperature, only_classes
from experiments.cifar.cases import published_cases as published
from experiments.networks.cifar_networks import kept_path, load_samples
from experiments.networks.cifar_recipes import RUNS
from experiments.networks.samples import Samples

RUN = "run-convolutional"
SAMPLES = 200
DRAWS = 4


def control_cases(kept: Path, scores: Path | None) -> list[Case]:
    """All of them; those of published networks only if their folder is given."""
    last = kept_path(RUN, kept, epochs=RUNS[RUN].checkpoints[-1])
    found = [_unbunched("cifar10", RUN, partial(load_samples, last))]
    for case in published(scores) if scores else []:
        if (case.part, case.data) == ("published", "cifar10"):
            found.append(_unbunched(case.data, case.network, case.load))
    path = kept_path(SUBSETS_OF, kept)
    for count in (*SUBSETS, 100):
        for draw in range(DRAWS):
            load = partial(_few_samples, path, count, draw)
            found.append(Case("classes-200", "cifar100", SUBSETS_OF, str(count), draw, HEADS, load))
    return found


def _unbunched(data: str, network: str, load: Load) -> Case:
    return Case("temperature", data, network, "fitted", 0, SPH, partial(_fitted, load))


def _fitted(load: Load) -> tuple[Samples, Samples]:
    validation, test = load()
    temperature = np.float32(fitted_temperature(validation))
    return (
        validation._replace(logits=validation.logits / temperature),
        test._replace(logits=test.logits / temperature),
    )


def _few_samples(path: Path, count: int, draw: int) -> tuple[Samples, Samples]:
    order = np.random.default_rng(draw).permutation(100)[:count]
    validation, test = (only_classes(part, order) for part in load_samples(path))
    return validation.first(SAMPLES), test.first(SAMPLES)
