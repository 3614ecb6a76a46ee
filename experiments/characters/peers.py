"""The peers: what the labelled samples say of a class is added to its log-score, with a weight.

The weight and each peer's hyperparameters are those with the fewest errors on held-out labelled samples; the peer is
then fitted again on all of them. A class without labelled samples keeps its log-score.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from experiments.characters.components import Components, Floats, in_parts, unit

FOLDS = 5
ENOUGH = 4_000  # held-out samples to choose by
SHARPNESS = (3.0, 6.0, 12.0, 20.0, 30.0)
WEIGHTS = (10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0)

Labels = NDArray[np.int64]
Setting = tuple[float, ...]


class Peer(ABC):
    """Log-scores and what labelled samples say, added with a weight."""

    grid: ClassVar[dict[str, tuple[float, ...]]]  # the values of each hyperparameter to choose from
    weights: ClassVar[tuple[float, ...]] = WEIGHTS

    @abstractmethod
    def learn(self, samples: Floats, labels: Labels, classes: int) -> None:
        """Keep what is needed of labelled samples; replaces what was learnt before."""

    @abstractmethod
    def scores(self, samples: Floats, setting: Setting) -> Floats:
        """What the labelled samples say: a line for each sample, a column for each class."""

    def fit(self, logits: Floats, labels: Labels) -> Self:
        self._components = Components().fit(logits)
        samples = self._components.transform(logits)
        wrong = Counter[tuple[float, Setting]]()
        for others, held_out in splits(len(labels)):
            self.learn(samples[others], labels[others], logits.shape[1])
            wrong.update(self._errors(samples[held_out], logits[held_out], labels[held_out]))
        self._weight, self._setting = min(wrong, key=lambda choice: (wrong[choice], choice))
        self.best_params_ = {"weight": self._weight, **dict(zip(self.grid, self._setting, strict=True))}
        self.learn(samples, labels, logits.shape[1])
        return self

    def _errors(self, samples: Floats, logits: Floats, labels: Labels) -> dict[tuple[float, Setting], int]:
        """The number of errors on held-out samples by weight and hyperparameters; with the weight 0, softmax's."""
        wrong = {}
        for setting in product(*self.grid.values()):
            scores = self.scores(samples, setting)
            for weight in (0.0, *self.weights):
                wrong[weight, setting] = int(np.sum((logits + weight * scores).argmax(axis=1) != labels))
        return wrong

    def predict(self, logits: Floats) -> Labels:
        return in_parts(self._predict, logits)

    def _predict(self, logits: Floats) -> Labels:
        scores = self.scores(self._components.transform(logits), self._setting)
        return np.asarray((logits + self._weight * scores).argmax(axis=1))


def splits(samples: int) -> Iterator[tuple[Labels, Labels]]:
    """Others and held-out samples, fold by fold, until there are enough of the latter."""
    held = np.array_split(np.random.default_rng(0).permutation(samples), FOLDS)
    for fold in range(min(FOLDS, -(-ENOUGH // len(held[0])))):
        some = held[fold][:ENOUGH]
        yield np.setdiff1d(np.arange(samples), some), some


# ---- the three -------------------------------------------------------------------------------------------------------


class ClassMeans(Peer):
    """The cosine with a class's mean, c, as ``exp(sharpness * (c - 1))``: Tip-Adapter with one key for each class.

    Zhang et al. (2022). Tip-Adapter: Training-free adaption of CLIP for few-shot classification. ECCV.
    """

    grid: ClassVar = {"sharpness": SHARPNESS}

    def learn(self, samples: Floats, labels: Labels, classes: int) -> None:
        self._there, places = np.unique(labels, return_inverse=True)
        sums = np.zeros((len(self._there), samples.shape[1]), dtype=np.float32)
        np.add.at(sums, places, samples)
        self._means, self._classes = unit(sums), classes

    def scores(self, samples: Floats, setting: Setting) -> Floats:
        out = np.zeros((len(samples), self._classes), dtype=np.float32)
        out[:, self._there] = np.exp(np.float32(setting[0]) * (samples @ self._means.T - 1))
        return out


class KernelVotes(Peer):
    """Votes of all labelled samples for their classes, ``exp(sharpness * (c - 1))`` each: Tip-Adapter."""

    grid: ClassVar = {"sharpness": SHARPNESS}

    def learn(self, samples: Floats, labels: Labels, classes: int) -> None:
        order = np.argsort(labels, kind="stable")
        self._samples, self._classes = samples[order], classes
        self._there, self._starts = np.unique(labels[order], return_index=True)

    def scores(self, samples: Floats, setting: Setting) -> Floats:
        out = np.zeros((len(samples), self._classes), dtype=np.float32)
        out[:, self._there] = in_parts(lambda some: self._votes(some, setting[0]), samples)
        return out

    def _votes(self, samples: Floats, sharpness: float) -> Floats:
        votes = np.exp(np.float32(sharpness) * (samples @ self._samples.T - 1))
        return np.asarray(np.add.reduceat(votes, self._starts, axis=1))


class Discriminant(Peer):
    """Linear discriminant analysis: class means m shrunken towards 0, and one covariance S with a ridge.

    ``x' S^-1 m - m' S^-1 m / 2``, where the mean of n samples is multiplied by ``n / (n + prior)``: a class without any
    has 0. The ridge is relative to the mean variance.
    """

    grid: ClassVar = {"ridge": (0.1, 0.3, 1.0, 3.0), "prior": (0.1, 0.5, 2.0)}
    weights: ClassVar = (0.003, 0.01, 0.03, 0.1, 0.3)

    def learn(self, samples: Floats, labels: Labels, classes: int) -> None:
        self._counts = np.bincount(labels, minlength=classes)
        self._means = np.zeros((classes, samples.shape[1]), dtype=np.float32)
        np.add.at(self._means, labels, samples)
        self._means /= np.maximum(self._counts, 1)[:, np.newaxis]
        within = samples - self._means[labels]
        freedom = max(len(labels) - np.count_nonzero(self._counts), 1)
        self._covariance = within.T @ within / freedom
        self._inverses: dict[float, Floats] = {}

    def scores(self, samples: Floats, setting: Setting) -> Floats:
        ridge, prior = setting
        means = self._means * (self._counts / (self._counts + prior)).astype(np.float32)[:, np.newaxis]
        directions = means @ self._inverse(ridge)
        return np.asarray(samples @ directions.T - (directions * means).sum(axis=1) / 2)

    def _inverse(self, ridge: float) -> Floats:
        if ridge not in self._inverses:
            size = len(self._covariance)
            diagonal = ridge * np.trace(self._covariance) / size * np.eye(size)
            self._inverses[ridge] = np.linalg.inv(self._covariance + diagonal).astype(np.float32)
        return self._inverses[ridge]
