"""The peers: other classifiers fitted on the logits, with hyperparameters chosen by cross-validation.

Labels and predictions are column numbers. Classes may be rare or missing among the samples: a class without samples is
never predicted, unless the estimator starts from the logits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from aftermax._utils.folds import stratified_folds

FOLDS = 3
SHRINKAGES = (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


class Folds:
    """Three folds, stratified; scikit-learn's own warn of a class with fewer samples than folds."""

    def split(self, X: Any, y: NDArray[np.int64], groups: None = None) -> Iterator[tuple[NDArray[np.intp], ...]]:
        folds = stratified_folds(y, FOLDS, np.random.default_rng(0))
        for fold in range(FOLDS):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: None = None) -> int:
        return FOLDS


def best_of(estimator: Any, **grid: list[Any]) -> GridSearchCV:
    """Grid search for the best accuracy over the folds, refitted on all samples; one job, so that times compare."""
    return GridSearchCV(estimator, grid, cv=Folds(), error_score="raise")


def standardised(estimator: Any) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("head", estimator)])


# ---- logistic regression ---------------------------------------------------------------------------------------------


class Logistic(LogisticRegression):
    """Logistic regression without convergence warnings: some values of C in the grid may not converge."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            super().fit(X, y)
        return self


# ---- gradient boosting -----------------------------------------------------------------------------------------------


class Boosting(HistGradientBoostingClassifier):
    """Gradient boosting, early stopping on a tenth of the samples; scikit-learn's own split needs every class twice."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        held = stratified_folds(y, 10, np.random.default_rng(0)) == 0
        held &= np.isin(y, y[~held])
        super().fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
        return self


# ---- QDA mixed with softmax ------------------------------------------------------------------------------------------


class SoftmaxQDA(ClassifierMixin, BaseEstimator):
    """QDA's log-probabilities and softmax's, added with weights w and 1 - w.

    The covariances are regularised as scikit-learn's ``reg_param`` does, ``(1 - s) * covariance + s * identity``, on
    standardised logits. scikit-learn's own QDA refuses classes with fewer samples than columns; here a class with
    fewer than two samples has softmax's log-probability on both sides. Shrinkage and weight are those with the least
    log loss over the folds.
    """

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        self.classes_ = np.arange(X.shape[1])
        self._scale = StandardScaler().fit(X)
        out_of_fold = np.empty((len(SHRINKAGES), *X.shape))
        for train, test in Folds().split(X, y):
            self._fit_classes(X[train], y[train])
            out_of_fold[:, test] = [self.quadratic_log_proba(X[test], shrinkage) for shrinkage in SHRINKAGES]
        shrinkage, weight, _ = best_mixture(X, out_of_fold, y)
        self.best_params_ = {"shrinkage": shrinkage, "weight": weight}
        self._fit_classes(X, y)
        return self

    def _fit_classes(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        """Each class's prior, mean, and covariance by its principal axes."""
        scaled, counts = self._scale.transform(X), np.bincount(y, minlength=len(self.classes_))
        self._known = np.flatnonzero(counts >= 2)
        self._log_priors = np.log(counts[self._known] / len(y))
        self._means = [scaled[y == number].mean(axis=0) for number in self._known]
        self._axes = [np.linalg.eigh(np.cov(scaled[y == number].T, bias=True)) for number in self._known]

    def quadratic_log_proba(self, X: NDArray[np.float64], shrinkage: float) -> NDArray[np.float64]:
        """QDA's log-probabilities; softmax's for the classes with fewer than two samples."""
        scaled, out = self._scale.transform(X), np.asarray(log_softmax(X, axis=1))
        known = np.empty((len(X), len(self._known)))
        for column, (log, mean, (values, axes)) in enumerate(
            zip(self._log_priors, self._means, self._axes, strict=True)
        ):
            variances = (1 - shrinkage) * np.maximum(values, 0.0) + shrinkage
            distances = np.square((scaled - mean) @ (axes / np.sqrt(variances))).sum(axis=1)
            known[:, column] = log - (distances + np.log(variances).sum()) / 2
        out[:, self._known] = log_softmax(known, axis=1)
        return out

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        shrinkage, weight = self.best_params_["shrinkage"], self.best_params_["weight"]
        return np.asarray(np.exp(mixed(X, self.quadratic_log_proba(X, shrinkage), weight)))

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(self.predict_proba(X).argmax(axis=1))


def best_mixture(
    logits: NDArray[np.float64],
    out_of_fold: NDArray[np.float64],
    y: NDArray[np.int64],
    slopes: Sequence[float] = (1.0,),
) -> tuple[float, float, float]:
    """Shrinkage, weight and slope with the least log loss; ``out_of_fold`` are log-probabilities by shrinkage."""
    losses = {
        (shrinkage, weight, slope): log_loss(mixed(logits, logs, weight, slope), y)
        for shrinkage, logs in zip(SHRINKAGES, out_of_fold, strict=True)
        for weight in WEIGHTS
        for slope in slopes
    }
    return min(losses, key=lambda chosen: losses[chosen])


def mixed(
    logits: NDArray[np.float64], logs: NDArray[np.float64], weight: float, slope: float = 1.0
) -> NDArray[np.float64]:
    """Log-probabilities and softmax's, added with weights w and 1 - w, and multiplied by the slope."""
    both = weight * logs + (1 - weight) * log_softmax(logits, axis=1)
    return np.asarray(log_softmax(slope * both, axis=1))


def log_loss(logs: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    return -float(np.mean(logs[np.arange(len(y)), y]))


# ---- probmetrics' sms ------------------------------------------------------------------------------------------------


class StructuredMatrixScaling(ClassifierMixin, BaseEstimator):
    """probmetrics' "sms": a linear map of the logits, shrunk towards temperature scaling, without hyperparameters."""

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        try:
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of torch.jit
                from probmetrics.calibrators import get_calibrator
        except ImportError as error:
            raise ImportError("The peer sms needs probmetrics: pip install --editable '.[dev]'") from error
        self.classes_ = np.arange(X.shape[1])
        self._calibrator = get_calibrator("sms").fit(softmax(X, axis=1), y)
        return self

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self._calibrator.predict_proba(softmax(X, axis=1)), dtype=np.float64)

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(self.predict_proba(X).argmax(axis=1))


# ---- all of them -----------------------------------------------------------------------------------------------------


def logistic() -> Any:
    return best_of(standardised(Logistic(max_iter=500)), head__C=[0.001, 0.01, 0.1, 1.0, 10.0, 100.0])


def svc() -> Any:
    """The search that the other methods' times are measured against: 12 candidates, 3 folds."""
    return best_of(SVC(), C=[1, 10, 100], gamma=[0.001, 0.01, 0.1, "scale"])


def knn() -> Any:
    return best_of(KNeighborsClassifier(), n_neighbors=[1, 3, 5, 10, 20, 40], weights=["uniform", "distance"])


def naive_bayes() -> Any:
    return best_of(GaussianNB(), var_smoothing=[1e-9, 1e-6, 1e-3, 1e-2, 1e-1, 1.0])


def boosting() -> Any:
    estimator = Boosting(early_stopping=True, n_iter_no_change=5, random_state=0)
    return best_of(estimator, max_leaf_nodes=[4, 16], min_samples_leaf=[5, 20])


PEERS: dict[str, Callable[[], Any]] = {
    "logistic": logistic,
    "svc": svc,
    "knn": knn,
    "qda": SoftmaxQDA,
    "naive_bayes": naive_bayes,
    "boosting": boosting,
    "sms": StructuredMatrixScaling,
}
