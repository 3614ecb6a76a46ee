"""SoftmaxClassifier: the model as it is, with calibrated probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._heads.estimator import HeadEstimator
from aftermax._heads.softmax import SoftmaxHead
from aftermax._residual.fitting import fit_softmax_temperature
from aftermax._residual.samples import Samples
from aftermax._utils.folds import content_order, sample_keys
from aftermax._utils.groups import as_groups, joined_groups, numbered_by_appearance
from aftermax._utils.large import predicted_columns
from aftermax._utils.random import generator
from aftermax._utils.splits import random_splits
from aftermax._utils.validation import as_weights, check_number
from aftermax.auto._labelled_summary import summary_of

FOLDS = 10
MOST_LOGITS = 2_000_000  # of these, the temperature is fitted on a part: it is one number
MOST_HELD_OUT = 50_000_000  # out-of-fold probabilities are kept of so many logits at most


class SoftmaxClassifier(HeadEstimator):
    """The model as it is: the class with the largest logit, and the softmax of the logits over a temperature.

    It is for what needs calibrated probabilities and no other predictions, such as costs, abstention and new class
    proportions, and a baseline for other heads. :class:`~aftermax.AutoHead` keeps softmax, too, where no correction is
    likely to make fewer errors.

    Parameters
    ----------
    temperature : float, default=None
        What the logits are divided by. If None, it is fitted on the labelled samples (temperature scaling).
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines the folds of ``held_out_proba_``. None gives other ones with each call.

    Attributes
    ----------
    temperature_ : float
        What the logits are divided by.
    held_out_ : ndarray of shape (n_samples,)
        The predictions, which are softmax's: nothing was fitted to make them.
    held_out_proba_ : ndarray of shape (n_samples, K) or None
        Out-of-fold probabilities: those of each sample with a temperature that was fitted without it. None if there
        are more than 50,000,000 logits.
    class_shares_ : ndarray of shape (K,)
        The shares of the classes among the labelled samples, with their weights.
    labelled_summary_ : LabelledSummary or None
        What :func:`~aftermax.adapt_priors` needs of the labelled samples; None with more than 256 classes.
    adaptation_ : Adaptation or None
        In a head that :func:`~aftermax.adapt_priors` returned: the new class proportions, and what was decided.
    fitted_head_ : FittedHead
        The frozen value that predicts.
    reference_ : Reference or None
        Means and spreads of the logits, by which :func:`~aftermax.check` notices drift.
    classes_ : ndarray of shape (K,)
        The class of each column.
    n_features_in_ : int
        K; 1 if fitted on one logit for each sample, which has two classes.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if fitted on a data frame with string names.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> from aftermax import SoftmaxClassifier
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> model = SoftmaxClassifier().fit(scores.val_logits, scores.val_labels)
    >>> round(model.temperature_, 2)
    1.41
    >>> bool((model.predict(scores.test_logits) == scores.test_logits.argmax(axis=1)).all())
    True
    """

    _fits_any_precision = True

    def __init__(
        self,
        *,
        temperature: float | None = None,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.temperature = temperature
        self.classes = classes
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> SoftmaxClassifier:
        """Fit the temperature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on. Column j
            belongs to class j. One logit for each sample, of a binary model, is the log-odds of the second class.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample.
        groups : array-like of shape (n_samples,), default=None
            What each sample is of, such as a patient, if samples of the same one are alike. They are held out together.
        """
        self.__dict__.pop("fitted_head_", None)  # not fitted until fit has succeeded
        if self.temperature is not None:
            check_number("temperature", self.temperature, 1e-6, 1e6)
        logits, codes, _ = self._checked(X, y)
        weights = as_weights(sample_weight, len(logits))
        together = joined_groups(as_groups(groups, len(logits)), logits, codes)
        samples = Samples(logits, codes, weights, None, sample_keys(logits, together))
        order = content_order(logits, codes)
        order = order[weights[order] > 0]
        self.temperature_ = self._fitted_temperature(samples, order)
        self.fitted_head_ = SoftmaxHead(self.temperature_)
        self.class_shares_ = np.bincount(codes, weights, minlength=len(self.classes_)) / weights.sum()
        self.held_out_ = self.classes_[predicted_columns(logits)]
        self.held_out_proba_ = self._out_of_fold(samples, order, together)
        self.labelled_summary_ = summary_of(self.held_out_proba_, samples, order, together)
        return self

    def _fitted_temperature(self, samples: Samples, some: NDArray[np.intp]) -> float:
        """The temperature that was given, or the one that these samples have."""
        if self.temperature is not None:
            return float(self.temperature)
        if len(some) == 0:  # identical samples are held out together, and these may be all
            return 1.0
        step = -(-len(some) * samples.logits.shape[1] // MOST_LOGITS)
        return fit_softmax_temperature(samples.take(some[::step]))  # in content order, every n-th is a fair part

    def _out_of_fold(
        self, samples: Samples, order: NDArray[np.intp], groups: NDArray[np.int64] | None
    ) -> NDArray[np.float64] | None:
        """Probabilities with temperatures of other folds; of samples without weight, with that of all."""
        if samples.logits.size > MOST_HELD_OUT:
            return None
        out = self.fitted_head_.predict_proba([samples.logits])
        if self.temperature is not None:
            return np.asarray(out)
        some = None if groups is None else numbered_by_appearance(groups[order])
        for train, test in random_splits(samples.keys[order], some, FOLDS, 1, generator(self.random_state)):
            head = SoftmaxHead(self._fitted_temperature(samples, order[train]))
            out[order[test]] = head.predict_proba([samples.logits[order[test]]])
        return np.asarray(out)
