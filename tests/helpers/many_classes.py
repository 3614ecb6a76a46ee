"""Simulated scores of many classes, with patterns to be found or with nothing to gain."""

from typing import NamedTuple

import numpy as np


class World(NamedTuple):
    """Labelled samples, and others to test on."""

    logits: np.ndarray
    labels: np.ndarray
    test_logits: np.ndarray
    test_labels: np.ndarray

    def error(self, predictions):
        return float(np.mean(predictions != self.test_labels))

    @property
    def softmax_error(self):
        return self.error(self.test_logits.argmax(axis=1))


def confusing_world(n_classes=300, n_samples=1_500, n_test=2_000, seed=0, noise=1.0, others=10, strength=1.0):
    """Each class raises its own logit, and those of some others more or less: the model errs in patterns."""
    rng = np.random.default_rng(seed)
    patterns = 3.0 * np.eye(n_classes)
    for row in patterns:
        row[rng.choice(n_classes, others, replace=False)] += strength * rng.uniform(1, 4, others)
    return _drawn(rng, n_classes, n_samples, n_test, lambda codes: _noisy(rng, patterns[codes], noise))


def correlated_world(n_classes=300, n_samples=3_000, n_test=2_000, seed=0):
    """The noise of all logits has a few directions, which a linear discriminant removes."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(10, n_classes))

    def logits(codes):
        common = rng.normal(size=(len(codes), 10)) @ directions
        return _noisy(rng, 3.0 * np.eye(n_classes)[codes] + 1.5 * common, 0.5)

    return _drawn(rng, n_classes, n_samples, n_test, logits)


def calibrated_world(n_classes=300, n_samples=1_500, n_test=2_000, seed=0):
    """Labels are drawn from the softmax probabilities: there is nothing to gain."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(20, n_classes))

    def draw(count):
        logits = rng.normal(size=(count, 20)) @ directions
        return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)

    return World(*draw(n_samples), *draw(n_test))


def _noisy(rng, means, noise):
    return means + noise * rng.normal(size=means.shape)


def _drawn(rng, n_classes, n_samples, n_test, logits_of):
    labels, test_labels = rng.integers(n_classes, size=n_samples), rng.integers(n_classes, size=n_test)
    return World(logits_of(labels), labels, logits_of(test_labels), test_labels)
