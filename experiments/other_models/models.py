"""The models, with fixed hyperparameters, and their K responses.

The responses are those that :class:`~aftermax.PostHocClassifier` takes: the decision function of a model or, where it
has none, the logarithms of its probabilities, which are at least log(1e-12).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from aftermax import PostHocClassifier
from aftermax.data import Scores
from experiments.other_models.data_sets import Draw, Features, Labels
from experiments.other_models.hebbian import HebbianReadout

Train = Callable[[Features, Labels, int], Any]


class Model(NamedTuple):
    """How a model is called, what its K responses are, and how it is trained, given a seed."""

    title: str
    responses: str
    train: Train


def _network(loss: str) -> Train:
    def train(X: Features, y: Labels, seed: int) -> Any:
        from experiments.other_models.networks import train_network

        return train_network(X, y, loss, seed)

    return train


def _svm(X: Features, y: Labels, seed: int) -> Any:
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return LinearSVC(random_state=seed).fit(X, y)


def _forest(X: Features, y: Labels, seed: int) -> Any:
    return RandomForestClassifier(n_estimators=100, random_state=seed).fit(X, y)


def _boosting(X: Features, y: Labels, seed: int) -> Any:
    """Early stopping would take samples away from the training."""
    return HistGradientBoostingClassifier(
        max_iter=30, learning_rate=0.2, max_leaf_nodes=15, min_samples_leaf=5, early_stopping=False, random_state=seed
    ).fit(X, y)


def _neighbours(X: Features, y: Labels, seed: int) -> Any:
    return KNeighborsClassifier(n_neighbors=5).fit(X, y)


def _naive_bayes(X: Features, y: Labels, seed: int) -> Any:
    """The default smoothing is too little for pixels that hardly vary within a class."""
    return GaussianNB(var_smoothing=0.01).fit(X, y)


def _hebbian(X: Features, y: Labels, seed: int) -> Any:
    return HebbianReadout(seed=seed).fit(X, y)


REFERENCE = "softmax"
MODELS = {
    REFERENCE: Model("softmax network (for reference)", "logits", _network("softmax")),
    "hebbian": Model("Hebbian readout", "readout units", _hebbian),
    "sigmoid": Model("one-vs-rest sigmoid network", "logits", _network("sigmoid")),
    "hinge": Model("network with hinge loss", "outputs", _network("hinge")),
    "svm": Model("one-vs-rest linear SVM", "decision function", _svm),
    "forest": Model("random forest", "log of vote shares", _forest),
    "boosting": Model("gradient boosting", "raw scores", _boosting),
    "neighbours": Model("k nearest neighbours", "log of vote shares", _neighbours),
    "naive_bayes": Model("Gaussian naive Bayes", "log-probabilities", _naive_bayes),
}


def responses(name: str, draw: Draw, seed: int) -> Scores:
    """Train a model, and return its responses to the validation and the test samples."""
    model = PostHocClassifier(MODELS[name].train(*draw.train, seed))
    validation, test = (model.logits(part.features) for part in (draw.validation, draw.test))
    return Scores(validation, draw.validation.labels, test, draw.test.labels)
