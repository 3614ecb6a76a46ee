"""Heads where calibrators are compared: from probabilities to probabilities, as probmetrics and CalArena have them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from aftermax._utils.labels import encode_labels
from aftermax._utils.softmax import MIN_PROBABILITY
from aftermax.auto.head import AutoHead


class HeadCalibrator(ClassifierMixin, BaseEstimator):
    """A head with the interface of a calibrator: fitted on probabilities, it returns probabilities.

    Libraries and benchmarks of post-hoc calibration (probmetrics, CalArena) pass the probabilities of a model and
    column numbers as labels, and expect a column of probabilities for each class, whether or not it has a labelled
    sample. The head takes their logarithms. Unlike most calibrators, a head may change which class is most probable.

    Parameters
    ----------
    head : estimator, default=None
        Any head, not fitted; None is an :class:`~aftermax.AutoHead`. With a
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
            Probabilities; one for each sample is that of the second class.
        y : array-like of shape (n_samples,)
            The true classes, as column numbers.
        """
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
        return np.asarray(self.head_.predict_proba(_logarithms(X)))

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The most probable class of each sample, as a column number.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Probabilities, as given to :meth:`fit`.
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _logarithms(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Logarithms of probabilities, in at least two columns."""
    given = np.asarray(probabilities, dtype=np.float64)
    if given.ndim not in (1, 2) or not len(given):
        raise ValueError(f"probabilities have shape {given.shape}: pass (n_samples, n_classes), or (n_samples,).")
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("probabilities must be from 0 to 1. If these are logits, fit the head itself on them.")
    if given.ndim == 1 or given.shape[1] == 1:
        second = given.reshape(-1)
        given = np.stack([1 - second, second], axis=1)
    return np.log(np.clip(given, MIN_PROBABILITY, None))
