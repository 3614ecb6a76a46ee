"""Simulated worlds whose truth is known: the true probabilities of the classes, given the model's logits.

In a world, samples x of class k are normally distributed around the k-th unit vector times a separation. A model that
knows this has the logits separation * x + log prior; it is calibrated, and its argmax is Bayes-optimal. Worlds differ
in what is done to these logits, or to the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import softmax

TEST_SAMPLES = 20_000
SKEW = 1.5  # the share of the k-th class is proportional to k to the power of minus this
FEATURES = 40  # columns
SPREAD = 0.2  # of the samples of one patient, relative to that between patients

Array = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """A kind of world, its number of classes, and the error rate of a model that knows the truth, in percent."""

    kind: str
    classes: int
    error: int

    @property
    def has_gain(self) -> bool:
        """Whether a head can make fewer errors than softmax."""
        return self.kind in GAIN_KINDS


class Drawn(NamedTuple):
    """Labelled samples, what is passed to ``fit`` besides, and test samples with their true probabilities."""

    logits: Array
    labels: NDArray[np.int64]
    metadata: dict[str, Any]
    test_logits: Array
    test_truth: Array  # (n_test, K): true probabilities; their errors are weighted if the world's are
    features: Array | None = None
    test_features: Array | None = None


def draw(world: World, n_samples: int, seed: int) -> Drawn:
    """Samples of a world."""
    rng = np.random.default_rng(seed)
    return KINDS[world.kind](world, n_samples, rng)


# ---- models that know the truth --------------------------------------------------------------------------------------


def _prior(world: World) -> Array:
    shares = np.arange(1, world.classes + 1, dtype=float) ** -SKEW if "skewed" in world.kind else np.ones(world.classes)
    return np.asarray(shares / shares.sum())


def _logits(world: World, n_samples: int, rng: np.random.Generator) -> Array:
    """The logits of a model that knows the truth."""
    prior = _prior(world)
    classes = rng.choice(world.classes, size=n_samples, p=prior)
    separation = _separation(world, prior)
    noise = rng.normal(size=(n_samples, world.classes))
    noise[np.arange(n_samples), classes] += separation
    return np.asarray(separation * noise + np.log(prior))


def _separation(world: World, prior: Array) -> float:
    """The separation at which the model has the world's error rate, by bisection on samples of its own."""
    rng = np.random.default_rng(0)
    classes = rng.choice(world.classes, size=20_000, p=prior)
    noise = rng.normal(size=(20_000, world.classes))
    low, high = 0.0, 12.0
    for _ in range(30):
        middle = (low + high) / 2
        shifted = noise.copy()
        shifted[np.arange(20_000), classes] += middle
        error = np.mean((middle * shifted + np.log(prior)).argmax(axis=1) != classes)
        low, high = (middle, high) if 100 * error > world.error else (low, middle)
    return low


