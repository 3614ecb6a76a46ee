"""Decider: decisions by costs, by a metric other than accuracy, or with a person for what is not certain enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from aftermax._abstention.record import Abstention
from aftermax._abstention.threshold import CONFIDENCE, check_limits, choose_threshold, rounded_down
from aftermax._heads.estimator import HeadEstimator
from aftermax._utils.class_weight import total_weights
from aftermax._utils.folds import Split, sample_keys
from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.groups import as_groups, groups_in_doubt, joined_groups, numbered_by_appearance
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.large import predicted_columns
from aftermax._utils.random import generator
from aftermax._utils.splits import check_cv_parameter, given_splits, random_splits, splits_among
from aftermax._utils.validation import as_features
from aftermax._utils.warned import kept_warnings, warn_once_each
from aftermax._wrapped.decision import DecisionHead, decided_probability
from aftermax.auto.head import AutoHead
from aftermax.decide.choice import PLAIN, PLUG_IN, Choice, choose_rule
from aftermax.decide.comparison import Judged
from aftermax.decide.costs import as_costs
from aftermax.decide.objectives import Objective, cost_objective, metric_objective
from aftermax.decide.outcome import Outcome, outcome_of
from aftermax.decide.probabilities import HeadSamples, HeldOut, held_out_probabilities

COPIED = ("classes_", "n_features_in_", "features_width_", "reference_", "answer_format_")  # of a head that is fitted


class Decider(HeadEstimator):
    """Decide by what errors cost, or for a metric other than accuracy, on the probabilities of a head.

    A head predicts the most probable class. If errors are not all alike, another decision may be better: the one with
    the lowest *expected cost*, given the probabilities. ``predict`` gives that decision; ``predict_proba`` stays what
    it is, so its largest value may be at another class.

    The rule is chosen out-of-fold, on labelled samples: the lowest expected cost by the head's probabilities (the
    plug-in rule); the same with probabilities whose biases of the classes are fitted again; with tuned weights of the
    classes, in full or in half (for two classes, a tuned threshold); or plain predictions. A simple rule is passed over
    only where another is clearly better.

    For a metric of the confusion matrix, such as macro-F1, the costs are those at which the expected metric is largest.

    With ``max_error``, alone or beside costs or a metric, the head decides only what it is certain enough of:
    :meth:`is_certain` is true for as many samples as it can be, while the error of these stays below ``max_error`` with
    confidence 95 %. All others are for a person.

    Parameters
    ----------
    head : classifier, default=None
        The head whose probabilities are decided on: :class:`~aftermax.AutoHead` if None, or any scikit-learn classifier
        with ``predict_proba``, which is fitted on the logits. Without ``held_out_proba_``, it is cross-validated.
    costs : array-like of shape (K, K) or data frame, default=None
        What each decision (column) costs for each true class (row), in the order of ``classes_``; a data frame is
        reordered by its names. Costs below 0 are gains. The right decision need not be free.
    metric : {"balanced_accuracy", "macro_f1"} or callable, default=None
        The metric to raise, in place of costs. A callable takes the confusion matrix (an array of shape (K, K) of
        weighted counts, rows are true classes, and not always whole numbers) and returns a number, larger is better.
    max_error : float, default=None
        The largest error that is acceptable where the head decides alone, such as 0.02. If None, it always does.
    confidence : float, default=0.95
        With which probability, over the draw of the labelled samples, ``max_error`` is kept to.
    cv : int, splitter or iterable of splits, default=5
        The folds for the choice of the rule, and for a head that is cross-validated. A splitter or splits are passed on
        to a head that has a parameter ``cv``.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Determines the folds, and everything that is random in the default head.
    n_jobs : int, default=-1
        Of the default head.

    Attributes
    ----------
    outcome_ : Outcome or None
        What the decisions cost or score, out-of-fold, compared with softmax and with the plain predictions of the head,
        with paired 95 % intervals and p-values. Print it. None after :meth:`from_fitted`, and with ``max_error`` alone.
    abstention_ : Abstention or None
        What is promised with ``max_error``: the threshold on the probability of the decision, the share of the samples
        that the head decides alone, their error out-of-fold and its upper bound. Print it.
    rule_ : str
        What decides: "lowest expected cost", "recalibrated", "half tuned", "tuned" or "plain predictions".
    chosen_ : str
        What the head predicts with, and what decides.
    head_ : classifier
        The head, fitted on all samples; its plain predictions and its own report. Not saved.
    costs_ : ndarray of shape (K, K) or None
        The costs in the order of ``classes_``; None for a metric.
    class_shares_ : ndarray of shape (K,) or None
        The shares of the classes among the labelled samples, with their weights.
    held_out_ : ndarray of shape (n_samples,)
        Out-of-fold decisions: each by a rule that was chosen and fitted without its fold. If plain predictions are
        kept, these.
    held_out_proba_ : ndarray of shape (n_samples, K)
        Out-of-fold probabilities of the head; NaN where a sample was never held out.
    held_out_mask_ : ndarray of shape (n_samples,)
        Which samples were held out.
    fitted_head_ : DecisionHead
        The frozen value that decides.
    features_width_ : int or None
        Number of columns of ``features``; None if fitted without.
    classes_ : ndarray of shape (K,)
        The class of each column.
    n_features_in_ : int
        K; 1 if fitted on one logit for each sample.

    Examples
    --------
    To take a 1 for a 7 costs ten times as much as any other error:

    >>> import numpy as np
    >>> from aftermax import Decider
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> costs = 1.0 - np.eye(10)
    >>> costs[1, 7] = 10.0
    >>> decider = Decider(costs=costs).fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> decider.rule_, decider.outcome_.decided < decider.outcome_.softmax
    ('lowest expected cost', True)
    >>> decisions = decider.predict(scores.test_logits)
    >>> before = costs[scores.test_labels, scores.test_logits.argmax(axis=1)].mean()
    >>> bool(costs[scores.test_labels, decisions].mean() < before)
    True
    """

    _fits_any_precision = True
    outcome_: Outcome | None
    abstention_: Abstention | None
    costs_: NDArray[np.float64] | None
    class_shares_: NDArray[np.float64] | None

    def __init__(
        self,
        head: Any = None,
        *,
        costs: ArrayLike | None = None,
        metric: str | Callable[[NDArray[np.float64]], float] | None = None,
        max_error: float | None = None,
        confidence: float = CONFIDENCE,
        cv: Any = 5,
        classes: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        self.head = head
        self.costs = costs
        self.metric = metric
        self.max_error = max_error
        self.confidence = confidence
        self.cv = cv
        self.classes = classes
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the head, and choose the rule that decides on its out-of-fold probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits: the model's outputs before softmax, for labelled samples that it was not trained on.
        y : array-like of shape (n_samples,)
            The true classes, integers or strings.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            For heads whose ``fit`` takes them, as AutoHead's does.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample. Costs and metrics are then weighted.
        groups : array-like of shape (n_samples,), default=None
            What each sample is of, such as a patient, if samples of the same one are alike. Groups are held out as a
            whole, and intervals and p-values count groups.
        """
        self.__dict__.pop("fitted_head_", None)  # not fitted until fit has succeeded
        with kept_warnings() as messages:
            self._fit(X, y, features, sample_weight, groups)
        warn_once_each(messages, stacklevel=2)  # head and Decider warn alike
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        features: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> None:
        check_cv_parameter(self.cv)
        if self.max_error is not None:
            check_limits(self.max_error, self.confidence)
        head = self._unfitted_head()
        samples = self._checked(X, y)
        objective = self._objective()
        hidden = None if features is None else as_features(features, len(samples.codes))
        together = joined_groups(as_groups(groups, len(samples.codes)), samples.logits, samples.codes, hidden)
        metadata = {"features": hidden, "sample_weight": sample_weight, "groups": groups}
        given = {name: np.asarray(as_plain(values, name)) for name, values in metadata.items() if values is not None}
        # Of samples in this order, nothing depends on the order in which they came.
        order = np.argsort(sample_keys(samples.logits), kind="stable")
        splits = self._splits(samples, together, order, y, groups)
        found = held_out_probabilities(head, HeadSamples(*samples, given), splits)
        class_weight, class_prior = (getattr(head, name, None) for name in ("class_weight", "class_prior"))
        weights = total_weights(sample_weight, class_weight, samples.codes, self.classes_, class_prior)
        some = order[(found.mask & (weights > 0))[order]]
        groups_of_some = None if together is None else numbered_by_appearance(together[some])
        unit = float(weights[some].mean()) if len(some) else 1.0
        judged = Judged(samples.codes[some], weights[some] / unit, groups_of_some, len(self.classes_))
        choice = self._choose(objective, samples, found, judged, some, splits)
        alike = groups_in_doubt(together, samples.logits, samples.codes, hidden)
        promised = replace(judged, groups=None if alike is None else numbered_by_appearance(alike[some]))
        self.abstention_ = self._abstention(found.probabilities[some], choice.decisions, promised)
        threshold = None if self.abstention_ is None else self.abstention_.threshold
        self.fitted_head_ = DecisionHead(found.fitted, choice.rule, threshold)
        self.class_shares_ = np.bincount(samples.codes, weights, minlength=len(self.classes_)) / weights.sum()
        self.features_width_ = None if hidden is None else hidden.shape[1]
        self.head_ = found.estimator

    def _unfitted_head(self) -> Any:
        if self.head is None:
            head: Any = AutoHead(random_state=self.random_state, n_jobs=self.n_jobs)
        else:
            head = _checked_head(self.head)
        if not isinstance(self.cv, Integral | None) and head.get_params(deep=False).get("cv", self) is None:
            head = clone(head).set_params(cv=self.cv)
        return head

    def _objective(self) -> Objective | None:
        """What is asked for besides ``max_error``, checked; None if nothing is."""
        given = [one for one in (self.costs, self.metric) if one is not None]
        if len(given) == 2 or (not given and self.max_error is None):
            raise ValueError(
                "Decider needs costs or a metric, one of the two: costs=[[0, 1], [10, 0]] (a row for each true class, "
                'a column for each decision), or metric="balanced_accuracy"; or max_error=0.02, alone or besides.'
            )
        if self.costs is None:
            self.costs_ = None
            return None if self.metric is None else metric_objective(self.metric)
        self.costs_ = as_costs(self.costs, self.classes_)
        return cost_objective(self.costs_)

    def _splits(
        self,
        samples: LabelledSamples,
        together: NDArray[np.int64] | None,
        order: NDArray[np.intp],
        labels: ArrayLike,
        groups: ArrayLike | None,
    ) -> list[Split]:
        if self.cv is None or isinstance(self.cv, Integral):
            keys = sample_keys(samples.logits, together)[order]
            numbered = None if together is None else numbered_by_appearance(together[order])
            found = random_splits(keys, numbered, int(self.cv or 5), 1, generator(self.random_state))
            return [(order[train], order[test]) for train, test in found]
        return given_splits(self.cv, samples.logits, np.asarray(labels), groups)

    def _choose(
        self,
        objective: Objective | None,
        samples: LabelledSamples,
        found: HeldOut,
        judged: Judged,
        some: NDArray[np.intp],
        splits: list[Split],
    ) -> Choice:
        """Choose the rule on the samples that were held out and have a weight, and report what it costs."""
        probabilities = found.probabilities[some]
        softmax, plain = predicted_columns(samples.logits), probabilities.argmax(axis=1)
        if objective is None:
            choice, self.outcome_ = Choice(PLAIN, None, plain, {}), None
        else:
            choice = choose_rule(objective, probabilities, judged, splits_among(splits, some, len(samples.codes)))
            self.outcome_ = outcome_of(objective, judged, softmax[some], plain, choice)
        self.rule_, self.chosen_ = choice.name, _chosen(found.estimator, choice.name)
        codes = softmax.copy()
        codes[some] = choice.decisions
        self.held_out_: NDArray[Any] = self.classes_[codes]
        self.held_out_mask_, self.held_out_proba_ = found.mask, found.probabilities
        return choice

    def _abstention(
        self, probabilities: NDArray[np.float64], decisions: NDArray[np.int64], judged: Judged
    ) -> Abstention | None:
        """Which decisions are certain enough, if ``max_error`` is asked for: by those out-of-fold."""
        if self.max_error is None:
            return None
        weighted = float(np.ptp(judged.weights)) > 0
        return choose_threshold(
            rounded_down(decided_probability(probabilities, decisions)),
            decisions == judged.codes,
            self.max_error,
            confidence=self.confidence,
            groups=judged.groups,
            weights=judged.weights if weighted else None,
        )

    @classmethod
    def from_fitted(cls, head: HeadEstimator, *, costs: ArrayLike) -> Self:
        """A Decider from a fitted head and costs, without labelled samples: the lowest expected cost decides.

        Parameters
        ----------
        head : AutoHead, SoftmaxClassifier, SPHClassifier or SPHClassifierCV
            Fitted, or loaded from a file.
        costs : array-like of shape (K, K) or data frame
            As for :class:`Decider`.

        Examples
        --------
        >>> from aftermax import Decider, SoftmaxClassifier
        >>> head = SoftmaxClassifier(temperature=1.0).fit([[3.0, -1.0], [-1.0, 2.0]], ["ham", "spam"])
        >>> decider = Decider.from_fitted(head, costs=[[0, 100], [1, 0]])  # ham that is taken for spam costs 100
        >>> head.predict([[-1.0, 2.0]]).tolist(), decider.predict([[-1.0, 2.0]]).tolist()
        (['spam'], ['ham'])
        """
        if not isinstance(head, HeadEstimator) or isinstance(head, Decider):
            raise TypeError(
                f"from_fitted got a {type(head).__name__}: pass a fitted head, such as an AutoHead, or use fit."
            )
        check_is_fitted(head)
        decider = cls(clone(head), costs=costs)
        for name in COPIED:
            setattr(decider, name, getattr(head, name))
        if hasattr(head, "feature_names_in_"):
            decider.feature_names_in_ = head.feature_names_in_
        decider.costs_ = as_costs(costs, head.classes_)
        decider.outcome_, decider.rule_, decider.head_ = None, PLUG_IN, head
        decider.abstention_ = None
        decider.chosen_, decider.class_shares_ = _chosen(head, PLUG_IN), getattr(head, "class_shares_", None)
        decider.fitted_head_ = DecisionHead(head.fitted_head_, decider.costs_)
        return decider

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[Any]:
        """Decide for each sample. The decision need not be the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            As given to :meth:`fit`.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.classes_[self.fitted_head_.predict(inputs)])

    def predict_proba(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[np.float64]:
        """The probabilities of the head, whatever is decided: the largest may be at another class than the decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            As given to :meth:`fit`.
        """
        inputs = self._inputs(X, features)
        return np.asarray(self.fitted_head_.predict_proba(inputs))

    def is_certain(self, X: ArrayLike, features: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Whether the head may decide each sample alone; where not, it is for a person.

        Needs ``max_error``: ``abstention_`` says what is promised of the samples for which this is true.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
            Logits, as given to :meth:`fit`.
        features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
            As given to :meth:`fit`.

        Examples
        --------
        >>> from aftermax import Decider
        >>> from aftermax.data import load_vmnist
        >>> scores = load_vmnist(trained_on=500)
        >>> decider = Decider(max_error=0.02).fit(scores.val_logits[:1000], scores.val_labels[:1000])
        >>> decider.abstention_
        Abstention: decides alone: 56.5 % of the samples, of which at most 2 % are wrong (confidence 95 %)
        >>> certain = decider.is_certain(scores.test_logits)
        >>> wrong = decider.predict(scores.test_logits) != scores.test_labels
        >>> bool(wrong[certain].mean() <= 0.02)
        True
        """
        inputs = self._inputs(X, features)
        if self.fitted_head_.threshold is None:
            raise ValueError("This Decider has no max_error: fit it with one, such as Decider(max_error=0.02).")
        return np.asarray(self.fitted_head_.is_certain(inputs))


def _chosen(head: Any, rule: str) -> str:
    """What the head predicts with, and what decides."""
    fitted = getattr(head, "fitted_head_", None)
    by = str(getattr(head, "chosen_", type(head).__name__ if fitted is None else fitted.kind))
    return by if rule == PLAIN else f"{by}, {rule}"


def _checked_head(head: Any) -> Any:
    if isinstance(head, Decider):
        raise TypeError("head is a Decider: pass the head that it decides on, such as AutoHead().")
    if isinstance(head, type) or not all(hasattr(head, name) for name in ("fit", "predict_proba", "get_params")):
        what = f"the class {head.__name__}" if isinstance(head, type) else f"of type {type(head).__name__}"
        raise TypeError(
            f"head is {what}: pass a classifier with fit, predict_proba and get_params, like scikit-learn's, such as "
            "AutoHead(), or leave it out."
        )
    return head
