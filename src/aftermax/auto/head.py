"""AutoHead: corrections of the logits and SPH, cross-fitted, and trusted as far as the evidence goes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from aftermax._heads.estimator import HeadEstimator
from aftermax._many.samples import ManySamples
from aftermax._residual.capacity import BUDGETS
from aftermax._residual.samples import Samples
from aftermax._utils.class_weight import total_weights
from aftermax._utils.comparison import promised_gain
from aftermax._utils.folds import Split, content_order, sample_keys
from aftermax._utils.groups import as_groups, joined_groups, numbered_by_appearance
from aftermax._utils.large import MANY_CLASSES, samples_per_chunk
from aftermax._utils.paired_tests import ALPHA
from aftermax._utils.random import generator
from aftermax._utils.rare_classes import warn_if_rare
from aftermax._utils.splits import check_cv_parameter, given_splits, random_splits
from aftermax._utils.threads import one_blas_thread
from aftermax._utils.validation import as_features, check_choice, check_number
from aftermax._utils.warned import warn
from aftermax.auto._labelled_summary import summary_of
from aftermax.auto._selection import Selection, default_folds, default_repeats, select
from aftermax.auto._unlabelled import warn_of_unlabelled

# Of more samples than this or, with many classes, of more logits but no fewer samples than that, some are fitted on.
MAX_SAMPLES, MAX_LOGITS, MIN_SAMPLES = 50_000, 5_000_000, 10_000
LOGITS_AT_A_TIME = 20_000_000  # that are predicted of the samples that were not fitted on


class AutoHead(HeadEstimator):
    """The head to use if you do not want to choose: corrections of the logits, trusted as far as the evidence goes.

    Corrections are added to the logits, in tiers from safe to rich: a bias for each class ("biases"); a linear map as
    well ("linear"); Gaussian log-posteriors and RBF kernels as well ("combination"; ridge regression on Nystroem
    centers). With features, each is fitted on these too: the linear map is then the model's last layer, fitted again
    from where it was. Stacking weights the corrections and shrinks them towards zero. All are judged out-of-fold:
    each fold in turn is held out of *all* of the fit, hyperparameters and stacking weights included (cross-fitting).
    SPH is a candidate too, where the samples have no weights and are at least as many as the square of the classes.

    With more than 256 classes the tiers are others: biases, then similarity to class means in the space of a sample's
    largest scores ("class means"), then linear discriminants as well ("class means and discriminants").

    Between softmax and a full correction there are heads that trust it in part. The candidate that probably makes the
    fewest errors predicts; with little evidence that is a quarter of the correction, which changes few predictions, or
    softmax. Whether fewer errors are *proven* is another question: ``proven_`` and ``p_value_``.

    Parameters
    ----------
    cv : int, splitter or iterable of splits, default=None
        Number of folds for cross-fitting, a splitter of scikit-learn such as ``GroupKFold`` or ``TimeSeriesSplit``, or
        pairs of indices to fit on and to hold out. If None, 5 folds, or 10 with fewer than 1,000 samples, drawn twice.
    alpha : float, default=0.025
        Level of the one-sided test by which fewer errors are proven. The default is that of a two-sided test at 5 %,
        so a gain is proven where its 95 % interval lies above 0.
    only_proven : bool, default=False
        Whether softmax is kept unless fewer errors are proven. By default, a head that is likely to make fewer errors
        predicts even if that is not proven yet.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn. "balanced" gives every class the same total weight: then balanced
        accuracy is what is improved, and what ``gain_`` is about. The probabilities are then those of a world in which
        the classes are as frequent as their weights say, not of the world as it is.
    class_prior : dict or array-like of shape (K,), default=None
        The true share of each class where the head will be used, if the labelled samples have other ones, as when half
        of them were chosen to be positive. Samples are weighted so that the classes have these shares.
    keep_unlabelled : bool, default=False
        Whether classes without a labelled sample keep the chance that softmax gives them, in the mean. If False, they
        keep it as far as they may be missing by chance (by Good and Turing's estimate); if softmax gives them more,
        they are taken for rare or absent, with a warning. Pass True if they occur among new samples and nobody has
        labelled them yet.
    budget : {"fast", "standard", "thorough"}, default="standard"
        How much time the kernels may take: at most 300, 1,200 or 2,400 centers for each (with fewer than 20 classes, at
        most 600 of the logits in "standard"). How many they get within that is decided by their log loss. With more
        than 256 classes, "fast" leaves out the discriminant of the logits.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines the folds and the centers of the kernels. None gives other ones with each call.
    n_jobs : int, default=-1
        Number of folds fitted in parallel, as in joblib. The result is the same for any number. They are threads or,
        inside ``joblib.parallel_config("dask")``, with up to 256 classes, tasks of a Dask cluster.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Attributes
    ----------
    chosen_ : str
        What predicts: "softmax", a tier ("biases", "linear", "combination" or "combination without features"; with more
        than 256 classes "biases", "class means" or "class means and discriminants"), or "sph".
    trust_ : float
        The share of the tier's correction that is added to softmax's scores; 0 if softmax is kept.
    proven_ : bool
        Whether it is proven that the head makes fewer errors than softmax: ``p_value_`` is below ``alpha``.
    gain_ : float
        Relative reduction of softmax's error to expect of this head: 0.1 is one error in ten, 0 if softmax is kept.
        It is the out-of-fold gain, shrunk because the head was selected for it.
    gain_interval_ : tuple of float
        95 % interval of the true gain; (0, 0) if softmax is kept, whose predictions are its own.
    gain_prediction_interval_ : tuple of float
        In which range (95 %) the gain on as many new samples will be. It is wider, as these have their own luck.
    p_value_ : float
        One-sided, of the claim that errors are fewer, by a sign-flip test on the out-of-fold predictions (McNemar's
        exact test where samples are independent and not weighted). It is corrected for the number of candidates. If
        softmax is kept, it is that of the best candidate.
    candidates_ : Candidates
        Every candidate with its out-of-fold error, gain, wins and losses, log loss and p-values. Print it to see a
        table; it is a mapping by name.
    weights_ : dict
        The stacking weights of the combination: of the logits, in units of their typical margin, and of each kind of
        correction.
    held_out_ : ndarray of shape (n_samples,)
        Out-of-fold predictions of the candidate that predicts; softmax's if it is kept. ``gain_`` follows from these,
        except for samples that were not fitted on because they are very many.
    held_out_proba_ : ndarray of shape (n_samples, K) or None
        Out-of-fold probabilities of the candidate that predicts, largest at ``held_out_``; NaN for samples that were
        not held out. None if ``chosen_`` is "sph", or if there are more than 256 classes.
    held_out_mask_ : ndarray of shape (n_samples,)
        Which samples were held out; all of them, unless ``cv`` leaves some out, as ``TimeSeriesSplit`` does.
    class_shares_ : ndarray of shape (K,)
        The shares of the classes that the head assumes: those of the labelled samples, with their weights.
    labelled_summary_ : LabelledSummary or None
        What :func:`~aftermax.adapt_priors` needs of the labelled samples; None without ``held_out_proba_``.
    adaptation_ : Adaptation or None
        In a head that :func:`~aftermax.adapt_priors` returned: the new class proportions, and what was decided.
    fitted_head_ : FittedHead
        The frozen value that predicts; if ``chosen_`` is "sph", it has SPH's ``hyperparameters``.
    reference_ : Reference or None
        Means and spreads of the logits and of softmax's certainty, by which :func:`~aftermax.check` notices drift;
        None in a head from an older file.
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
    Kernels have at most 1,200 centers (see ``budget``) and use at most 100 principal components of the logits and 400
    of the features, and with more than 50 classes all share one covariance: so time and memory grow about in proportion
    to samples and classes. Of more than 50,000 samples a part is fitted on; with more than 100 classes, of more than
    5,000,000 logits, but at least 10,000 samples. A warning says so.

    With more than 256 classes all samples are fitted on. The logits may then be of any precision and in a file
    (``numpy.load(path, mmap_mode="r")``): they are read some at a time, and never copied as a whole. With more than
    2,000 classes there is no discriminant of the logits, as each prediction would take too long.

    Unlike softmax's, the predictions depend on a constant that is added to all logits of a sample: log-probabilities
    are not the same as logits. Pass the same kind to :meth:`fit` and :meth:`predict`.

    Identical samples are held out together, unless a ``cv`` that you pass divides them, and are counted once.

    Examples
    --------
    >>> from aftermax import AutoHead
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = AutoHead().fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> head.chosen_, head.proven_, round(head.gain_, 2)
    ('combination', True, 0.22)
    >>> softmax_error = (scores.test_logits.argmax(axis=1) != scores.test_labels).mean()
    >>> error = 1 - head.score(scores.test_logits, scores.test_labels)
    >>> float(round(1 - error / softmax_error, 2))  # the gain on new samples
    0.34
    """

    _fits_any_precision = True

    def __init__(
        self,
        *,
        cv: Any = None,
        alpha: float = ALPHA,
        only_proven: bool = False,
        class_weight: Literal["balanced"] | dict[Any, float] | None = None,
        class_prior: dict[Any, float] | ArrayLike | None = None,
        keep_unlabelled: bool = False,
        budget: Literal["fast", "standard", "thorough"] = "standard",
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: bool | None = None,
    ) -> None:
        self.cv = cv
        self.alpha = alpha
        self.only_proven = only_proven
        self.class_weight = class_weight
        self.class_prior = class_prior
        self.keep_unlabelled = keep_unlabelled
        self.budget = budget
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
        groups: ArrayLike | None = None,
    ) -> AutoHead:
        """Cross-fit every candidate, choose how much of which correction to trust, and fit it on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on. Column j
            belongs to class j. One logit for each sample, of a binary model, is the log-odds of the second class.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            The model's last hidden layer, or any other features of the samples. If given, then also to
            :meth:`predict`. Several arrays, as of several layers, are put side by side: a list in which an array has
            two dimensions. Any other list is one array, of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample.
        groups : array-like of shape (n_samples,), default=None
            What each sample is of, such as a patient, a site or a video, if samples of the same one are alike. Groups
            are held out as a whole, and p-values and intervals count groups, not samples.
        """
        self.__dict__.pop("fitted_head_", None)  # not fitted until fit has succeeded
        check_cv_parameter(self.cv)
        check_number("alpha", self.alpha, 0.0, 1.0)
        check_choice("budget", self.budget, BUDGETS)
        logits, codes, _ = self._checked(X, y)
        hidden = None if features is None else as_features(features, len(logits))
        self.features_width_ = None if hidden is None else hidden.shape[1]
        together = joined_groups(as_groups(groups, len(logits)), logits, codes, hidden)
        weights = total_weights(sample_weight, self.class_weight, codes, self.classes_, self.class_prior)
        samples = Samples(logits, codes, weights, hidden, sample_keys(logits, together))
        rng = generator(self.random_state)
        many = len(self.classes_) > MANY_CLASSES
        fitted_on = _fitted_on(samples, rng, many)
        _warn_if_fewer(len(fitted_on), int(np.count_nonzero(weights > 0)))
        splits = self._splits(samples, together, fitted_on, rng, y, groups)
        with one_blas_thread():
            selection = select(
                ManySamples.of(samples, fitted_on) if many else samples.take(fitted_on),
                splits,
                None if together is None else np.unique(together[fitted_on], return_inverse=True)[1],
                self.classes_,
                budget=self.budget,
                alpha=self.alpha,
                only_proven=self.only_proven,
                keep_unlabelled=self.keep_unlabelled,
                random_splits=self._splits_at_random,
                rng=rng,
                n_jobs=effective_n_jobs(self.n_jobs),
                progress=self.progress,
            )
            self._report(selection)
            self._report_held_out(selection, samples, fitted_on)
        self.class_shares_ = np.bincount(codes, weights, minlength=len(self.classes_)) / weights.sum()
        held_out = fitted_on[selection.held_out]
        self.labelled_summary_ = summary_of(self.held_out_proba_, samples, held_out, together)
        if self.chosen_ != "softmax":
            told = not self.keep_unlabelled and warn_of_unlabelled(samples, self.classes_)
            warn_if_rare(codes[weights > 0], self.classes_, unlabelled_too=not told)
        return self

    @property
    def _splits_at_random(self) -> bool:
        """Whether folds are drawn here, and not given."""
        return self.cv is None or isinstance(self.cv, Integral)

    def _splits(
        self,
        samples: Samples,
        groups: NDArray[np.int64] | None,
        fitted_on: NDArray[np.intp],
        rng: np.random.Generator,
        labels: ArrayLike,
        given_groups: ArrayLike | None,
    ) -> list[Split]:
        """The splits of the samples that are fitted on, as positions among these."""
        if self._splits_at_random:
            n_samples, n_classes, keys = len(fitted_on), len(self.classes_), samples.keys[fitted_on]
            repeats = default_repeats(n_samples, n_classes) if self.cv is None else 1
            # Copies alone need no groups: they share a key, and so a fold.
            some = None
            if groups is not None and given_groups is not None:
                some = numbered_by_appearance(groups[fitted_on])
            return random_splits(keys, some, int(self.cv or default_folds(n_samples)), repeats, rng)
        position = np.full(len(samples.codes), -1)
        position[fitted_on] = np.arange(len(fitted_on))
        splits = given_splits(self.cv, samples.logits, np.asarray(labels), given_groups)
        found = [tuple(position[part][position[part] >= 0] for part in split) for split in splits]
        return [(train, test) for train, test in found if len(train) and len(test)]

    def _report(self, selection: Selection) -> None:
        decision = selection.decision
        self.candidates_, self.chosen_, self.trust_ = selection.candidates, selection.tier, selection.trust
        self.proven_, self.p_value_ = decision.proven, decision.p_value
        chosen = decision.chosen
        self.gain_, self.gain_interval_, self.gain_prediction_interval_ = (
            (0.0, (0.0, 0.0), (0.0, 0.0)) if chosen is None else promised_gain(chosen.comparison, kept_softmax=False)
        )
        self.weights_ = selection.stacking_weights
        self.fitted_head_ = selection.fitted

    def _report_held_out(self, selection: Selection, samples: Samples, fitted_on: NDArray[np.intp]) -> None:
        """Out-of-fold predictions, and the head's predictions of the samples that it was not fitted on."""
        found, out_of_fold = selection.fitted, selection.out_of_fold
        codes = np.empty(len(samples.codes), dtype=np.int64)
        codes[fitted_on] = out_of_fold.predictions
        mask = np.ones(len(codes), dtype=bool)
        mask[fitted_on] = selection.held_out
        probabilities = None
        if out_of_fold.probabilities is not None:
            probabilities = np.full(samples.logits.shape, np.nan)
            probabilities[fitted_on[selection.held_out]] = out_of_fold.probabilities[selection.held_out]
        others = np.setdiff1d(np.arange(len(codes)), fitted_on)
        step = samples_per_chunk(samples.logits.shape[1], LOGITS_AT_A_TIME)
        for first in range(0, len(others), step):
            some = others[first : first + step]
            inputs = [values[some] for values in samples.inputs]
            codes[some] = found.predict(inputs)
            if probabilities is not None:
                probabilities[some] = found.predict_proba(inputs)
        self.held_out_: NDArray[Any] = self.classes_[codes]
        self.held_out_proba_: NDArray[np.float64] | None = probabilities
        self.held_out_mask_ = mask

    def predict(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            As given to :meth:`fit`; several layers in the same order. A head that makes no use of them, as where
            softmax is kept, needs none.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.classes_[self.fitted_head_.predict(inputs)])

    def predict_proba(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[np.float64]:
        """Calibrated probabilities of the classes; the largest is always at the class that :meth:`predict` gives.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            As given to :meth:`fit`; several layers in the same order. A head that makes no use of them, as where
            softmax is kept, needs none.
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


def _warn_if_fewer(fitted_on: int, given: int) -> None:
    if fitted_on < given:
        warn(
            f"AutoHead is fitted on {fitted_on:,} of the {given:,} samples, drawn at random: more would take long, and "
            "gain little. All of them are predicted in held_out_.",
            stacklevel=3,
        )


def _fitted_on(samples: Samples, rng: np.random.Generator, many: bool) -> NDArray[np.intp]:
    """The samples to fit on, in an order that does not depend on the order they came in: those with positive weight.

    Heads for many classes are fitted on all of them.
    """
    order = content_order(samples.logits, samples.codes, samples.features)
    order = order[samples.weights[order] > 0]
    if many:
        return order
    most = min(MAX_SAMPLES, max(MIN_SAMPLES, MAX_LOGITS // samples.logits.shape[1]))
    return order[np.sort(rng.permutation(len(order))[:most])]
