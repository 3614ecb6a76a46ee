"""The cases: logits of real networks and of models made on the spot, and draws of worlds with other proportions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from aftermax.data import load_vmnist

TRAINED = 2_000  # samples of a model that is made on the spot
TEST_SAMPLES = 5_000  # drawn from the new world


class Case(NamedTuple):
    """Which logits, how many labelled samples, and what predicts: "softmax" or "auto"."""

    name: str
    labelled: int
    head: str


class Pool(NamedTuple):
    """Logits with their labels."""

    logits: NDArray[np.float64]
    labels: NDArray[np.int64]

    def take(self, chosen: NDArray[np.intp]) -> Pool:
        return Pool(self.logits[chosen], self.labels[chosen])


class Parts(NamedTuple):
    """The labelled samples, and from which samples those of new worlds are drawn."""

    labelled: Pool
    unlabelled: Pool
    test: Pool


# Not among these: cifar10-lenet5, -vgg16, -resnet56 and cifar100-resnet32, on which the method was designed.
FILES = ("cifar10-densenet40", "cifar10-resnet20", "cifar10-wideresnet16", "mnist-cnn", "cifar100-resnet8")
MADE = ("vmnist-500", "vmnist-5000", "naive Bayes, 5 classes", "logistic regression, 2 classes")
CASES = (
    *(Case(name, labelled, "softmax") for name in (*FILES[:4], *MADE) for labelled in (400, 1_500)),
    Case("cifar100-resnet8", 1_500, "softmax"),
    *(Case(name, 1_500, "auto") for name in ("cifar10-densenet40", "vmnist-500", "naive Bayes, 5 classes")),
)
QUICK_CASES = (Case("naive Bayes, 5 classes", 400, "softmax"),)


@cache
def pool(name: str, scores: Path | None) -> Pool:
    """All samples of a case."""
    if name.startswith("vmnist-"):
        shipped = load_vmnist(trained_on=int(name.removeprefix("vmnist-")))
        logits = np.concatenate([shipped.val_logits, shipped.test_logits])
        return Pool(logits.astype(np.float64), np.concatenate([shipped.val_labels, shipped.test_labels]))
    if name in MADE:
        return _made(name)
    if scores is None:
        raise ValueError(f"{name} is a score file: name its folder with --scores.")
    with np.load(scores / f"{name}.npz") as file:
        logits = np.concatenate([file["val_logits"], file["test_logits"]]).astype(np.float64)
        return Pool(logits, np.concatenate([file["val_labels"], file["test_labels"]]).astype(np.int64))


def _made(name: str) -> Pool:
    """Out-of-sample logits of a scikit-learn model: log-probabilities, or the log-odds of the second of two classes."""
    n_classes = 5 if "5" in name else 2
    inputs, labels = make_classification(
        n_samples=TRAINED + 20_000,
        n_features=12,
        n_informative=6,
        n_redundant=4,
        n_classes=n_classes,
        weights=None if n_classes == 5 else [0.8],
        class_sep=1.0,
        random_state=n_classes,
    )
    if n_classes == 5:
        model = GaussianNB().fit(inputs[:TRAINED], labels[:TRAINED])
        logits = np.maximum(model.predict_log_proba(inputs[TRAINED:]), -50.0)
    else:
        fitted = LogisticRegression().fit(inputs[:TRAINED], labels[:TRAINED])
        logits = fitted.decision_function(inputs[TRAINED:])[:, None]
    return Pool(np.asarray(logits, dtype=np.float64), labels[TRAINED:].astype(np.int64))


def divided(whole: Pool, labelled: int, rng: np.random.Generator) -> Parts:
    """Labelled samples, and two halves of the rest: unlabelled samples come from one, test samples from the other."""
    order = rng.permutation(len(whole.labels))
    middle = labelled + (len(order) - labelled) // 2
    return Parts(*(whole.take(some) for some in (order[:labelled], order[labelled:middle], order[middle:])))


def drawn(pool: Pool, shares: NDArray[np.float64], n_samples: int, rng: np.random.Generator) -> Pool:
    """Samples in which the classes have these proportions, as far as chance allows."""
    counts = np.bincount(pool.labels, minlength=len(shares))
    weights = (shares / np.maximum(counts, 1))[pool.labels]
    return pool.take(rng.choice(len(weights), n_samples, p=weights / weights.sum()))
