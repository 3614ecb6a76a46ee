"""Samples of thousands of classes, Chinese characters, and a head that knows its out-of-fold predictions."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from aftermax import audit

CHARACTERS = 6_623  # as many as a common model for Chinese text tells apart


class KnownPredictions(ClassifierMixin, BaseEstimator):
    """A head whose out-of-fold predictions are given, as column numbers. It predicts as softmax does."""

    def __init__(self, out_of_fold=None, classes=None):
        self.out_of_fold, self.classes = out_of_fold, classes

    def fit(self, X, y):
        self.classes_ = np.asarray(self.classes)
        self.held_out_ = self.classes_[np.asarray(self.out_of_fold)]
        return self

    def predict(self, X):
        return self.classes_[np.asarray(X).argmax(axis=1)]


def characters(n_classes=CHARACTERS):
    return np.array([chr(0x4E00 + j) for j in range(n_classes)])


def character_samples(n_classes=CHARACTERS, n_samples=2_000, seed=0):
    """Logits, column numbers, and the predictions of a head; the first classes have most samples.

    Each class has a twin that it is confused with. The head corrects a third of the errors, and makes a few new ones.
    """
    rng = np.random.default_rng(seed)
    share = np.arange(1, n_classes + 1) ** -0.6
    codes = rng.choice(n_classes, size=n_samples, p=share / share.sum())
    samples, twins = np.arange(n_samples), np.minimum(codes ^ 1, n_classes - 1)
    logits = rng.random(size=(n_samples, n_classes), dtype=np.float32)
    logits[samples, codes] += 9 + 2 * rng.normal(size=n_samples)
    logits[samples, twins] += 7 + 2 * rng.normal(size=n_samples)
    softmax = logits.argmax(axis=1)
    wrong, right = np.flatnonzero(softmax != codes), np.flatnonzero(softmax == codes)
    after = softmax.copy()
    after[wrong[::3]] = codes[wrong[::3]]
    after[right[::40]] = twins[right[::40]]
    return logits, codes, after


def audited_characters(n_classes=CHARACTERS, n_samples=2_000):
    """An audit of such samples, their logits and their labels."""
    logits, codes, after = character_samples(n_classes, n_samples)
    names = characters(n_classes)
    return audit(logits, names[codes], KnownPredictions(after, names), classes=names), logits, names[codes]
