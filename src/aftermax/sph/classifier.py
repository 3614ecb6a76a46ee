"""SPHClassifier, the Softmax-Pooling Hybrid: gate, veto, pool, trust. The paper's SPH."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from aftermax._utils.folds import content_order
from aftermax._utils.labels import encode_labels, warn_if_misaligned
from aftermax._utils.softmax import settle_argmax, softmax, softmax_certainty
from aftermax._utils.threads import over_ranges, rows_per_range
from aftermax._utils.validation import as_logits, check_hyperparameters, compute_ready
from aftermax.sph._pooling import pooled_scores, pooling_rule, pooling_weights
from aftermax.sph._temperature import fit_temperature, score_probabilities
from aftermax.sph.response_array import ResponseArray, describe

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule

# All settings of SPHClassifier but the names of the classes.
HYPERPARAMETERS = (
    "certainty",
    "window_low",
    "window_high",
    "center",
    "min_separation",
    "weight_power",
    "veto_distance",
    "veto_count",
    "min_gain",
    "distance_power",
)
ROUTES = np.array(["softmax", "pooled", "reverted"])
POOLED = 1

# The temperature: how many rows it is fitted on at most; how many each class needs for the rows that made D to stand
# for new ones; and into how many parts the rows are divided if there are fewer.
ROWS_FOR_TEMPERATURE = 4096
ROWS_FOR_EACH_CLASS = 200
FOLDS = 5

# Made of a chunk: from its logits, its answers (as column numbers) and its routes, what the caller is told.
Report = Callable[[NDArray[Any], NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]
# Pooled rows with a known class: scores, answers and true classes, the latter two as column numbers.
ToCalibrate = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


class SPHClassifier(ClassifierMixin, BaseEstimator):
    """Softmax-Pooling Hybrid: softmax where it is certain, the whole response array where it is not.

    A drop-in last step for a trained, frozen classifier. Rows whose largest softmax score reaches ``certainty`` keep
    softmax's answer. The others are compared with how every response unit answered to every class on a validation
    set, and the nearest class is the answer if pooling was seen to do better than softmax on that class.

    It can help weak models: little training data, or a world that has moved. On a strong model in its own domain, with
    many classes, or with few validation rows for each class it can cost accuracy: compare with softmax (``certainty=0``
    is exactly that) on rows that took no part. The validation rows must not be rows that the model was trained on.

    Parameters
    ----------
    certainty : float, default=0.9
        Rows whose certainty (largest softmax score) is below this go to pooling (c). In [0, 1]; 0 is plain softmax.
    window_low, window_high : float, default=0.0 and 1.0
        Validation rows with a certainty in this window describe the response array (c_l, c_h). A class with fewer than
        two such rows uses all of its rows.
    center : {"mean", "median"}, default="mean"
        The middle of each response distribution.
    min_separation : float, default=0.0
        Weights below this separation are cut to zero (w_1).
    weight_power : float, default=1.0
        Sharpens the weights; 0 makes the kept ones equal (w_2, alpha).
    veto_distance : float, default=inf
        A response this many spreads away, or more, raises a flag; inf switches the veto off (v_1).
    veto_count : int, default=1
        This many flags, or more, veto a class (v_2).
    min_gain : float, default=0.0
        Pooling must beat softmax on a class by more than this share of its rows to be trusted (a_1). In [-1, 1].
    distance_power : float, default=2.0
        Exponent on the weighted distances (m_2).
    classes : array-like of shape (K,), default=None
        The class of each column of the logits, in order. Needed when the validation rows, or those of a fold in a
        cross-validation, lack a class, or when the columns are not in sorted order. If None: a data frame's column
        names, if the labels are among them; the sorted labels, if there are as many as columns; or, if labels are
        whole numbers in 0 .. K - 1, column j is class j. (scikit-learn's log-loss and AUC take probabilities to be in
        sorted order: sort the columns beforehand if you need these.)

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The class of each column, and of each column of :meth:`predict_proba`.
    response_array_ : ResponseArray
        How each unit answers to each class (D).
    separation_ : ndarray of shape (K, K)
        How far unit j holds class i apart from the others; NaN for a class without rows.
    weights_ : ndarray of shape (K, K)
        How much unit j is worth for telling class i apart (W).
    trusted_ : ndarray of shape (K,)
        Whether pooling is believed when it says this class (m).
    temperature_ : float
        Turns pooled scores into probabilities: it has the least log-loss on the pooled validation rows, scored by a
        response array made of the other rows where there are fewer than 200 for each class.
    n_features_in_ : int
        K.
    feature_names_in_ : ndarray of shape (K,)
        Names of the columns, if fitted on a data frame with string names.

    Notes
    -----
    The paper tells the algorithm twice. Where it is silent or at odds with itself, this is how it was read:

    - Rows *at* or above ``certainty`` keep softmax's answer; the overview's "max(S(s)) < cc ... accepted" is a slip.
    - A response exactly ``veto_distance`` spreads away raises a flag, and a separation of exactly ``min_separation`` is
      kept. Units with zero weight count for the veto.
    - "min (> 0)" leaves out vetoed classes and classes whose weights are all zero, not a true distance of zero. Ties go
      to the first column.
    - Where no class is left, pooling's answer is softmax's, also when the trusted classes are found.
    - A side of a distribution without rows takes the other side's spread; no spread is below 1e-6 times the unit's
      standard deviation over all rows (1e-6 if that is zero).
    - A class without rows is never pooling's answer, and no other class is measured against it.
    - Everything is computed in float64. Sums over rows are compensated, so the order of rows is no matter.

    References
    ----------
    C. B. Delahunt, C. Mehanian, J. N. Kutz, "Money on the Table: Statistical information ignored by softmax can
    improve classifier accuracy", 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax import SPHClassifier
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=600)
    >>> logits = rng.normal(size=(600, 3)) + np.array([[2, 1, 0], [0, 1, 0], [0, 1, 2]])[labels]
    >>> head = SPHClassifier().fit(logits[:300], labels[:300])
    >>> bool(head.score(logits[300:], labels[300:]) > np.mean(logits[300:].argmax(axis=1) == labels[300:]))
    True
    >>> head.route(logits[303:306])
    array(['pooled', 'softmax', 'pooled'], dtype='<U8')
    """

    def __init__(
        self,
        *,
        certainty: float = 0.9,
        window_low: float = 0.0,
        window_high: float = 1.0,
        center: Literal["mean", "median"] = "mean",
        min_separation: float = 0.0,
        weight_power: float = 1.0,
        veto_distance: float = np.inf,
        veto_count: int = 1,
        min_gain: float = 0.0,
        distance_power: float = 2.0,
        classes: ArrayLike | None = None,
    ) -> None:
        self.certainty = certainty
        self.window_low = window_low
        self.window_high = window_high
        self.center = center
        self.min_separation = min_separation
        self.weight_power = weight_power
        self.veto_distance = veto_distance
        self.veto_count = veto_count
        self.min_gain = min_gain
        self.distance_power = distance_power
        self.classes = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> SPHClassifier:
        """Learn the response array, the weights and the trusted classes from a validation set.

        Parameters
        ----------
        X : array-like of shape (n_rows, K)
            Logits: what the model says before softmax, on labelled rows it was not trained on. Column j belongs to
            class j.
        y : array-like of shape (n_rows,)
            Labels: the true classes, integers or strings.
        """
        self.__dict__.pop("temperature_", None)  # not fitted until all is well
        check_hyperparameters({name: getattr(self, name) for name in HYPERPARAMETERS})
        checked = compute_ready(as_logits(X, self))
        self.classes_, codes = encode_labels(y, checked.shape, self.classes, getattr(X, "columns", None))
        warn_if_misaligned(checked, codes, self.classes_)
        return self._learn(checked, codes)

    def _learn(self, checked: NDArray[np.float64], codes: NDArray[np.int64]) -> SPHClassifier:
        """Fit on input that is checked already; ``classes_`` and what is known of the columns are set."""
        certainty = softmax_certainty(checked)
        self._gate = float(self.certainty)
        self.response_array_ = self._describe(checked, codes, certainty)
        self.separation_ = self.response_array_.separation()
        self.weights_ = pooling_weights(
            self.separation_, min_separation=self.min_separation, weight_power=self.weight_power
        )
        self._rule = self._rule_of(self.response_array_)
        hard = certainty < self._gate
        hard_logits, hard_codes = checked[hard], codes[hard]
        pooled = self._pool(hard_logits, self._rule)
        self.trusted_ = self._trusted(hard_logits.argmax(axis=1), pooled[0], hard_codes)
        if len(codes) >= ROWS_FOR_EACH_CLASS * len(self.classes_):
            found = [self._scores_to_calibrate(hard_logits, hard_codes, self._rule, *pooled)]
        else:
            found = list(self._held_out_scores(checked, codes, certainty))
        self.temperature_ = fit_temperature(*(np.concatenate(part) for part in zip(*found, strict=True)))
        return self

    def _describe(
        self, logits: NDArray[np.float64], codes: NDArray[np.int64], certainty: NDArray[np.float64]
    ) -> ResponseArray:
        return describe(logits, codes, self.classes_, certainty, self.center, self.window_low, self.window_high)

    def _rule_of(self, responses: ResponseArray) -> PoolingRule:
        return pooling_rule(
            responses,
            self.weights_,
            distance_power=self.distance_power,
            veto_distance=self.veto_distance,
            veto_count=self.veto_count,
        )

    def _trusted(
        self, softmax_answers: NDArray[np.intp], pooled: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Which classes pooling is better at than softmax, by the uncertain validation rows (m)."""
        size = len(self.classes_)
        rows = np.bincount(codes, minlength=size)
        pooled_right, softmax_right = (
            np.bincount(codes[answers == codes], minlength=size) for answers in (pooled, softmax_answers)
        )
        # The difference of the shares, rounded once: a gain of exactly ``min_gain`` is never enough.
        return np.asarray((rows > 0) & ((pooled_right - softmax_right) / np.maximum(rows, 1) > self.min_gain))

    def _held_out_scores(
        self, logits: NDArray[np.float64], codes: NDArray[np.int64], certainty: NDArray[np.float64]
    ) -> Iterator[ToCalibrate]:
        """Each fifth of the rows scored by a response array made of the others.

        With few rows for each class the array fits the rows it was made of better than any others, and probabilities
        fitted on them would promise too much.
        """
        order = content_order(logits, codes)
        by_class = order[np.argsort(codes[order], kind="stable")]
        counts = np.bincount(codes)
        rank_in_class = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
        folds = rank_in_class % FOLDS
        for fold in range(FOLDS):
            held_out, others = by_class[folds == fold], by_class[folds != fold]
            rule = self._rule_of(self._describe(logits[others], codes[others], certainty[others]))
            rows = held_out[certainty[held_out] < self._gate]
            yield self._scores_to_calibrate(logits[rows], codes[rows], rule, *self._pool(logits[rows], rule))

    def _scores_to_calibrate(
        self,
        logits: NDArray[np.float64],
        codes: NDArray[np.int64],
        rule: PoolingRule,
        pooled: NDArray[np.int64],
        routes: NDArray[np.int64],
    ) -> ToCalibrate:
        """Scores, answers and true classes of the rows that are pooled, or of a sample of them."""
        kept = np.flatnonzero((routes == POOLED) & self.trusted_[pooled])
        if len(kept) > ROWS_FOR_TEMPERATURE:
            every = -(-len(kept) // ROWS_FOR_TEMPERATURE)
            kept = kept[content_order(logits[kept], codes[kept])[::every]]
        return pooled_scores(logits[kept], rule), pooled[kept], codes[kept]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row: softmax's answer or pooling's."""
        checked = as_logits(X, self, reset=False)
        out = np.empty(len(checked), dtype=self.classes_.dtype)
        return self._decide(checked, self._rule, self.trusted_, lambda _, answers, __: self.classes_[answers], out)

    def route(self, X: ArrayLike) -> NDArray[np.str_]:
        """Which way each row went.

        "softmax": it was certain. "pooled": it was not, and pooling's answer was kept. "reverted": pooling was
        distrusted or had no answer, so softmax's stands.
        """
        checked = as_logits(X, self, reset=False)
        out = np.empty(len(checked), dtype=ROUTES.dtype)
        return self._decide(checked, self._rule, self.trusted_, lambda _, __, routes: ROUTES[routes], out)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes; the largest is always at the class that :meth:`predict` gives.

        Rows that keep softmax's answer have softmax's probabilities. Pooled rows have probabilities proportional to
        exp(-score / ``temperature_``), where a vetoed class is at most as likely as the answer.
        """
        return self._all_probabilities(as_logits(X, self, reset=False))

    def _all_probabilities(self, logits: NDArray[Any], temperature: float = 1.0) -> NDArray[np.float64]:
        """Of rows whose shape is checked already; where softmax's answer is kept, with a temperature."""
        report = partial(self._probabilities, temperature)
        return self._decide(logits, self._rule, self.trusted_, report, np.empty(logits.shape))

    def _probabilities(
        self, temperature: float, logits: NDArray[Any], answers: NDArray[np.int64], routes: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        probabilities = softmax(logits / temperature)
        rows = np.flatnonzero(routes == POOLED)
        scores = pooled_scores(logits[rows], self._rule)
        probabilities[rows] = score_probabilities(scores, answers[rows], self.temperature_)
        settle_argmax(probabilities, answers)
        return probabilities

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        """The answers to rows that are checked already, as column numbers."""
        out = np.empty(len(logits), dtype=np.int64)
        return self._decide(logits, self._rule, self.trusted_, lambda _, answers, __: answers, out)

    def _pool(self, logits: NDArray[np.float64], rule: PoolingRule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Answers (as column numbers) and routes (as places in ``ROUTES``) of rows if every class were trusted."""
        out = np.empty((len(logits), 2), dtype=np.int64)
        trusted = np.ones(len(self.classes_), dtype=bool)
        self._decide(logits, rule, trusted, lambda _, *decision: np.stack(decision, axis=1), out)
        return out[:, 0], out[:, 1]

    def _decide(
        self, logits: NDArray[Any], rule: PoolingRule, trusted: NDArray[np.bool_], report: Report, out: NDArray[Any]
    ) -> NDArray[Any]:
        """Gate, veto, pool and trust, chunk by chunk, and fill ``out`` with what ``report`` makes of each chunk."""
        from aftermax.sph import _kernels as kernels

        def work(first: int, last: int) -> None:
            chunk = compute_ready(logits[first:last], first)
            answers, routes = np.empty((2, len(chunk)), dtype=np.int64)
            kernels.predict_rows(chunk, self._gate, trusted, rule, answers, routes)
            out[first:last] = report(chunk, answers, routes)

        over_ranges(work, len(logits), rows_per_range(logits.shape[1]))
        return out

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "temperature_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Columns that are not one class's response each, as in scikit-learn's own checks, give poor answers.
        tags.classifier_tags.poor_score = True
        return tags
