"""AutoHead: every head is tried, the best is taken, and softmax stays unless that is beyond chance."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state

from aftermax._residual.fitting import Samples
from aftermax._residual.head import FoldedHead, fold
from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.labels import encode_labels, listed, warn_if_misaligned
from aftermax._utils.softmax import settle_argmax, softmax
from aftermax._utils.threads import one_blas_thread, over_ranges
from aftermax._utils.validation import as_features, as_logits, as_weights, check_count, check_number, compute_ready
from aftermax.auto._cross_fitting import cross_fit
from aftermax.auto.candidates import Candidate, Candidates, OutOfFold, judge
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import FEW_ROWS, SPHClassifierCV, rare_classes_in_words

# SPH's settings that are tried, 73 sets; and up to how many rows times the square of the classes, as its time grows.
SPH_GRID = {
    "certainty": [0.5, 0.7, 0.9, 1.0],
    "min_separation": [0.0, 1.0],
    "veto_distance": [np.inf, 2.0, 3.0],
    "distance_power": [1.0, 2.0, 4.0],
}
SPH_WORK = 50_000_000
FEW_TO_FOLD = 1_000  # with fewer rows than this there are twice as many folds
# Of more rows than this, or, with many classes, of more logits but no fewer rows than that, a part is fitted on.
MOST_ROWS, MOST_VALUES, LEAST_ROWS = 50_000, 5_000_000, 10_000
ROWS_AT_A_TIME = 1_024

Answering = FoldedHead | SPHClassifier | None  # what answers; if None, softmax


class AutoHead(ClassifierMixin, BaseEstimator):
    """The head to use if you do not want to choose: the best of all that labelled rows can prove, or else softmax.

    It starts from the logits and weighs what can be added to them: biases, a linear map, kernels, and log-likelihoods
    with full covariances. Everything is shrunk towards adding nothing. Whether that is worth it is found out on rows
    that took no part: with each fold in turn kept out of *all* of it, settings and weights included. Unless it is
    better than softmax beyond chance, softmax stays. SPH is tried too, where rows count equally and classes are not too
    many, and taken if it is better still.

    Parameters
    ----------
    cv : int, default=None
        Number of folds, for the proof. If None, 5, or 10 with fewer than 1,000 rows.
    alpha : float, default=0.05
        Softmax stays unless the gain has a p-value below this.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn. "balanced" makes every class count the same, however many rows it
        has: then balanced accuracy is what is improved, and what ``gain_`` is about.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Fixes the folds and the centers of the kernels, and so everything. None draws anew with each call.
    n_jobs : int, default=-1
        How many folds to work on side by side, as in joblib. The answer is the same for any number.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Attributes
    ----------
    chosen_ : {"softmax", "combination", "sph"}
        What answers.
    gain_ : float
        Relative reduction of softmax's error on rows kept out: 0.1 is one error in ten. It is what the best candidate
        is worth, also where that was not enough: if ``chosen_`` is "softmax", the head itself gains nothing.
    gain_interval_ : tuple of float
        Where the gain on as many new rows will lie (95 %).
    p_value_ : float
        How likely rows would improve as much by chance, in errors and in log-loss together (one-sided; for SPH, in
        errors alone). Below ``alpha`` the candidate is chosen, if it makes no more errors than softmax.
    candidates_ : Candidates
        Every candidate with its error, gain, wins and losses, log-loss and p-value on rows kept out. Print it to see a
        table; it is a mapping by name.
    weights_ : dict
        The weights of the combination: of the logits, divided by how far the largest typically leads, and of each kind
        of correction.
    held_out_ : ndarray of shape (n_rows,)
        The answer of the best candidate to each row, by a head that had not seen it. ``gain_`` is counted from these,
        except for rows that are not fitted on because they are very many.
    classes_ : ndarray of shape (K,)
        The class of each column.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (K,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    Kernels have at most 600 centers and look at the 100 principal directions at most, and with more than 50 classes
    there is one covariance for all: so time and memory grow about in proportion to rows and classes. Of more than
    50,000 rows a part is fitted on; with more than 100 classes, of more than 5,000,000 logits, but at least 10,000
    rows.

    Unlike softmax's, the answers depend on a constant that is added to a row of logits: log-probabilities are not the
    same as logits. Pass the same kind to :meth:`fit` and :meth:`predict`.

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
    >>> float(round(1 - error / softmax_error, 2))  # what it is worth on new rows
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
        """Try every candidate, measure what the best is worth, and fit it on all rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Logits: what the model says before softmax, on labelled rows it was not trained on. Column j belongs to
            class j.
        y : array-like of shape (n_rows,)
            Labels: the true classes, integers or strings.
        features : array-like of shape (n_rows, d), default=None
            The model's last hidden layer, or anything else that is known of the rows. If given, then also to
            :meth:`predict`.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts.
        """
        self.__dict__.pop("chosen_", None)  # not fitted until all is well
        if self.cv is not None:
            check_count("cv", self.cv, least=2)
        check_number("alpha", self.alpha, 0.0, 1.0)
        checked = compute_ready(as_logits(X, self))
        self.classes_, codes = encode_labels(y, checked.shape, self.classes, getattr(X, "columns", None))
        warn_if_misaligned(checked, codes, self.classes_)
        seen = None if features is None else as_features(features, len(checked))
        self._width = None if seen is None else seen.shape[1]
        weights = as_weights(sample_weight, len(checked))
        weights = weights * self._weights_of(codes, weights)
        if len(np.unique(codes[weights > 0])) < 2:
            raise ValueError("Of the rows that count, all are of one class: give a weight to rows of two classes.")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        order = content_order(checked, codes)  # so that the order of rows is no matter
        order = order[weights[order] > 0]
        most = min(MOST_ROWS, max(LEAST_ROWS, MOST_VALUES // checked.shape[1]))
        order = order[np.sort(rng.permutation(len(order))[:most])]
        rows = Samples(checked, codes, weights, seen)
        with one_blas_thread():
            answers, best = self._choose(rows.take(order), rng)
            others = np.setdiff1d(np.arange(len(codes)), order)  # the best candidate has not seen these
            held_out = np.empty(len(codes), dtype=np.int64)
            held_out[order] = answers
            held_out[others] = self._answers(best, [values[others] for values in rows.inputs])
        self.held_out_: NDArray[Any] = self.classes_[held_out]
        rare = self.classes_[np.bincount(codes, minlength=len(self.classes_)) < FEW_ROWS]
        if len(rare) and self.chosen_ != "softmax":
            warnings.warn(rare_classes_in_words(rare), UserWarning, stacklevel=2)
        return self

    def _weights_of(self, codes: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weight of each row's class."""
        size = len(self.classes_)
        by_class = np.ones(size)
        if self.class_weight == "balanced":
            counts = np.bincount(codes, weights, minlength=size)
            by_class = counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1.0))
        elif isinstance(self.class_weight, dict):
            unknown = [name for name in self.class_weight if name not in self.classes_.tolist()]
            if unknown:
                raise ValueError(
                    f"class_weight names {listed(unknown)}, not among the classes ({listed(self.classes_.tolist())})."
                )
            given = [self.class_weight.get(name, 1.0) for name in self.classes_.tolist()]
            by_class = np.array([check_number("class_weight", value, 0.0) for value in given])
        elif self.class_weight is not None:
            raise ValueError(f'class_weight={self.class_weight!r} is not known: use "balanced", a dict or None.')
        return np.asarray(by_class[codes])

    def _choose(self, sample: Samples, rng: np.random.Generator) -> tuple[NDArray[np.int64], Answering]:
        """Judge every candidate on rows kept out of it, and keep the best if it proves to be worth it.

        Returns the answers of the best to the rows kept out, and the best itself, fitted on all rows.
        """
        rows = len(sample.codes)
        folds = stratified_folds(sample.codes, min(self.cv or (10 if rows < FEW_TO_FOLD else 5), rows), rng)
        tried = cross_fit(sample, folds, rng, effective_n_jobs(self.n_jobs), self.progress)
        held_out, heads = tried.held_out, {"combination": fold(tried.heads["combination"])} | self._try_sph(sample, rng)
        if "sph" in heads:
            held_out["sph"] = OutOfFold(heads["sph"].held_out_, np.full(rows, np.nan))

        def judged(name: str, baseline: str = "softmax") -> Candidate:
            return judge(name, held_out[name], held_out[baseline], sample.codes, sample.weights, rng)

        chosen = "softmax"
        for name, head in heads.items():
            against = (judged(name, baseline) for baseline in dict.fromkeys((chosen, "softmax")))
            proven = all(one.p_value < self.alpha and one.gain >= 0 for one in against)
            if proven and not getattr(head, "fell_back_", False):
                chosen = name
        best = "combination" if chosen == "softmax" else chosen
        weighted = bool(np.ptp(sample.weights) > 0)
        self.candidates_ = Candidates([judged(name) for name in held_out], chosen, weighted=weighted)
        self.gain_, self.gain_interval_ = self.candidates_[best].gain, self.candidates_[best].gain_interval
        self.p_value_ = self.candidates_[best].p_value
        self.weights_ = tried.heads["combination"].weights_by_name()
        self._temperature = tried.temperature
        answering = heads[best].best_estimator_ if best == "sph" else heads[best]
        self._head = None if chosen == "softmax" else answering
        self.chosen_ = chosen
        return held_out[best].answers, answering

    def _try_sph(self, sample: Samples, rng: np.random.Generator) -> dict[str, Any]:
        """SPH with settings of its own, chosen honestly; it cannot weigh rows, and takes long with many classes."""
        rows, size = sample.logits.shape
        if rows * size**2 > SPH_WORK or np.ptp(sample.weights) > 0:
            return {}
        seed = int(rng.integers(2**31))
        sph = SPHClassifierCV(SPH_GRID, n_repeats=1, alpha=1.0, random_state=seed, n_jobs=self.n_jobs, progress=False)
        sph.classes_, sph.n_features_in_ = np.arange(size), size
        return {"sph": sph._learn(sample.logits, sample.codes, sph._checked_blocks())}

    # ---- answers -----------------------------------------------------------------------------------------------------

    def predict(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Logits.
        features : array-like of shape (n_rows, d), default=None
            As given to :meth:`fit`.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.classes_[self._answers(self._head, inputs)])

    def predict_proba(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[np.float64]:
        """Probabilities of the classes, calibrated; the largest is always at the class that :meth:`predict` gives."""
        inputs = self._inputs(X, features)
        if isinstance(self._head, SPHClassifier):
            return self._head._all_probabilities(inputs[0], self._temperature)
        out = np.empty(inputs[0].shape)

        def work(first: int, last: int) -> None:
            some = [values[first:last] for values in inputs]
            scores = some[0] / self._temperature if self._head is None else self._head.scores(some)
            answers = (some[0] if self._head is None else scores).argmax(axis=1)
            out[first:last] = softmax(scores)
            settle_argmax(out[first:last], answers)

        with one_blas_thread():
            over_ranges(work, len(out), ROWS_AT_A_TIME)
        return out

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        features: ArrayLike | None = None,
    ) -> float:
        """The share of rows that are answered right."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X, features), sample_weight=sample_weight))

    def _answers(self, head: Answering, inputs: list[NDArray[np.float64]]) -> NDArray[np.int64]:
        """The answers of a head to rows that are checked already, as column numbers; without a head, softmax's."""
        if isinstance(head, SPHClassifier):
            return head._answers(inputs[0])
        out = np.empty(len(inputs[0]), dtype=np.int64)

        def work(first: int, last: int) -> None:
            some = [values[first:last] for values in inputs]
            out[first:last] = (some[0] if head is None else head.scores(some)).argmax(axis=1)

        with one_blas_thread():
            over_ranges(work, len(out), ROWS_AT_A_TIME)
        return out

    def _inputs(self, X: ArrayLike, features: ArrayLike | None) -> list[NDArray[np.float64]]:
        """What the head looks at, checked. Called by what users call, so that warnings point at the user's line."""
        checked = compute_ready(as_logits(X, self, reset=False, stacklevel=4))
        if (features is None) != (self._width is None):
            raise ValueError(
                "This head was fitted without features: pass logits only."
                if self._width is None
                else f"This head was fitted with features: pass those of these rows too ({self._width} columns)."
            )
        return [checked] if features is None else [checked, as_features(features, len(checked), self._width)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "chosen_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as SPHClassifier
        return tags
