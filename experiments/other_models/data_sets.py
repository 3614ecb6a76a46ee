"""The data sets: images of digits, small and large, and a table; few and many samples to train on.

- scikit-learn's digits: 1,797 images of 8 x 8 pixels, ten classes.
- MNIST: 70,000 images of 28 x 28 pixels, ten classes.
- Statlog's image segments (UCI Machine Learning Repository), which the package river ships: 2,310 regions of outdoor
  images, described by 18 features; seven classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from experiments.data.mnist import MNIST

Features = NDArray[np.float32]
Labels = NDArray[np.int64]


class Part(NamedTuple):
    """Some samples and their classes, as numbers from 0."""

    features: Features
    labels: Labels


class Draw(NamedTuple):
    """Samples for a model to be trained on, for heads to be fitted on, and for both to be tested on."""

    train: Part
    validation: Part
    test: Part


@dataclass(frozen=True)
class DataSet:
    """Samples, and how many of them are drawn for what."""

    name: str
    title: str
    samples: Part
    few: int
    many: int
    n_validation: int
    n_test: int
    held_out: Part | None = None  # the data set's own test samples: validation and test samples are drawn from these
    standardised: bool = False

    @property
    def sizes(self) -> tuple[int, int]:
        return self.few, self.many

    def draw(self, size: int, number: int) -> Draw:
        """Draw ``number`` of the samples; its validation and test samples are the same for few and for many.

        Every class has its share of the training samples, so that every model knows all classes.
        """
        rng = np.random.default_rng(number)
        source = self.held_out or self.samples
        order = rng.permutation(len(source.labels))
        validation, test, rest = np.split(order, [self.n_validation, self.n_validation + self.n_test])
        pool = np.arange(len(self.samples.labels)) if self.held_out else rest
        train, _ = train_test_split(pool, train_size=size, stratify=self.samples.labels[pool], random_state=number)
        parts = [
            Part(part.features[indices], part.labels[indices])
            for part, indices in ((self.samples, train), (source, validation), (source, test))
        ]
        return _standardised(*parts) if self.standardised else Draw(*parts)


def _standardised(train: Part, *others: Part) -> Draw:
    """Features divided by their standard deviations, after their means are taken off: those of the training samples."""
    mean, deviation = train.features.mean(axis=0), train.features.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    return Draw(*(Part((part.features - mean) / scale, part.labels) for part in (train, *others)))


def digits() -> DataSet:
    """scikit-learn's digits."""
    pixels, labels = load_digits(return_X_y=True)
    samples = Part((pixels / 16).astype(np.float32), labels.astype(np.int64))
    return DataSet("digits", "digits", samples, few=100, many=700, n_validation=498, n_test=499)


def image_segments() -> DataSet:
    """Statlog's image segments, from river."""
    try:
        from river.datasets import ImageSegments
    except ImportError as error:
        raise ImportError("The image segments are in river: pip install --editable '.[experiments]'") from error
    rows, names = zip(*ImageSegments(), strict=True)  # type: ignore[no-untyped-call]  # river has no types here
    _, labels = np.unique(names, return_inverse=True)
    features = np.array([list(row.values()) for row in rows], dtype=np.float32)
    return DataSet(
        "segments",
        "image segments",
        Part(features, labels.astype(np.int64)),
        few=100,
        many=800,
        n_validation=500,
        n_test=1_000,
        standardised=True,
    )


def mnist_digits(mnist: MNIST) -> DataSet:
    """MNIST; validation and test samples are from its test set."""
    samples, held_out = Part(mnist.train_images, mnist.train_labels), Part(mnist.test_images, mnist.test_labels)
    return DataSet("mnist", "MNIST", samples, few=100, many=3_000, n_validation=1_000, n_test=4_000, held_out=held_out)
