"""SPHClassifierCV: hyperparameters chosen by cross-validation, and an out-of-fold test of what the choice gains."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._heads.estimator import HeadEstimator
from aftermax._utils.class_weight import total_weights
from aftermax._utils.comparison import promised_gain
from aftermax._utils.groups import as_groups, joined_groups
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.random import generator
from aftermax._utils.rare_classes import warn_if_rare
from aftermax._utils.splits import check_cv_parameter, given_splits, splits_among
from aftermax._utils.validation import check_count, check_number
from aftermax.sph._weights import positive_weights
from aftermax.sph.choice import Choice, choose_sph
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.fitted import FittedSPH
from aftermax.sph.grid import Grid, blocks_with_softmax

FOLDS = 5  # of the choice, where ``cv`` is not a number


class SPHClassifierCV(HeadEstimator):
    """SPH with hyperparameters chosen by cross-validation, or softmax if the choice is not significantly better.

    Every combination of the grid is evaluated by repeated cross-validation. Of those whose gain is within one standard
    error of the best, the simplest is chosen: the one with the fewest hyperparameters away from their defaults (a
    window counts once, and so does a veto; the certainty does not count), and of equally simple ones the best. Softmax
    itself is in the grid and simpler than all. Then the choice itself is cross-validated (nested cross-validation): the
    gain on the outer folds, which are held out of the choice, is the gain to expect. Softmax is kept unless that gain
    is significant.

    Parameters
    ----------
    grid : dict or list of dicts, default=None
        Values to try for each hyperparameter of :class:`~aftermax.SPHClassifier`, as for :func:`~aftermax.sweep`. If
        None, :func:`~aftermax.default_grid`.
    cv : int, splitter or iterable of splits, default=5
        Number of folds, of the choice and of its proof. The folds of the choice are stratified: each class is spread
        over them as evenly as possible, and one with fewer samples than folds is missing from some. The time taken
        grows with the square of this. A splitter of scikit-learn, such as ``GroupKFold`` or ``TimeSeriesSplit``, or
        pairs of indices to fit on and to hold out, make the outer folds, of the proof; the choice has 5 folds then.
    n_repeats : int, default=2
        How often the cross-validation is repeated with other folds.
    alpha : float, default=0.025
        Softmax is kept unless the one-sided p-value of the gain is below this. The default is that of a two-sided test
        at 5 %, so SPH is chosen where the 95 % interval of its gain lies above 0.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn. "balanced" gives every class the same total weight: then balanced
        accuracy is what the hyperparameters are chosen for, and what ``gain_`` is about.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines the folds. None gives other ones with each call.
    n_jobs : int, default=-1
        Number of parallel tasks, as in joblib; see :func:`~aftermax.sweep`.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Attributes
    ----------
    best_params_ : dict
        The hyperparameters chosen; ``certainty`` is 0 if softmax is kept.
    best_estimator_ : SPHClassifier
        The head with these hyperparameters, fitted on all samples.
    fell_back_ : bool
        Whether softmax is kept.
    proven_ : bool
        Whether it is proven that the head makes fewer errors than softmax; False if softmax is kept.
    gain_ : float
        Relative reduction of softmax's error to expect of this head: 0.1 is one error in ten, 0 if softmax is kept. It
        is that of nested cross-validation, shrunk because the head was selected for it.
    gain_interval_ : tuple of float
        95 % interval of the true gain; (0, 0) if softmax is kept, whose predictions are its own.
    gain_prediction_interval_ : tuple of float
        In which range (95 %) the gain on as many new samples will be. It is wider, as these have their own luck.
    p_value_ : float
        One-sided, of the claim that the choice makes fewer errors than softmax, by a sign-flip test on the out-of-fold
        predictions: McNemar's exact test, unless there are groups or weights.
    held_out_ : ndarray of shape (n_samples,)
        Out-of-fold predictions, by hyperparameters chosen without the sample; ``gain_`` is computed from these. Samples
        of weight 0 have the predictions of the head, which was not fitted on them.
    held_out_mask_ : ndarray of shape (n_samples,)
        Which samples were held out; all of them, unless ``cv`` leaves some out, as ``TimeSeriesSplit`` does. The others
        have softmax's predictions in ``held_out_``, and are not part of ``gain_``.
    cv_results_ : dict of ndarrays
        The table that the choice was made from: a column for each hyperparameter, and ``gain`` with its
        ``standard_error``, ``wins`` and ``losses`` (counts over all samples, averaged over the repeats; if samples have
        weights, sums of these, scaled to a mean of 1) and ``departures``, the number of hyperparameters away from their
        defaults. Row ``best_index_`` was chosen; the last row is softmax, with departures -1. The best of these gains
        is optimistic, as it was chosen for being the best: report ``gain_``.
    best_index_ : int
        Index in ``cv_results_`` of the combination chosen, before softmax was kept or not.
    classes_ : ndarray of shape (K,)
        The class of each column.
    reference_ : Reference or None
        Means and spreads of the logits and of softmax's certainty, by which :func:`~aftermax.check` notices drift;
        None in a head from an older file.
    n_features_in_ : int
        K; 1 if fitted on one logit for each sample, which has two classes.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    The grid is swept ``(cv + 1) * n_repeats * cv`` times, 60 with the defaults. The time grows with the number of
    samples, the number of combinations and the square of the number of classes: with hundreds of classes, pass a
    smaller grid.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax import SPHClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=600)
    >>> logits = rng.normal(size=(600, 3)) + np.array([[2, 1, 0], [0, 1, 0], [0, 1, 2]])[labels]
    >>> head = SPHClassifierCV({"certainty": [0.6, 0.9], "distance_power": [1, 2]}).fit(logits[:300], labels[:300])
    >>> head.fell_back_, round(head.gain_, 2), [round(end, 2) for end in head.gain_interval_]
    (False, 0.18, [0.07, 0.33])
    >>> head.best_params_["certainty"]
    0.9
    >>> softmax_error = np.mean(logits[300:].argmax(axis=1) != labels[300:])
    >>> error = 1 - head.score(logits[300:], labels[300:])
    >>> float(round(1 - error / softmax_error, 2))  # one error in five is gone, on new samples too
    0.21
    """

    best_estimator_: SPHClassifier

    def __init__(
        self,
        grid: Grid | None = None,
        *,
        cv: Any = 5,
        n_repeats: int = 2,
        alpha: float = ALPHA,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.n_repeats = n_repeats
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
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> SPHClassifierCV:
        """Choose the hyperparameters, estimate what the choice gains, and fit the head on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on. Column j
            belongs to class j. One logit for each sample, of a binary model, is the log-odds of the second class.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample. Everything is weighted: the heads, as in :class:`~aftermax.SPHClassifier`, the
            wins and losses that hyperparameters are chosen by, and the gain with its test and intervals. A sample of
            weight 0 is left out. Only ratios matter.
        groups : array-like of shape (n_samples,), default=None
            What each sample is of, such as a patient, a site or a video, if samples of the same one are alike. Groups
            are held out as a whole, and p-values and intervals count groups, not samples.
        """
        self.__dict__.pop("best_estimator_", None)  # not fitted until fit has succeeded
        check_cv_parameter(self.cv)
        check_count("n_repeats", self.n_repeats)
        check_number("alpha", self.alpha, 0.0, 1.0)
        blocks = blocks_with_softmax(self.grid)
        samples = self._checked(X, y)
        all_weights = total_weights(sample_weight, self.class_weight, samples.codes, self.classes_)
        together = joined_groups(as_groups(groups, len(all_weights)), samples.logits, samples.codes)
        some, weights = positive_weights(all_weights)
        drawn = self.cv is None or isinstance(self.cv, Integral)
        chosen = np.arange(len(all_weights))[some]
        splits = None if drawn else given_splits(self.cv, samples.logits, np.asarray(y), groups)
        choice = choose_sph(
            LabelledSamples(samples.logits[some], samples.codes[some], self.classes_),
            blocks,
            cv=int(self.cv) if drawn and self.cv is not None else FOLDS,
            n_repeats=self.n_repeats,
            alpha=self.alpha,
            rng=generator(self.random_state),
            n_jobs=self.n_jobs,
            progress=self.progress,
            groups=None if together is None else together[some],
            weights=weights,
            splits=None if splits is None else splits_among(splits, chosen, len(all_weights)),
        )
        self._report(choice)
        self._report_held_out(choice, samples.logits, chosen)
        if not self.fell_back_:
            warn_if_rare(samples.codes[some], self.classes_)
        return self

    def _report(self, choice: Choice) -> None:
        self.p_value_, self.proven_ = choice.comparison.p_value, not choice.fell_back
        self.gain_, self.gain_interval_, self.gain_prediction_interval_ = promised_gain(
            choice.comparison, kept_softmax=choice.fell_back
        )
        self.cv_results_, self.best_index_ = choice.cv_results, choice.best_index
        self.fell_back_, self.best_params_ = choice.fell_back, dict(choice.head.hyperparameters)
        self.fitted_head_ = choice.head

    def _report_held_out(self, choice: Choice, logits: NDArray[np.float64], chosen: NDArray[np.intp]) -> None:
        """Out-of-fold predictions, and the head's predictions of samples of weight 0, which it was not fitted on."""
        codes, mask = np.empty(len(logits), dtype=np.int64), np.ones(len(logits), dtype=bool)
        codes[chosen], mask[chosen] = choice.out_of_fold, choice.held_out
        others = np.setdiff1d(np.arange(len(logits)), chosen)
        codes[others] = choice.head.predict([logits[others]])
        self.held_out_: NDArray[Any] = self.classes_[codes]
        self.held_out_mask_ = mask

    def _estimator(self, head: FittedSPH) -> SPHClassifier:
        """The chosen head as an estimator of its own."""
        best = SPHClassifier(**head.hyperparameters, class_weight=self.class_weight, classes=self.classes)
        best.fitted_head_ = head
        for name in ("classes_", "reference_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(best, name, getattr(self, name))
        return best

    @property
    def fitted_head_(self) -> FittedSPH:
        """The fitted head of ``best_estimator_``."""
        return self.best_estimator_.fitted_head_

    @fitted_head_.setter
    def fitted_head_(self, head: FittedSPH) -> None:
        self.best_estimator_ = self._estimator(head)

    def route(self, X: ArrayLike) -> NDArray[np.str_]:
        """Which way each sample takes; see :meth:`aftermax.SPHClassifier.route`."""
        check_is_fitted(self)
        return self.best_estimator_.route(X)
