"""The methods: softmax, our heads, and peers. Those that the benchmark has are the benchmark's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aftermax import SPHClassifier
from experiments.benchmark.methods import METHODS as BENCHMARK
from experiments.characters.peers import ClassMeans, Discriminant, KernelVotes


class Method(NamedTuple):
    """How to make an estimator for a number of classes; whether it is stopped after ten minutes."""

    title: str
    make: Callable[[int], Any]
    limited: bool = False


def _sph(classes: int) -> Any:
    """Its default hyperparameters: to choose them takes a hundred fits."""
    return SPHClassifier(classes=np.arange(classes))


METHODS: dict[str, Method] = {
    "softmax": Method("softmax", BENCHMARK["softmax"].make),
    "auto": Method("AutoHead", BENCHMARK["auto"].make),
    "sph": Method("SPH at its defaults", _sph, limited=True),
    "sms": Method("probmetrics' sms", BENCHMARK["sms"].make, limited=True),
    "means": Method("class means", lambda classes: ClassMeans()),
    "votes": Method("kNN, kernel votes", lambda classes: KernelVotes()),
    "discriminant": Method("shrunken discriminant", lambda classes: Discriminant()),
}
PEERS = tuple(name for name in METHODS if name not in ("softmax", "auto"))
