"""The peers on features: other classifiers fitted on the last hidden layer, some of them on the logits as well.

As the peers on the logits (``peers.py``), they choose their hyperparameters by cross-validation on the samples that
they are fitted on. Classes may be rare or missing among these: a class without samples is never predicted, unless the
estimator starts from the logits. Features are standardised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.benchmark.peers import SHRINKAGES, Folds, best_mixture, best_of, log_loss, mixed, standardised

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

PENALTIES = (1e6, 3e5, 1e5, 3e4, 1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)  # strong to weak
PATIENCE = 2  # the path ends after so many penalties without a lower log loss
MOST_STEPS = 200  # of L-BFGS, at each penalty
SLOPES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)  # of the mixture: Gaussians are too sure if features are many
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0)  # times scikit-learn's "scale"


# ---- logistic regression: the linear probe and L2-SP -----------------------------------------------------------------


class Line(NamedTuple):
    """Logits times a slope, plus a linear map of the features; the first line of the map are the biases."""

    slope: float
    weights: Floats

    def log_proba(self, logits: Floats, features: Floats) -> Floats:
        scores = self.slope * logits + self.weights[0] + features @ self.weights[1:]
        return np.asarray(log_softmax(scores, axis=1))


def fitted(logits: Floats, features: Floats, y: Labels, penalty: float, start: Line) -> Line:
    """The line with the least sum of log losses and of half the ``penalty`` times the squared weights."""
    truth = np.zeros_like(logits)
    truth[np.arange(len(y)), y] = 1.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        line = _line(parameters, logits.shape[1])
        logs = line.log_proba(logits, features)
        wrong = np.exp(logs) - truth
        gradient = np.vstack([wrong.sum(axis=0), features.T @ wrong]) + penalty * line.weights
        value = penalty / 2 * np.sum(np.square(line.weights)) - np.sum(logs * truth)
        return float(value), np.concatenate([[np.sum(wrong * logits)], gradient.ravel()])

    begin = np.concatenate([[start.slope], start.weights.ravel()])
    options = {"maxiter": MOST_STEPS, "ftol": 1e-7}
    return _line(minimize(loss, begin, jac=True, method="L-BFGS-B", options=options).x, logits.shape[1])


def _line(parameters: Floats, classes: int) -> Line:
    return Line(float(parameters[0]), parameters[1:].reshape(-1, classes))


def path(logits: Floats, features: Floats, y: Labels) -> Iterator[tuple[float, Line]]:
    """The penalties and their lines, each of which starts from the one before."""
    line = Line(1.0, np.zeros((1 + features.shape[1], logits.shape[1])))
    for penalty in PENALTIES:
        line = fitted(logits, features, y, penalty, line)
        yield penalty, line


def best_penalty(logits: Floats, features: Floats, y: Labels) -> float:
    """The penalty with the least log loss over the folds."""
    folds = [*Folds().split(logits, y)]
    paths = [path(logits[train], features[train], y[train]) for train, _ in folds]
    losses: dict[float, float] = {}
    for steps in zip(*paths, strict=True):
        logs = np.empty_like(logits)
        for (_, held_out), (_, line) in zip(folds, steps, strict=True):
            logs[held_out] = line.log_proba(logits[held_out], features[held_out])
        losses[steps[0][0]] = log_loss(logs, y)
        best = min(losses, key=lambda penalty: losses[penalty])
        if [*losses].index(best) + PATIENCE < len(losses):
            break
    return best


class L2SP(ClassifierMixin, BaseEstimator):
    """A linear map of the features, added to the logits, with a ridge towards no correction (L2-SP: Li et al., 2018).

    It minimises the log loss of ``softmax(s z + b + W'x)`` plus a penalty on ``b`` and ``W``; ``z`` are the logits, the
    slope ``s`` is free.
    """

    def fit(self, logits: Floats, y: Labels, features: Floats) -> Self:
        self.classes_ = np.arange(logits.shape[1])
        self._scale = StandardScaler().fit(features)
        scaled = self._scale.transform(features).astype(np.float64)
        self.best_params_ = {"penalty": best_penalty(logits, scaled, y)}
        for penalty, line in path(logits, scaled, y):
            self.line_ = line
            if penalty == self.best_params_["penalty"]:
                break
        return self

    def predict_proba(self, logits: Floats, features: Floats) -> Floats:
        return np.exp(self.line_.log_proba(logits, self._scale.transform(features)))

    def predict(self, logits: Floats, features: Floats) -> Labels:
        return np.asarray(self.predict_proba(logits, features).argmax(axis=1))


class Probe(ClassifierMixin, BaseEstimator):
    """The linear probe: logistic regression on the features, which is L2-SP from logits that are all zero."""

    def fit(self, features: Floats, y: Labels) -> Self:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self._head = L2SP().fit(self._no_logits(features), numbers, features)
        self.best_params_ = self._head.best_params_
        return self

    def _no_logits(self, features: Floats) -> Floats:
        return np.zeros((len(features), len(self.classes_)))

    def predict_proba(self, features: Floats) -> Floats:
        return self._head.predict_proba(self._no_logits(features), features)

    def predict(self, features: Floats) -> Labels:
        return np.asarray(self.classes_[self.predict_proba(features).argmax(axis=1)])


# ---- SVC -------------------------------------------------------------------------------------------------------------


class RBFSVC(ClassifierMixin, BaseEstimator):
    """SVC with an RBF kernel that is computed once for each gamma, as the features are many; 15 candidates, 3 folds."""

    def fit(self, features: Floats, y: Labels) -> Self:
        self._scale = StandardScaler().fit(features)
        self._samples = self._scale.transform(features)
        squares = euclidean_distances(self._samples, squared=True)
        searches = {
            factor: best_of(SVC(kernel="precomputed"), C=[1, 10, 100]).fit(self._kernel(squares, factor), y)
            for factor in GAMMAS
        }
        gamma = max(searches, key=lambda factor: searches[factor].best_score_)
        self._search = searches[gamma]
        self.classes_ = self._search.classes_
        self.best_params_ = self._search.best_params_ | {"gamma": gamma}
        return self

    def _kernel(self, squares: Floats, factor: float) -> Floats:
        return np.asarray(np.exp(-factor / self._samples.shape[1] * squares))

    def predict(self, features: Floats) -> Labels:
        squares = euclidean_distances(self._scale.transform(features), self._samples, squared=True)
        return np.asarray(self._search.predict(self._kernel(squares, self.best_params_["gamma"])))


# ---- Gaussians mixed with softmax ------------------------------------------------------------------------------------


class GaussianFeatures(ClassifierMixin, BaseEstimator):
    """LDA's log-probabilities on the features and softmax's, added with weights w and 1 - w, times a slope.

    The covariance, which all classes share, is shrunk: ``(1 - s) * covariance + s * identity``. A class without samples
    has softmax's log-probability on both sides. Shrinkage, weight and slope are those with the least log loss over the
    folds.
    """

    def fit(self, logits: Floats, y: Labels, features: Floats) -> Self:
        self.classes_ = np.arange(logits.shape[1])
        self._scale = StandardScaler().fit(features)
        out_of_fold = np.empty((len(SHRINKAGES), *logits.shape))
        for train, test in Folds().split(logits, y):
            self._fit_classes(features[train], y[train])
            for number, shrinkage in enumerate(SHRINKAGES):
                out_of_fold[number, test] = self.linear_log_proba(logits[test], features[test], shrinkage)
        shrinkage, weight, slope = best_mixture(logits, out_of_fold, y, SLOPES)
        self.best_params_ = {"shrinkage": shrinkage, "weight": weight, "slope": slope}
        self._fit_classes(features, y)
        return self

    def _fit_classes(self, features: Floats, y: Labels) -> None:
        """The priors and means of the classes with samples, and the principal axes of the covariance within classes."""
        scaled = self._scale.transform(features).astype(np.float64)
        self._known, numbers, counts = np.unique(y, return_inverse=True, return_counts=True)
        self._log_priors = np.log(counts / len(y))
        means = np.zeros((len(counts), scaled.shape[1]))
        np.add.at(means, numbers, scaled)
        means /= counts[:, None]
        within = scaled - means[numbers]
        self._variances, self._axes = np.linalg.eigh(within.T @ within / len(y))
        self._means = means @ self._axes

    def linear_log_proba(self, logits: Floats, features: Floats, shrinkage: float) -> Floats:
        """LDA's log-probabilities; softmax's for the classes without samples."""
        variances = (1 - shrinkage) * np.maximum(self._variances, 0.0) + shrinkage
        directions = self._means / variances
        offsets = self._log_priors - np.sum(directions * self._means, axis=1) / 2
        out = np.asarray(log_softmax(logits, axis=1))
        scores = self._scale.transform(features) @ (self._axes @ directions.T) + offsets
        out[:, self._known] = log_softmax(scores, axis=1)
        return out

    def predict_proba(self, logits: Floats, features: Floats) -> Floats:
        shrinkage, weight, slope = self.best_params_.values()
        return np.exp(mixed(logits, self.linear_log_proba(logits, features, shrinkage), weight, slope))

    def predict(self, logits: Floats, features: Floats) -> Labels:
        return np.asarray(self.predict_proba(logits, features).argmax(axis=1))


# ---- all of them -----------------------------------------------------------------------------------------------------


def knn_features() -> Any:
    """The features standardised or as they are, as cross-validation has it."""
    return best_of(
        standardised(KNeighborsClassifier()),
        scale=[StandardScaler(), "passthrough"],
        head__n_neighbors=[1, 3, 5, 10, 20, 40],
        head__weights=["uniform", "distance"],
    )


PEERS_ON_FEATURES: dict[str, Callable[[], Any]] = {
    "probe": Probe,
    "svc_features": RBFSVC,
    "knn_features": knn_features,
}
PEERS_ON_BOTH: dict[str, Callable[[], Any]] = {
    "gaussian_features": GaussianFeatures,
    "l2sp": L2SP,
}
