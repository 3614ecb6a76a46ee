"""Simulated worlds for abstention: the true probability of every class is known, and so is the error of what is kept.

As in :mod:`experiments.trust.worlds`, samples of class k are normally distributed around the k-th unit vector times a
separation; the logits of a model that knows this are calibrated. Worlds differ in what is done to these logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import softmax

SKEW = 1.5  # the share of the k-th class is proportional to k to the power of minus this
SPREAD = 0.2  # of the samples of one patient, relative to that between patients
NOISE = 0.02  # share of labels that are drawn at random, whatever the model's certainty

Array = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A kind of world, its number of classes, and the error rate of a model that knows the truth, in percent."""

    kind: str
    classes: int
    error: int

    def __str__(self) -> str:
        return f"{self.kind}, {self.classes} classes, error {self.error} %"


class Drawn(NamedTuple):
    """Logits, the true probabilities of the classes, labels drawn from these, and patients if there are any."""

    logits: Array
    truth: Array
    labels: NDArray[np.int64]
    groups: NDArray[np.int64] | None = None


def draw(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """Samples of a world, with labels."""
    if world.kind == "patients":
        return _patients(world, n_samples, rng)
    logits, truth = KINDS[world.kind](_known(world, n_samples, rng), rng)
    return Drawn(logits, truth, _labels(truth, rng))


def _known(world: World, n_samples: int, rng: np.random.Generator) -> Array:
    """The logits of a model that knows the truth."""
    prior = _prior(world)
    classes = rng.choice(world.classes, size=n_samples, p=prior)
    noise, separation = rng.normal(size=(n_samples, world.classes)), _separation(world)
    noise[np.arange(n_samples), classes] += separation
    return np.asarray(separation * noise + np.log(prior))


def _prior(world: World) -> Array:
    shares = np.arange(1, world.classes + 1, dtype=float) ** -SKEW if "skewed" in world.kind else np.ones(world.classes)
    return np.asarray(shares / shares.sum())


@cache
def _separation(world: World) -> float:
    """The separation at which the model has the world's error rate, by bisection on samples of its own."""
    rng, prior = np.random.default_rng(0), _prior(world)
    classes = rng.choice(world.classes, size=20_000, p=prior)
    noise = rng.normal(size=(20_000, world.classes))
    low, high = 0.0, 12.0
    for _ in range(20):
        middle = (low + high) / 2
        shifted = noise.copy()
        shifted[np.arange(20_000), classes] += middle
        error = np.mean((middle * shifted + np.log(prior)).argmax(axis=1) != classes)
        low, high = (middle, high) if 100 * error > world.error else (low, middle)
    return low


def _labels(truth: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray((truth.cumsum(axis=1) > rng.random((len(truth), 1)) * (1 - 1e-9)).argmax(axis=1))


def _patients(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """Patients with four to eight similar samples each, and one label."""
    times = rng.integers(4, 9, size=max(n_samples // 6, 2))
    groups = np.repeat(np.arange(len(times)), times)
    known = _known(world, len(times), rng)
    truth = softmax(known)
    noise = SPREAD * known.std() * rng.normal(size=(len(groups), world.classes))
    return Drawn(known[groups] + noise, truth[groups], _labels(truth, rng)[groups], groups)


def _calibrated(known: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    return known, softmax(known)


def _overconfident(known: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    return 2.5 * known, softmax(known)


def _rounded(known: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Probabilities with one digit, as of a few votes: many samples are equally certain."""
    probabilities = softmax(known)
    return np.log(np.maximum(probabilities.round(1), 0.01)), probabilities


def _wrong_labels(known: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Some labels are wrong, whatever the model's certainty: the error of the kept ones never falls to zero."""
    return known, (1 - NOISE) * softmax(known) + NOISE / known.shape[1]


def _biased(known: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """The model's logits lack a bias for each class, so a head can gain."""
    return known - 1.5 * np.sin(1.0 + 2.0 * np.arange(known.shape[1])), softmax(known)


KINDS: dict[str, Callable[[Array, np.random.Generator], tuple[Array, Array]]] = {
    "calibrated": _calibrated,
    "skewed classes": _calibrated,
    "overconfident": _overconfident,
    "rounded": _rounded,
    "wrong labels": _wrong_labels,
    "biased": _biased,
}