def _labels(truth: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.asarray((truth.cumsum(axis=1) > rng.random((len(truth), 1))).argmax(axis=1))


def _divided(logits: Array, truth: Array, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The first samples with labels, the others for testing."""
    labels = _labels(truth[:n_samples], rng)
    return Drawn(logits[:n_samples], labels, {}, logits[n_samples:], truth[n_samples:])


# ---- worlds without a gain -------------------------------------------------------------------------------------------


def _calibrated(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    return _divided(logits, softmax(logits), n_samples, rng)


def _overconfident(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    return _divided(2.5 * logits, softmax(logits), n_samples, rng)


def _temperature_by_class(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model is too certain of some classes, and not enough of others, by up to a factor of two."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    temperatures = 2.0 ** rng.uniform(-1, 1, size=world.classes)
    return _divided(logits, softmax(logits / temperatures[logits.argmax(axis=1)][:, None]), n_samples, rng)


def _weighted(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """Samples have weights that tell nothing."""
    drawn = _calibrated(world, n_samples, rng)
    return drawn._replace(metadata={"sample_weight": rng.lognormal(0.0, 1.0, size=n_samples)})


def _two_percent(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """One sample in fifty is positive, the model is best for balanced accuracy, and that is what is counted."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    truth = softmax(logits + np.log([0.98, 0.02]))
    drawn = _divided(logits, truth, n_samples, rng)
    weights = np.where(drawn.labels == 1, 0.5 / 0.02, 0.5 / 0.98)
    return drawn._replace(metadata={"sample_weight": weights}, test_truth=drawn.test_truth * [0.5 / 0.98, 0.5 / 0.02])


def _duplicated(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """Half as many samples, each twice."""
    drawn = _calibrated(world, n_samples // 2, rng)
    return drawn._replace(logits=np.repeat(drawn.logits, 2, axis=0), labels=np.repeat(drawn.labels, 2))


def _patients(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """Patients with four to eight similar samples each, and one label; groups are passed."""
    drawn = _calibrated(world, n_samples // 6, rng)
    return _repeated(drawn, rng)


def _repeated(drawn: Drawn, rng: np.random.Generator) -> Drawn:
    times = rng.integers(4, 9, size=len(drawn.labels))
    patients = np.repeat(np.arange(len(times)), times)
    noise = SPREAD * drawn.logits.std() * rng.normal(size=(len(patients), drawn.logits.shape[1]))
    return drawn._replace(
        logits=drawn.logits[patients] + noise, labels=drawn.labels[patients], metadata={"groups": patients}
    )


def _useless_features(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model knows the truth, and its features are noise."""
    drawn = _calibrated(world, n_samples, rng)
    return _with_features(drawn, rng.normal(size=(n_samples + TEST_SAMPLES, FEATURES)))


def _repeated_features(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model knows the truth, and its features hold what the logits hold, with noise, in other directions."""
    drawn = _calibrated(world, n_samples, rng)
    logits = np.concatenate([drawn.logits, drawn.test_logits])
    rotation = rng.normal(size=(world.classes, FEATURES)) / np.sqrt(world.classes)
    return _with_features(drawn, logits @ rotation + logits.std() * rng.normal(size=(len(logits), FEATURES)))


def _with_features(drawn: Drawn, features: Array) -> Drawn:
    n_samples = len(drawn.labels)
    return drawn._replace(features=features[:n_samples], test_features=features[n_samples:])


# ---- worlds with a gain ----------------------------------------------------------------------------------------------


def _biased(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model's logits lack a bias for each class."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    return _divided(logits - 1.5 * rng.normal(size=world.classes), softmax(logits), n_samples, rng)


def _mixed(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model's logits are a linear map of the true ones."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    size = world.classes
    mixing = np.eye(size) + 0.35 * rng.normal(size=(size, size)) / np.sqrt(size) * np.sqrt(3)
    return _divided(logits @ mixing, softmax(logits), n_samples, rng)


def _bent(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model's logits are the true ones after a saturating, class-wise different function."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    centers, slopes = rng.normal(size=world.classes) * logits.std(), 0.5 + rng.random(world.classes)
    bent = np.tanh((logits - centers) / (slopes * logits.std())) * logits.std() * 2
    return _divided(bent, softmax(logits), n_samples, rng)


def _telling_features(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The model's last layer is not the best one: its logits are noisy, and its features hold the true ones."""
    logits = _logits(world, n_samples + TEST_SAMPLES, rng)
    drawn = _divided(logits + 0.5 * logits.std() * rng.normal(size=logits.shape), softmax(logits), n_samples, rng)
    rotation = rng.normal(size=(world.classes, FEATURES)) / np.sqrt(world.classes)
    return _with_features(drawn, logits @ rotation)


def _biased_patients(world: World, n_samples: int, rng: np.random.Generator) -> Drawn:
    """The world "biased", in patients with four to eight similar samples each."""
    return _repeated(_biased(world, n_samples // 6, rng), rng)


NULL_KINDS: dict[str, Callable[[World, int, np.random.Generator], Drawn]] = {
    "calibrated": _calibrated,
    "skewed classes": _calibrated,
    "overconfident": _overconfident,
    "temperature by class": _temperature_by_class,
    "weighted": _weighted,
    "two percent positive": _two_percent,
    "duplicated": _duplicated,
    "patients": _patients,
    "useless features": _useless_features,
    "repeated features": _repeated_features,
}
GAIN_KINDS: dict[str, Callable[[World, int, np.random.Generator], Drawn]] = {
    "biased": _biased,
    "mixed": _mixed,
    "bent": _bent,
    "telling features": _telling_features,
    "biased patients": _biased_patients,
}
KINDS = NULL_KINDS | GAIN_KINDS
