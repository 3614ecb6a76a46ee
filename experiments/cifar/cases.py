"""The cases of the experiment on CIFAR: a network, in one of seven parts of the experiment.

- ``networks``: our networks, as they are; ``published``: those of score files, as they are.
- ``temperature``: the logits divided by a temperature, which unbunches softmax's scores near 1 or bunches them more.
- ``classes``: some of CIFAR-100's classes only, with the same network; the smaller sets are within the larger ones.
- ``training``: checkpoints of two runs, a convolutional and a dense network.
- ``samples``: a convolutional and a dense network trained on few and on many images.
- ``shift``: our strongest networks on corrupted images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from aftermax.data import load_scores
from aftermax.sph.pooled_temperature import fit_temperature
from experiments.benchmark import trials
from experiments.networks.cifar_networks import SHIFTED, SHIFTS, STRENGTH, kept_path, load_samples
from experiments.networks.cifar_recipes import CLASSES, CONVOLUTIONAL, DENSE, NETWORKS, RUNS
from experiments.networks.samples import Samples

QUICK_NETWORKS = ("cifar10-8", "cifar10-16")
TEMPERATURES = ("0.5", "2", "fitted")
SUBSETS = {5: 6, 10: 6, 20: 4, 50: 2}  # numbers of classes, and how many draws of so many
SUBSETS_OF = "cifar100-48"

ALL = ("softmax", "sph_best_on_test", "sph_chosen", "auto", "auto_features", "sms")
SPH = ("softmax", "sph_best_on_test", "sph_chosen")
HEADS = ("softmax", "sph_best_on_test", "sph_chosen", "auto")
ON_SHIFT = ("softmax", "sph_best_on_test", "sph_chosen", "auto", "sms")

Load = Callable[[], tuple[Samples, Samples]]


@dataclass(frozen=True)
class Case:
    """A network in one part of the experiment, and how to load its validation and test samples."""

    part: str
    data: str  # "cifar10", "cifar20" or "cifar100"
    network: str
    variant: str  # of this part: a temperature, a number of classes, of epochs, or a shift; empty where there is none
    draw: int
    methods: tuple[str, ...]
    load: Load

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        return self.part, self.data, self.network, self.variant, self.draw


def cases(kept: Path, published: Path | None = None, quick: bool = False) -> list[Case]:
    """All cases; those of score files only if their folder is given. If ``quick``, two networks as they are."""
    if quick:
        return [_network(name, kept) for name in QUICK_NETWORKS]
    return [
        *(_network(name, kept) for name in NETWORKS),
        *(published_cases(published) if published else []),
        *temperature_cases(kept),
        *class_cases(kept),
        *training_cases(kept),
        *sample_cases(kept),
        *shift_cases(kept),
    ]


def _network(name: str, kept: Path) -> Case:
    return Case("networks", NETWORKS[name].data, name, "", 0, ALL, partial(load_samples, kept_path(name, kept)))


# ---- published networks ----------------------------------------------------------------------------------------------


def published_cases(folder: Path) -> list[Case]:
    """The score files on CIFAR in a folder; those with coarse labels also with the 20 coarse classes.

    Files of shifted images, which are there with a clean namesake, belong to the part ``shift``.
    """
    paths = sorted(path for path in folder.glob("cifar*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no score files of networks on CIFAR (cifar*.npz).")
    found = []
    for path in paths:
        data, _, network = path.stem.partition("-")
        if data not in CLASSES:
            continue
        clean, _, shift = network.rpartition("-")
        if shift in SHIFTS:
            found.append(Case("shift", data, clean, shift, 0, ON_SHIFT, partial(trials.load_samples, path)))
            continue
        found.append(Case("published", data, network, "", 0, ALL, partial(trials.load_samples, path)))
        if _has_coarse_labels(path):
            found.append(Case("published", "cifar20", network, "", 0, ALL, partial(load_coarse, path)))
    return found


def _has_coarse_labels(path: Path) -> bool:
    with path.open("rb") as file, np.load(file) as arrays:
        return "val_coarse_labels" in arrays


def load_coarse(path: Path) -> tuple[Samples, Samples]:
    """A score file of CIFAR-100 with its coarse classes: probabilities are summed over each."""
    scores = load_scores(path)
    with path.open("rb") as file, np.load(file) as arrays:
        coarse = [arrays[f"{part}_coarse_labels"].astype(np.int64) for part in ("val", "test")]
    superclass = np.empty(scores.val_logits.shape[1], dtype=np.int64)
    for fine, labels in zip((scores.val_labels, scores.test_labels), coarse, strict=True):
        superclass[fine] = labels
    return (
        Samples(summed_over(scores.val_logits, superclass), coarse[0]),
        Samples(summed_over(scores.test_logits, superclass), coarse[1]),
    )


def summed_over(logits: NDArray[np.float32], superclass: NDArray[np.int64]) -> NDArray[np.float32]:
    """The logarithms of softmax's probabilities, summed over the classes of each superclass."""
    logs = log_softmax(logits.astype(np.float64), axis=1)
    sums = [logsumexp(logs[:, superclass == number], axis=1) for number in range(superclass.max() + 1)]
    return np.asarray(np.column_stack(sums), dtype=np.float32)


