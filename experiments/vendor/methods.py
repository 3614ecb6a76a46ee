"""The methods: softmax, AutoHead, and two peers that need no choice of hyperparameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from aftermax import AutoHead
from experiments.benchmark.methods import Softmax
from experiments.benchmark.peers import StructuredMatrixScaling

Floats = NDArray[np.float64]


class Biases:
    """A temperature for all classes and a bias for each, with a standard normal prior on the biases.

    Minimises the sum of the log losses of ``softmax(s z + b)`` and of ``b'b / 2``; ``z`` are logits, and ``s > 0``.
    """

    def fit(self, logits: Floats, labels: NDArray[np.int64]) -> Self:
        truth = np.zeros_like(logits)
        truth[np.arange(len(labels)), labels] = 1.0

        def loss(parameters: Floats) -> tuple[float, Floats]:
            scale, biases = np.exp(parameters[0]), parameters[1:]
            logs = log_softmax(scale * logits + biases, axis=1)
            wrong = np.exp(logs) - truth
            slope = np.concatenate([[scale * np.sum(wrong * logits)], wrong.sum(axis=0) + biases])
            return -float(np.sum(logs * truth)) + float(biases @ biases) / 2, slope

        found = minimize(loss, np.zeros(1 + logits.shape[1]), jac=True, method="L-BFGS-B").x
        self.scale_, self.biases_ = float(np.exp(found[0])), np.asarray(found[1:])
        return self

    def predict_proba(self, logits: Floats) -> Floats:
        return np.asarray(softmax(self.scale_ * logits + self.biases_, axis=1))

    def predict(self, logits: Floats) -> NDArray[np.int64]:
        return np.asarray((self.scale_ * logits + self.biases_).argmax(axis=1))


class LabelledClasses:
    """The model as it is, without the classes that have no labels: what knowing the classes alone is worth."""

    def fit(self, logits: Floats, labels: NDArray[np.int64]) -> Self:
        self.classes_ = np.unique(labels)
        return self

    def predict(self, logits: Floats) -> NDArray[np.int64]:
        return np.asarray(self.classes_[logits[:, self.classes_].argmax(axis=1)])


def auto(classes: int) -> Any:
    """AutoHead with its defaults, on one core."""
    return AutoHead(classes=np.arange(classes), n_jobs=1, progress=False)


METHODS: dict[str, Callable[[int], Any]] = {
    "softmax": lambda classes: Softmax(),
    "auto": auto,
    "labelled_classes": lambda classes: LabelledClasses(),
    "biases": lambda classes: Biases(),
    "sms": lambda classes: StructuredMatrixScaling(),
}
