"""Heads where calibrators are compared: from probabilities to probabilities, as probmetrics and CalArena have them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from aftermax._utils.labels import encode_labels
from aftermax._utils.softmax import MIN_PROBABILITY
from aftermax._utils.validation import as_numbers
from aftermax.auto.head import AutoHead
from aftermax.decide.decider import Decider

ROUNDING = 1e-6  # by so much, probabilities in single precision may be beyond 0 or 1
MOST_ROUNDED = 0.1  # by so much, the sum of probabilities that were rounded may be off, whatever the number of classes


class HeadCalibrator(ClassifierMixin, BaseEstimator):
    """A head with the interface of a calibrator: fitted on probabilities, it returns probabilities.

    Libraries and benchmarks of post-hoc calibration (probmetrics, CalArena) pass the probabilities of a model and
    column numbers as labels, and expect a column of probabilities for each class, whether or not it has a labelled
    sample. The head takes their logarithms. Unlike most calibrators, a head may change which class is most probable.

    Parameters
    ----------
    head : estimator, default=None
        Any head but a :class:`~aftermax.Decider`, not fitted; None is an :class:`~aftermax.AutoHead`. With a
        :class:`~aftermax.SoftmaxClassifier`, predictions stay those of the model.

    Attributes
    ----------
    head_ : estimator
        The fitted head. It takes logarithms of probabilities.
    classes_ : ndarray of shape (n_classes,)
        The column numbers.

    Examples
    --------
    >>> from scipy.special import softmax
    >>> from aftermax import SoftmaxClassifier
    >>> from aftermax.bridges.calibration import HeadCalibrator
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> calibrator = HeadCalibrator(SoftmaxClassifier())
    >>> calibrator = calibrator.fit(softmax(scores.val_logits, axis=1), scores.val_labels)
    >>> calibrator.predict_proba(softmax(scores.test_logits, axis=1)).shape
    (4000, 10)
    """

    def __init__(self, head: Any = None) -> None:
        self.head = head

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the head.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Probabilities that sum to 1; one for each sample is that of the second class.
        y : array-like of shape (n_samples,)
            The true classes, as column numbers.
        """
        if isinstance(self.head, Decider):
            raise TypeError(
                "head is a Decider, whose decisions by costs, a metric or max_error would be lost: a calibrator gives "
                "probabilities, and predicts the most probable class. Pass the head that it decides on, such as "
                "AutoHead(), or fit the Decider itself, on numpy.log(numpy.clip(p, 1e-12, None))."
            )
        logits = _logarithms(X)
        classes = np.arange(logits.shape[1])
        encode_labels(y, logits.shape, classes)  # says which label is no column number
        head = AutoHead() if self.head is None else clone(self.head)
        if "classes" in head.get_params():
            head.set_params(classes=classes)
        head.fit(logits, np.asarray(y).astype(np.int64))
        if len(head.classes_) < len(classes):
            raise ValueError(
                f"{type(head).__name__} has {len(head.classes_):,} of the {len(classes):,} classes, as the others have "
                "no labelled sample: pass a head of aftermax, which keeps them."
            )
        self.head_, self.classes_ = head, classes
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """The probabilities of all classes, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Probabilities, as given to :meth:`fit`.
        """
        check_is_fitted(self)
        return np.asarray(self.head_.predict_proba(_logarithms(X, len(self.classes_))))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The most probable class of each sample, as a column number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Probabilities, as given to :meth:`fit`.
        """
        columns = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[columns])


def _logarithms(probabilities: ArrayLike, n_classes: int | None = None) -> NDArray[np.float64]:
    """Logarithms of probabilities, in at least two columns; of so many classes, if given."""
    given = as_numbers("probabilities", probabilities, "pass one column of numbers for each class")
    if given.ndim not in (1, 2) or not given.size:
        raise ValueError(f"probabilities have shape {given.shape}: pass (n_samples, n_classes), or (n_samples,).")
    columns = given.reshape(len(given), -1)
    if n_classes not in (None, max(2, columns.shape[1])):
        raise ValueError(
            f"probabilities have shape {given.shape}, but the calibrator was fitted on {n_classes:,} classes: pass one "
            "column for each of them."
        )
    _check_range(columns)
    columns = np.clip(columns, 0, 1)
    if columns.shape[1] == 1:
        columns = np.hstack([1 - columns, columns])
    _check_sums(columns)
    return np.log(np.clip(columns, MIN_PROBABILITY, None))


def _check_range(probabilities: NDArray[np.float64]) -> None:
    """Refuse values outside of 0 to 1 by more than the rounding of single precision."""
    possible = (probabilities >= -ROUNDING) & (probabilities <= 1 + ROUNDING)
    if possible.all():
        return
    row, column = np.argwhere(~possible)[0].tolist()
    value = probabilities[row, column]
    where = f"row {row}, column {column}"
    if np.isnan(value):
        raise ValueError(f"probabilities contain NaN at {where}: drop such samples, or repair the model's output.")
    raise ValueError(
        f"probabilities contain {value:.9g} at {where}, but must be from 0 to 1. If these are logits, fit the head "
        "itself on them; if they are in percent, divide them by 100."
    )


def _check_sums(probabilities: NDArray[np.float64]) -> None:
    """Refuse a row that does not sum to 1; with values that were rounded to two digits, it may be off by as much."""
    sums = probabilities.sum(axis=1)
    wrong = np.abs(sums - 1) > min(probabilities.shape[1] / 200, MOST_ROUNDED)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"probabilities sum to {sums[row]:.6g} at row {row}, and not to 1: pass one for each of the classes that "
            "exclude each other, as softmax gives them. Those of one-vs-rest sigmoids can be divided by their sum, "
            "p / p.sum(axis=1, keepdims=True); drop samples that sum to 0."
        )
