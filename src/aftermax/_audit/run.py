"""audit: what a head would change, counted out-of-fold."""

from __future__ import annotations

from inspect import signature
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from aftermax._abstention.curve import RiskCoverage, error_by_share
from aftermax._audit.counts import count_by_class, largest_drops, largest_rises
from aftermax._audit.out_of_fold import Predicted, Samples, out_of_fold
from aftermax._audit.result import Audit
from aftermax._heads.estimator import HeadEstimator
from aftermax._utils.chance import warn_if_by_chance
from aftermax._utils.class_weight import weights_by_class, weights_by_prior
from aftermax._utils.comparison import Comparison
from aftermax._utils.groups import as_groups, joined_groups
from aftermax._utils.labels import encode_labels
from aftermax._utils.large import predicted_columns
from aftermax._utils.misaligned_columns import warn_if_misaligned
from aftermax._utils.one_logit import is_one_logit, one_column
from aftermax._utils.paired_tests import samples_range, wins_and_losses
from aftermax._utils.random import generator
from aftermax._utils.reliability import binned
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.splits import check_cv_parameter
from aftermax._utils.text import listed
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import as_features, as_logits, as_weights, compute_ready, kept_if_many
from aftermax._utils.warned import kept_warnings, warn, warn_once_each
from aftermax._wrapped.decision import decided_probability
from aftermax.auto.head import AutoHead
from aftermax.decide.decider import Decider
from aftermax.sph.classifier_cv import SPHClassifierCV

MAX_DROPS, MAX_RISES = 10, 5  # pairs of classes in the result
CROSS_FITTED = (AutoHead, SPHClassifierCV, Decider)  # they hold out samples, and warn, themselves


class _Arguments(NamedTuple):
    """What was passed besides logits, labels and head."""

    features: ArrayLike | None
    sample_weight: ArrayLike | None
    groups: ArrayLike | None
    classes: ArrayLike | None
    class_weight: Any
    class_prior: Any
    cv: Any
    random_state: int | np.random.RandomState | None


def audit(
    logits: ArrayLike,
    labels: ArrayLike,
    head: Any = None,
    *,
    features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    class_weight: Literal["balanced"] | dict[Any, float] | None = None,
    class_prior: dict[Any, float] | ArrayLike | None = None,
    cv: Any = 5,
    random_state: int | np.random.RandomState | None = 0,
) -> Audit:
    """Is there accuracy left on the table? Count out-of-fold what a head would change.

    Parameters
    ----------
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, on labelled samples that it was not trained on. Column j belongs to class j.
        One logit for each sample, of a binary model, is the log-odds of the second class.
    labels : array-like of shape (n_samples,)
        The true classes, integers or strings.
    head : classifier, default=None
        The head that would replace softmax: :class:`~aftermax.AutoHead` if None, or any scikit-learn classifier. It is
        not changed: a clone is fitted on these samples, even if the head is fitted already, because samples that it may
        have been fitted on prove nothing. (To ask whether a *fitted* head is good on new samples, use
        :func:`~aftermax.check`.) A head with out-of-fold predictions in ``held_out_``, such as AutoHead and
        :class:`~aftermax.SPHClassifierCV`, is fitted once; any other head is cross-validated.
    features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
        The model's last hidden layer, or several layers, for heads whose ``fit`` takes features, as AutoHead's does.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample. Errors, gain and p-value are then weighted. Heads whose ``fit`` takes it are fitted
        with it.
    groups : array-like of shape (n_samples,), default=None
        What each sample is of, such as a patient, a site or a video, if samples of the same one are alike. Groups are
        held out as a whole, and p-values and intervals count groups, not samples.
    classes : array-like of shape (n_classes,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    class_weight : "balanced" or dict, default=None
        Weights of the classes, as in scikit-learn; "balanced" makes it about balanced accuracy. Heads that have a
        parameter of this name get it.
    class_prior : dict or array-like of shape (n_classes,), default=None
        The true share of each class where the head will be used, if it is not that of these samples. See
        :class:`~aftermax.AutoHead`.
    cv : int, splitter or iterable of splits, default=5
        Folds for a head that is cross-validated here. If the samples outside of a fold are all of one class, softmax
        predicts that fold. AutoHead and SPHClassifierCV have a number of folds of their own; a splitter or splits are
        passed on to them.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds; a head that you pass has its own. With None, each call draws new ones.

    Returns
    -------
    Audit
        Print it. ``verdict`` is the result in one sentence, ``to_dict()`` is for JSON, ``plot()`` draws it, and
        ``head`` is the head, fitted on all samples. Warnings are in ``warnings`` too, for readers who only see the
        result.

    Examples
    --------
    >>> from aftermax import audit
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> result = audit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> result.verdict.split(":")[0], result.chosen, result.wins > 2 * result.losses
    ('Yes', 'combination', True)
    >>> max(result.by_class, key=lambda one: one.wins - one.losses).name  # the class that gains most
    2
    >>> predictions = result.head.predict(scores.test_logits)
    """
    arguments = _Arguments(features, sample_weight, groups, classes, class_weight, class_prior, cv, random_state)
    with kept_warnings() as messages:
        result = _audit(logits, labels, head, arguments, messages)
    warn_once_each(messages, stacklevel=2)  # at the user's own line
    return result


