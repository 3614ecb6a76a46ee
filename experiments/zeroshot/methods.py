"""The lines of the experiment: zero-shot argmax, a correction without labels, our heads, and peers.

Those that the benchmark has are the benchmark's. SPH has its default grid here too, though it takes long with 77
classes.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aftermax import batch_calibration
from experiments.benchmark.methods import METHODS, Method
from experiments.zeroshot.answers import Floats, Told, all_logits, rounded_logits, top_k_logits


class BatchCalibration:
    """A bias for each class, from texts without their labels (Zhou et al., 2024)."""

    def fit(self, logits: Floats, labels: NDArray[np.int64]) -> Self:
        """Compute the biases; the labels are not looked at."""
        self.biases_ = batch_calibration(logits)
        return self

    def predict(self, logits: Floats) -> NDArray[np.int64]:
        return np.asarray((logits + self.biases_).argmax(axis=1))


class Line(NamedTuple):
    """A method, what the service tells it, and whether it is fitted on every text of train.csv, without labels."""

    title: str
    method: Method
    told: Told = all_logits
    unlabelled: bool = False

    @property
    def with_embeddings(self) -> bool:
        return self.method.with_features


LINES: dict[str, Line] = {
    "zero_shot": Line("zero-shot argmax", METHODS["softmax"]),
    "no_labels": Line("batch calibration, without labels", Method(lambda classes: BatchCalibration()), unlabelled=True),
    "sph": Line("SPH, chosen honestly", METHODS["sph"]),
    "sms": Line("probmetrics' sms", METHODS["sms"]),
    "auto": Line("AutoHead on scores", METHODS["auto"]),
    "auto_rounded": Line("AutoHead, probabilities of two digits", METHODS["auto"], rounded_logits),
    "auto_top5": Line("AutoHead, top 5 classes only", METHODS["auto"], top_k_logits),
    "probe": Line("linear probe", METHODS["probe"]),
    "knn_features": Line("kNN", METHODS["knn_features"]),
    "gaussian_features": Line("Gaussian + logits", METHODS["gaussian_features"]),
    "l2sp": Line("L2-SP", METHODS["l2sp"]),
    "auto_features": Line("AutoHead with embeddings", METHODS["auto_features"]),
}
TOLD_LESS = ("auto_rounded", "auto_top5")
HEADS = ("auto", *TOLD_LESS, "auto_features")


def rivals(head: str) -> list[str]:
    """The lines that a head is compared with: without embeddings, those that have none either; with them, all."""
    free = LINES[head].with_embeddings
    return [name for name, line in LINES.items() if name not in HEADS and (free or not line.with_embeddings)]


def shared_with_the_benchmark(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The names of their methods in the benchmark, each once."""
    methods = [LINES[name].method for name in lines]
    return tuple(name for name, method in METHODS.items() if any(method is one for one in methods))
