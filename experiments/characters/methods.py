"""The methods: softmax, our heads, and peers. They get the logits in half precision, as they are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax import SPHClassifier
from experiments.benchmark.methods import METHODS as BENCHMARK
from experiments.benchmark.peers import StructuredMatrixScaling
from experiments.characters.components import Logits
from experiments.characters.peers import ClassMeans, Discriminant, KernelVotes

Labels = NDArray[np.int64]


class Softmax:
    """The recogniser as it is."""

    def fit(self, logits: Logits, labels: Labels) -> Self:
        return self

    def predict(self, logits: Logits) -> Labels:
        return np.asarray(logits.argmax(axis=1))


class InDouble:
    """An estimator that needs double precision."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(self, logits: Logits, labels: Labels) -> Self:
        self._estimator.fit(logits.astype(np.float64), labels)
        return self

    def predict(self, logits: Logits) -> Labels:
        return np.asarray(self._estimator.predict(logits.astype(np.float64)))


class Method(NamedTuple):
    """How to make an estimator for a number of classes; whether it is stopped after ten minutes."""

    title: str
    make: Callable[[int], Any]
    limited: bool = False


def _sph(classes: int) -> Any:
    """Its default hyperparameters: to choose them takes a hundred fits."""
    return InDouble(SPHClassifier(classes=np.arange(classes)))


METHODS: dict[str, Method] = {
    "softmax": Method("softmax", lambda classes: Softmax()),
    "auto": Method("AutoHead", BENCHMARK["auto"].make),
    "sph": Method("SPH at its defaults", _sph, limited=True),
    "sms": Method("probmetrics' sms", lambda classes: InDouble(StructuredMatrixScaling()), limited=True),
    "means": Method("class means", lambda classes: ClassMeans()),
    "votes": Method("kNN, kernel votes", lambda classes: KernelVotes()),
    "discriminant": Method("shrunken discriminant", lambda classes: Discriminant()),
}
PEERS = tuple(name for name in METHODS if name not in ("softmax", "auto"))