# ---- the parts that explain ------------------------------------------------------------------------------------------


def temperature_cases(kept: Path) -> list[Case]:
    """Our networks on CIFAR-10 at other temperatures, and at the one with the least log loss on the validation data."""
    return [
        Case("temperature", "cifar10", name, temperature, 0, SPH, partial(_at_temperature, name, kept, temperature))
        for name, recipe in NETWORKS.items()
        for temperature in TEMPERATURES
        if recipe.data == "cifar10"
    ]


def _at_temperature(name: str, kept: Path, temperature: str) -> tuple[Samples, Samples]:
    validation, test = load_samples(kept_path(name, kept))
    divisor = fitted_temperature(validation) if temperature == "fitted" else float(temperature)
    return (
        validation._replace(logits=validation.logits / np.float32(divisor)),
        test._replace(logits=test.logits / np.float32(divisor)),
    )


def fitted_temperature(validation: Samples) -> float:
    """Temperature scaling (Guo et al., 2017)."""
    logits = validation.logits.astype(np.float64)
    return fit_temperature(-logits, logits.argmax(axis=1), validation.labels)


def class_cases(kept: Path) -> list[Case]:
    """Nested subsets of CIFAR-100's classes: a draw is an order of the classes, and a subset has the first ones."""
    path = kept_path(SUBSETS_OF, kept)
    return [
        Case("classes", "cifar100", SUBSETS_OF, str(count), draw, HEADS, partial(_some_classes, path, count, draw))
        for count, draws in SUBSETS.items()
        for draw in range(draws)
    ]


def _some_classes(path: Path, count: int, draw: int) -> tuple[Samples, Samples]:
    validation, test = load_samples(path)
    order = np.random.default_rng(draw).permutation(validation.logits.shape[1])
    return only_classes(validation, order[:count]), only_classes(test, order[:count])


def only_classes(samples: Samples, chosen: Sequence[int] | NDArray[np.int64]) -> Samples:
    """The samples of some classes, with their columns only."""
    columns = np.sort(np.asarray(chosen))
    inside = np.isin(samples.labels, columns)
    return Samples(samples.logits[inside][:, columns], np.searchsorted(columns, samples.labels[inside]))


def training_cases(kept: Path) -> list[Case]:
    """Every checkpoint of the two runs."""
    return [
        Case("training", recipe.data, name, f"{epochs:g}", 0, HEADS, partial(load_samples, path))
        for name, recipe in RUNS.items()
        for epochs in recipe.checkpoints
        for path in [kept_path(name, kept, epochs=epochs)]
    ]


def sample_cases(kept: Path) -> list[Case]:
    """Networks trained on few and on many images."""
    return [
        Case("samples", recipe.data, name, str(recipe.samples), 0, HEADS, partial(load_samples, kept_path(name, kept)))
        for name, recipe in (CONVOLUTIONAL | DENSE).items()
    ]


def shift_cases(kept: Path) -> list[Case]:
    """The strongest network on each data set, on corrupted images."""
    return [
        Case("shift", NETWORKS[name].data, name, f"{shift} {STRENGTH}", 0, ON_SHIFT, partial(load_samples, path))
        for name in SHIFTED
        for shift in SHIFTS
        for path in [kept_path(name, kept, shift=shift)]
    ]
