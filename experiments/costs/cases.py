"""The cases: a score set, and what errors cost there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.costs.score_sets import Scores, made_up, network, one_against_others, shipped_digits, skewed

OWN = Path("results/cifar/scores")  # of networks that "python -m experiments cifar" trained
VEHICLES = (0, 1, 8, 9)  # of CIFAR-10

SETS: dict[str, Callable[[Path | None], Scores]] = {
    "logistic regression, 5 % positive": lambda _: made_up("logistic regression", (0.95,), 1.0),
    "naive Bayes, 5 % positive": lambda _: made_up("naive Bayes", (0.95,), 1.0),
    "random forest, 20 % positive": lambda _: made_up("random forest", (0.8,), 0.7),
    "gradient boosting, balanced": lambda _: made_up("gradient boosting", (0.5,), 0.7),
    "digits: 8 or not": lambda _: one_against_others(shipped_digits(), (8,)),
    "CIFAR-10: cat or not": lambda _: one_against_others(network(OWN / "cifar10-16-4a3d64.npz"), (3,)),
    "CIFAR-10 with noise: vehicle or not": lambda _: one_against_others(
        network(OWN / "cifar10-48-noise-2-4f962c.npz"), VEHICLES
    ),
    "naive Bayes, 6 classes": lambda _: made_up("naive Bayes", (0.4, 0.25, 0.15, 0.1, 0.06), 1.5),
    "gradient boosting, 4 classes": lambda _: made_up("gradient boosting", (0.6, 0.2, 0.15), 1.2),
    "digits": lambda _: shipped_digits(),
    "CIFAR-10": lambda _: network(OWN / "cifar10-8-0b5d5e.npz"),
    "CIFAR-10, skewed": lambda _: skewed(network(OWN / "cifar10-32-a1b235.npz")),
    "CIFAR-10 with blur": lambda _: network(OWN / "cifar10-48-blur-2-4f962c.npz"),
    "CIFAR-20": lambda _: network(OWN / "cifar20-32-3e801b.npz"),
    "CIFAR-100": lambda _: network(OWN / "cifar100-48-0c1b69.npz"),
    "LeNet-5, published": lambda folder: network(_published(folder) / "cifar10-lenet5.npz"),
    "ResNet-20 with contrast, published": lambda folder: network(_published(folder) / "cifar10-resnet20-contrast.npz"),
}
PUBLISHED = tuple(name for name in SETS if name.endswith("published"))
QUICK = ("naive Bayes, 5 % positive", "gradient boosting, 4 classes")
MANY_CLASSES = 50


def _published(folder: Path | None) -> Path:
    if folder is None:
        raise ValueError("Published scores need --scores, the folder with their files.")
    return folder


@dataclass(frozen=True)
class Task:
    """Labelled samples drawn from a score set."""

    scores: str
    draw: int

    @property
    def key(self) -> tuple[str, int]:
        return self.scores, self.draw


def tasks(draws: int, *, published: bool, quick: bool = False) -> list[Task]:
    """Every draw of every score set; the first draws of all before the second."""
    names = QUICK if quick else [name for name in SETS if published or name not in PUBLISHED]
    return [Task(name, draw) for draw in range(draws) for name in names]


# ---- costs -----------------------------------------------------------------------------------------------------------


def costs_of(name: str, classes: int) -> dict[str, NDArray[np.float64]]:
    """Two cost matrices for a score set, by what they say."""
    wrong = 1.0 - np.eye(classes)
    if classes == 2:
        return {"a miss costs 10": wrong * [[1.0], [10.0]], "a false alarm costs 5": wrong * [[5.0], [1.0]]}
    rng = np.random.default_rng(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
    dear = np.where(rng.permutation(classes) < max(1, classes // 4), 10.0, 1.0)
    return {
        "a quarter of the classes is dear": wrong * dear[:, None],
        "all errors differ": wrong * rng.gamma(1.0, size=wrong.shape),
    }
