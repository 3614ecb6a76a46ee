"""The methods of the benchmark: softmax, the heads of aftermax, and peers on logits, on features, or on both.

SPHClassifierCV is left out where there are more than 20 classes: its time grows with their square.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from aftermax import AutoHead, SPHClassifierCV
from experiments.benchmark.peers import PEERS
from experiments.benchmark.peers_features import PEERS_ON_BOTH, PEERS_ON_FEATURES
from experiments.networks.samples import Samples


class Softmax:
    """The network as it is."""

    def fit(self, logits: NDArray[np.float64], labels: NDArray[np.int64]) -> Self:
        return self

    def predict(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(self.predict_proba(logits).argmax(axis=1))

    def predict_proba(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(softmax(logits, axis=1))


def _sph(classes: int) -> Any:
    return SPHClassifierCV(classes=np.arange(classes), n_jobs=1, progress=False)


def _auto(classes: int) -> Any:
    return AutoHead(classes=np.arange(classes), n_jobs=1, progress=False)


def _peer(make: Callable[[], Any], classes: int) -> Any:
    return make()


class Method(NamedTuple):
    """How to make an estimator for a number of classes, what it sees, and which samples it suits."""

    make: Callable[[int], Any]
    with_features: bool = False
    with_logits: bool = True
    most_classes: float = np.inf

    def suits(self, samples: Samples) -> bool:
        has_features = samples.features is not None
        return samples.logits.shape[1] <= self.most_classes and (has_features or not self.with_features)

    def inputs(self, samples: Samples) -> tuple[NDArray[Any], ...]:
        """What it sees of the samples: logits, features or both. The labels come after the first of these in fit."""
        seen = [samples.logits] if self.with_logits else []
        if self.with_features and samples.features is not None:
            seen.append(samples.features)
        return tuple(seen)


METHODS: dict[str, Method] = {
    "softmax": Method(lambda classes: Softmax()),
    "sph": Method(_sph, most_classes=20),
    "auto": Method(_auto),
    "auto_features": Method(_auto, with_features=True),
    **{name: Method(partial(_peer, make)) for name, make in PEERS.items()},
    **{
        name: Method(partial(_peer, make), with_features=True, with_logits=False)
        for name, make in PEERS_ON_FEATURES.items()
    },
    **{name: Method(partial(_peer, make), with_features=True) for name, make in PEERS_ON_BOTH.items()},
}
