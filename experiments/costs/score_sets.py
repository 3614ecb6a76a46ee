"""Scores that decisions are made on: of models that are fitted on the spot, of shipped and of published networks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from aftermax.data import load_vmnist

TEST_SAMPLES, POOL = 20_000, 5_000  # of the made-up data
TRAINED_ON = 1_000
RARE = 0.7  # each class of a skewed set is so frequent, relative to the one before


@dataclass(frozen=True)
class Scores:
    """Logits and labels: a pool that labelled samples are drawn from, and test samples."""

    pool_logits: NDArray[np.float64]
    pool_labels: NDArray[np.int64]
    test_logits: NDArray[np.float64]
    test_labels: NDArray[np.int64]

    @property
    def classes(self) -> int:
        return int(self.pool_logits.shape[1])


# ---- models of scikit-learn on made-up data --------------------------------------------------------------------------


def made_up(model: str, weights: tuple[float, ...], separation: float) -> Scores:
    """Log-probabilities of a model of scikit-learn that is fitted on 1,000 other samples of made-up data.

    ``weights`` are the shares of all classes but the last.
    """
    from sklearn.datasets import make_classification

    seed = int(hashlib.sha256(repr((model, weights)).encode()).hexdigest()[:8], 16)
    inputs, y = make_classification(
        n_samples=TRAINED_ON + POOL + TEST_SAMPLES,
        n_features=12,
        n_informative=8,
        n_redundant=2,
        n_classes=len(weights) + 1,
        n_clusters_per_class=2,
        weights=list(weights),
        class_sep=separation,
        flip_y=0.02,
        random_state=seed,
    )
    fitted = _models()[model]().fit(inputs[:TRAINED_ON], y[:TRAINED_ON])
    logits = np.log(np.clip(fitted.predict_proba(inputs[TRAINED_ON:]), 1e-6, None))
    return Scores(logits[:POOL], y[TRAINED_ON : TRAINED_ON + POOL], logits[POOL:], y[TRAINED_ON + POOL :])


def _models() -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    return {
        "logistic regression": lambda: LogisticRegression(max_iter=1_000),
        "naive Bayes": GaussianNB,
        "random forest": lambda: RandomForestClassifier(200, random_state=0),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    }


# ---- networks --------------------------------------------------------------------------------------------------------


def shipped_digits() -> Scores:
    """The scores of a small network on MNIST that ship with aftermax."""
    scores = load_vmnist(trained_on=500)
    return Scores(
        scores.val_logits.astype(float), scores.val_labels, scores.test_logits.astype(float), scores.test_labels
    )


def network(path: Path) -> Scores:
    """Those of a score file."""
    with np.load(path) as file:
        parts = [file[name] for name in ("val_logits", "val_labels", "test_logits", "test_labels")]
    return Scores(
        parts[0].astype(np.float64), parts[1].astype(np.int64), parts[2].astype(np.float64), parts[3].astype(np.int64)
    )


def one_against_others(scores: Scores, classes: tuple[int, ...]) -> Scores:
    """The log-odds of some classes against the others, as two columns."""

    def two(logits: NDArray[np.float64]) -> NDArray[np.float64]:
        chosen = np.isin(np.arange(logits.shape[1]), classes)
        odds = logsumexp(logits[:, chosen], axis=1) - logsumexp(logits[:, ~chosen], axis=1)
        return np.stack([-odds / 2, odds / 2], axis=1)

    labels = (np.isin(some, classes).astype(np.int64) for some in (scores.pool_labels, scores.test_labels))
    pool, test = labels
    return Scores(two(scores.pool_logits), pool, two(scores.test_logits), test)


def skewed(scores: Scores) -> Scores:
    """Fewer and fewer samples of each class."""

    def kept(labels: NDArray[np.int64]) -> NDArray[np.intp]:
        rng = np.random.default_rng(0)
        return np.flatnonzero(rng.random(len(labels)) < RARE**labels)

    pool, test = kept(scores.pool_labels), kept(scores.test_labels)
    return Scores(
        scores.pool_logits[pool], scores.pool_labels[pool], scores.test_logits[test], scores.test_labels[test]
    )