def _audit(
    logits: ArrayLike,
    labels: ArrayLike,
    head: Any,
    given: _Arguments,
    messages: list[str],
) -> Audit:
    check_cv_parameter(given.cv)
    head = AutoHead(random_state=given.random_state) if head is None else _checked_head(head, given.features)
    if isinstance(head, Decider) and head.head is None:
        head = clone(head).set_params(head=AutoHead(random_state=head.random_state, n_jobs=head.n_jobs))
    head = _with_class_parameters(head, given)
    _warn_if_fitted(head)
    passed = as_logits(logits)
    checked = kept_if_many(passed) if isinstance(head, HeadEstimator) else compute_ready(passed)
    classes = _agreed_classes(given.classes, head)
    headings, one_logit = getattr(logits, "columns", None), is_one_logit(logits)
    names, codes = encode_labels(labels, checked.shape, classes, headings, one_logit=one_logit)
    by_softmax = predicted_columns(checked)
    misaligned = warn_if_misaligned(by_softmax, codes, names)
    if not misaligned:
        warn_if_unpredicted(by_softmax, codes, names)
    samples, weights = _samples(logits, checked, codes, names, given, head)
    before_fit = len(messages)
    found = out_of_fold(head, samples, 5 if given.cv is None else given.cv, generator(given.random_state))
    during_fit = slice(before_fit, len(messages))
    if not misaligned:
        warn_if_by_chance(by_softmax, found.codes, codes, len(names))
    told = messages.copy()
    if not isinstance(head, CROSS_FITTED):
        del told[during_fit]  # which are about the samples of a fold
    return _result(found, samples, weights, tuple(dict.fromkeys(told)))


def _samples(
    logits: ArrayLike,
    checked: NDArray[Any],
    codes: NDArray[np.int64],
    names: NDArray[Any],
    given: _Arguments,
    head: Any,
) -> tuple[Samples, NDArray[np.float64]]:
    """The samples as they are fitted on, and the weight of each in what is counted."""
    n_samples = len(codes)
    metadata: dict[str, NDArray[Any]] = {}
    features = None if given.features is None else as_features(given.features, n_samples)
    if features is not None:
        metadata["features"] = features
    weights = as_weights(given.sample_weight, n_samples)
    if given.sample_weight is not None:
        metadata["sample_weight"] = weights
    groups = as_groups(given.groups, n_samples)
    if groups is not None:
        metadata["groups"] = groups
    with kept_warnings() as messages:
        together = joined_groups(groups, checked, codes, features)
    if not isinstance(head, CROSS_FITTED):  # which warn of the same
        warn_once_each(messages)
    weighted = _inner(head)
    weights = weights * weights_by_prior(getattr(weighted, "class_prior", given.class_prior), codes, names, weights)
    weights = weights * weights_by_class(getattr(weighted, "class_weight", given.class_weight), codes, names, weights)
    as_given = one_column(checked) if is_one_logit(logits) else checked
    table = logits if hasattr(logits, "columns") else as_given
    return Samples(table, checked, codes, names, metadata, together), weights


# ---- the head --------------------------------------------------------------------------------------------------------


def _checked_head(head: Any, features: ArrayLike | None) -> Any:
    if isinstance(head, type) or not all(hasattr(head, name) for name in ("fit", "predict", "get_params")):
        what = f"the class {head.__name__}" if isinstance(head, type) else f"of type {type(head).__name__}"
        raise TypeError(
            f"head is {what}: pass a classifier with fit, predict and get_params, like scikit-learn's, such as "
            "SPHClassifierCV(), or leave it out for AutoHead()."
        )
    if features is not None and "features" not in signature(head.fit).parameters:
        raise TypeError(f"{type(head).__name__}.fit takes no features: leave them out, or the head, for AutoHead().")
    return head


def _with_class_parameters(head: Any, given: _Arguments) -> Any:
    """The head with ``class_weight`` and ``class_prior``, if it has such parameters and they were passed."""
    known, prefix = _inner(head).get_params(deep=False), "head__" if isinstance(head, Decider) else ""
    passed = {"class_weight": given.class_weight, "class_prior": given.class_prior}
    wanted = {f"{prefix}{name}": value for name, value in passed.items() if value is not None and name in known}
    if isinstance(head, CROSS_FITTED) and not isinstance(given.cv, Integral | None):
        wanted["cv"] = given.cv  # splits are meant for the proof, which is theirs
    return clone(head).set_params(**wanted) if wanted else head


def _inner(head: Any) -> Any:
    """The head that a Decider decides on; any other head itself."""
    return head.head if isinstance(head, Decider) else head


def _warn_if_fitted(head: Any) -> None:
    if hasattr(head, "fitted_head_"):
        warn(
            f"The {type(head).__name__} is fitted already, and audit fits a copy of it on these samples: the result "
            "is about that copy. To see how the fitted head does on these samples, use aftermax.check.",
            stacklevel=2,
        )


