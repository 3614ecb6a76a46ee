"""AutoHead: stacked corrections and SPH, cross-fitted; softmax is kept unless one of them is significantly better."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from aftermax._heads.estimator import HeadEstimator
from aftermax._residual.samples import Samples
from aftermax._utils.folds import content_order
from aftermax._utils.random import generator
from aftermax._utils.rare_classes import warn_if_rare
from aftermax._utils.threads import one_blas_thread
from aftermax._utils.validation import as_features, as_weights, check_count, check_number
from aftermax.auto._class_weight import weights_by_class
from aftermax.auto._selection import Selection, select

# Of more samples than this or, with many classes, of more logits but no fewer samples than that, some are fitted on.
MAX_SAMPLES, MAX_LOGITS, MIN_SAMPLES = 50_000, 5_000_000, 10_000


class AutoHead(HeadEstimator):
    """The head to use if you do not want to choose: stacked corrections, SPH or, if neither is better, softmax.

    Corrections are added to the logits: a bias for each class, a linear map, RBF kernels (ridge regression on Nystroem
    centers) and Gaussian log-posteriors with full covariances. Stacking weights them, and shrinks them towards zero.
    The combination is judged out-of-fold: each fold in turn is held out of *all* of the fit, hyperparameters and
    stacking weights included (cross-fitting). Softmax is kept unless the combination is significantly better. SPH is a
    candidate too, where the samples have no weights and classes are not too many, and is chosen if it is better still.

    Parameters
    ----------
    cv : int, default=None
        Number of folds for cross-fitting. If None, 5, or 10 with fewer than 1,000 samples.
    alpha : float, default=0.05
        Softmax is kept unless the p-value of the gain is below this.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn. "balanced" gives every class the same total weight: then balanced
        accuracy is what is improved, and what ``gain_`` is about.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines the folds and the centers of the kernels. None gives other ones with each call.
    n_jobs : int, default=-1
        Number of folds fitted in parallel, as in joblib. The result is the same for any number.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Attributes
    ----------
    chosen_ : {"softmax", "combination", "sph"}
        The candidate that predicts.
    gain_ : float
        Out-of-fold relative reduction of softmax's error: 0.1 is one error in ten. It is that of the combination, or of
        SPH if that was chosen, also where it was not significant: if ``chosen_`` is "softmax", the head itself gains
        nothing.
    gain_interval_ : tuple of float
        95 % prediction interval of the gain on as many new samples, by a paired bootstrap.
    p_value_ : float
        Of a one-sided paired test of errors and log losses together (for SPH, of errors alone). Below ``alpha`` the
        candidate is chosen, if it makes no more errors than softmax.
    candidates_ : Candidates
        Every candidate with its out-of-fold error, gain, wins and losses, log loss and p-value. Print it to see a
        table; it is a mapping by name.
    weights_ : dict
        The stacking weights of the combination: of the logits, in units of their typical margin, and of each kind of
        correction.
    held_out_ : ndarray of shape (n_samples,)
        Out-of-fold predictions of the combination, or of SPH if that was chosen. ``gain_`` is computed from these,
        except for samples that were not fitted on because they are very many.
    fitted_head_ : FittedHead
        The frozen value that predicts. Its ``kind`` is ``chosen_``; if that is "sph", it has SPH's ``hyperparameters``.
    features_width_ : int or None
        Number of columns of ``features``; None if fitted without.
    classes_ : ndarray of shape (K,)
        The class of each column.
    n_features_in_ : int
        K; 1 if fitted on one logit for each sample, which has two classes.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    Kernels have at most 600 centers and use at most 100 principal components, and with more than 50 classes all share
    one covariance: so time and memory grow about in proportion to samples and classes. Of more than 50,000 samples a
    part is fitted on; with more than 100 classes, of more than 5,000,000 logits, but at least 10,000 samples.

    Unlike softmax's, the predictions depend on a constant that is added to all logits of a sample: log-probabilities
    are not the same as logits. Pass the same kind to :meth:`fit` and :meth:`predict`.

    Examples
    --------
    >>> from aftermax import AutoHead
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = AutoHead().fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> head.chosen_, round(head.gain_, 2)
    ('combination', 0.22)
    >>> softmax_error = (scores.test_logits.argmax(axis=1) != scores.test_labels).mean()
    >>> error = 1 - head.score(scores.test_logits, scores.test_labels)
    >>> float(round(1 - error / softmax_error, 2))  # the gain on new samples
    0.33
    """

    def __init__(
        self,
        *,
        cv: int | None = None,
        alpha: float = 0.05,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> None:
        self.cv = cv
        self.alpha = alpha
        self.class_weight = class_weight
        self.classes = classes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AutoHead:
        """Cross-fit every candidate, test the combination and SPH against softmax, and fit on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on. Column j
            belongs to class j. One logit for each sample, of a binary model, is the log-odds of the second class.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        features : array-like of shape (n_samples, n_features), default=None
            The model's last hidden layer, or any other features of the samples. If given, then also to
            :meth:`predict`.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample.
        """
        self.__dict__.pop("fitted_head_", None)  # not fitted until fit has succeeded
        if self.cv is not None:
            check_count("cv", self.cv, least=2)
        check_number("alpha", self.alpha, 0.0, 1.0)
        logits, codes, _ = self._checked(X, y)
        hidden = None if features is None else as_features(features, len(logits))
        self.features_width_ = None if hidden is None else hidden.shape[1]
        samples = Samples(logits, codes, self._weights(sample_weight, codes), hidden)
        rng = generator(self.random_state)
        fitted_on = _fitted_on(samples, rng)
        with one_blas_thread():
            selection = select(
                samples.take(fitted_on),
                self.classes_,
                cv=self.cv,
                alpha=self.alpha,
                rng=rng,
                n_jobs=effective_n_jobs(self.n_jobs),
                progress=self.progress,
            )
            held_out = _held_out(selection, samples, fitted_on)
        self.held_out_: NDArray[Any] = self.classes_[held_out]
        self._report(selection)
        if self.chosen_ != "softmax":
            warn_if_rare(codes, self.classes_)
        return self

    def _weights(self, sample_weight: ArrayLike | None, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Each sample's weight times that of its class; at least two classes must have some."""
        weights = as_weights(sample_weight, len(codes))
        weights = weights * weights_by_class(self.class_weight, codes, self.classes_, weights)
        if len(np.unique(codes[weights > 0])) < 2:
            raise ValueError(
                "All samples with non-zero sample_weight belong to one class: give positive weights to samples of at "
                "least two classes."
            )
        return weights

    def _report(self, selection: Selection) -> None:
        best = selection.candidates[selection.best_name]
        self.candidates_, self.chosen_ = selection.candidates, selection.candidates.chosen
        self.gain_, self.gain_interval_, self.p_value_ = best.gain, best.gain_interval, best.p_value
        self.weights_ = selection.stacking_weights
        self.fitted_head_ = selection.fitted

    def predict(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), default=None
            As given to :meth:`fit`.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.classes_[self.fitted_head_.predict(inputs)])

    def predict_proba(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[np.float64]:
        """Calibrated probabilities of the classes; the largest is always at the class that :meth:`predict` gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), default=None
            As given to :meth:`fit`.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.fitted_head_.predict_proba(inputs))

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        features: ArrayLike | None = None,
    ) -> float:
        """Accuracy: the share of samples that are predicted right."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, features), sample_weight=sample_weight))


def _fitted_on(samples: Samples, rng: np.random.Generator) -> NDArray[np.intp]:
    """The samples to fit on, in an order that does not depend on the order they came in: those with positive weight."""
    order = content_order(samples.logits, samples.codes)
    order = order[samples.weights[order] > 0]
    most = min(MAX_SAMPLES, max(MIN_SAMPLES, MAX_LOGITS // samples.logits.shape[1]))
    return order[np.sort(rng.permutation(len(order))[:most])]


def _held_out(selection: Selection, samples: Samples, fitted_on: NDArray[np.intp]) -> NDArray[np.int64]:
    """The best candidate's out-of-fold predictions, and its predictions of the samples that it was not fitted on."""
    held_out = np.empty(len(samples.codes), dtype=np.int64)
    held_out[fitted_on] = selection.out_of_fold
    others = np.setdiff1d(np.arange(len(held_out)), fitted_on)
    held_out[others] = selection.best.predict([values[others] for values in samples.inputs])
    return held_out