def _agreed_classes(classes: ArrayLike | None, head: Any) -> ArrayLike | None:
    """Return the classes that were passed, or else the head's own; refuse both if they contradict each other."""
    own: ArrayLike | None = getattr(head, "classes", None)
    if classes is None or own is None:
        return own if classes is None else classes
    if np.asarray(classes).tolist() != np.asarray(own).tolist():
        ours, theirs = (listed(np.asarray(some).ravel().tolist()) for some in (classes, own))
        raise ValueError(f"classes=({ours}) but the head has classes=({theirs}): drop one of the two.")
    return classes


# ---- the result ------------------------------------------------------------------------------------------------------


def _result(found: Predicted, samples: Samples, weights: NDArray[np.float64], messages: tuple[str, ...]) -> Audit:
    head, mask = found.head, found.mask & (weights > 0)  # without weight, a sample is no evidence
    told_by = _told_by(head)
    codes, names, predicted = samples.codes[mask], samples.names, found.codes[mask]
    softmax, weights = predicted_columns(samples.logits)[mask], weights[mask]
    groups = None if samples.groups is None else np.unique(samples.groups[mask], return_inverse=True)[1]
    before, after = softmax == codes, predicted == codes
    comparison = Comparison.of(before, after, weights, groups)
    wins, losses, _ = wins_and_losses(before, after)
    interval, prediction_interval = comparison.intervals()
    return Audit(
        rows=len(codes),
        classes=tuple(names.tolist()),
        groups=None if groups is None else len(comparison.drops),
        error_before=float(np.average(~before, weights=weights)),
        error_after=float(np.average(~after, weights=weights)),
        gain=float(getattr(told_by, "gain_", comparison.gain)),
        gain_interval=getattr(told_by, "gain_interval_", interval),
        gain_prediction_interval=getattr(told_by, "gain_prediction_interval_", prediction_interval),
        wins=wins,
        losses=losses,
        p_value=float(getattr(told_by, "p_value_", comparison.p_value)),
        proven=getattr(told_by, "proven_", None),
        chosen=_chosen(told_by),
        trust=getattr(told_by, "trust_", None),
        class_shares=tuple((np.bincount(codes, weights, minlength=len(names)) / weights.sum()).tolist()),
        by_class=count_by_class(before, after, codes, names),
        pairs=largest_drops(softmax, predicted, codes, names, MAX_DROPS),
        tangled=largest_rises(softmax, predicted, codes, names, MAX_RISES),
        weighted=bool(np.ptp(weights) > 0),
        rows_needed=_samples_needed(told_by, comparison, len(codes), groups is None and np.ptp(weights) == 0),
        warnings=messages,
        candidates=getattr(told_by, "candidates_", None),
        head=head,
        outcome=getattr(head, "outcome_", None),
        abstention=getattr(head, "abstention_", None),
        **_curves(found, samples, weights, mask),
    )


def _curves(
    found: Predicted, samples: Samples, weights: NDArray[np.float64], mask: NDArray[np.bool_]
) -> dict[str, Any]:
    """What the out-of-fold probabilities of the head are worth; nothing for a head without them."""
    known = getattr(found.head, "held_out_proba_", None)
    if known is None or not np.isfinite(known[mask]).all():
        return {}
    codes, logits, decisions = samples.codes[mask], samples.logits[mask], found.codes[mask]
    certainty, right = decided_probability(known[mask], decisions), decisions == codes
    shares, before = error_by_share(softmax_certainty(logits), predicted_columns(logits) == codes, weights)
    _, after = error_by_share(certainty, right, weights)
    return {
        "risk_coverage": RiskCoverage(shares, before, after),
        "reliability": binned(np.clip(certainty, 0.0, 1.0), right),
    }


def _told_by(head: Any) -> Any:
    """What tells the gain: the head itself or, of a Decider that changes no prediction, the head that it decides on."""
    return head.head_ if isinstance(head, Decider) and head.outcome_ is None else head


def _samples_needed(head: Any, comparison: Comparison, n_samples: int, independent: bool) -> tuple[int, int] | None:
    """For the head or, where it keeps softmax, for its best candidate, of which wins and losses are known."""
    candidates = getattr(head, "candidates_", None)
    if not independent:
        return None
    if candidates is None or comparison.drops.any():
        drops = comparison.drops / comparison.unit
        return more_than(n_samples, samples_range(float(drops.sum()), float(np.square(drops).sum()), n_samples))
    best = max(candidates.values(), key=lambda one: (one.wins - one.losses) / max(one.wins + one.losses, 1) ** 0.5)
    return more_than(n_samples, samples_range(best.wins - best.losses, best.wins + best.losses, n_samples))


def more_than(n_samples: int, needed: tuple[int, int] | None) -> tuple[int, int] | None:
    """The range from these samples on; None if they should have been enough by far."""
    if needed is None or needed[1] <= n_samples:
        return None
    return max(needed[0], n_samples), needed[1]


def _chosen(head: Any) -> str:
    """What a fitted head predicts with."""
    if hasattr(head, "fell_back_"):
        return "softmax" if head.fell_back_ else "sph"
    return str(getattr(head, "chosen_", type(head).__name__))
