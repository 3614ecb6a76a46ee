"""``adapt_priors``: the class proportions of a new world, from unlabelled samples."""

from __future__ import annotations

import copy
import warnings
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._heads.estimator import HeadEstimator
from aftermax._priors.adaptation import Adaptation
from aftermax._priors.estimate import Estimate, estimate
from aftermax._priors.labelled import LabelledSummary
from aftermax._utils.folds import row_hashes
from aftermax._utils.groups import WARN_SHARE, as_groups, numbered_by_appearance
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.random import generator
from aftermax._utils.text import listed, percent
from aftermax._wrapped.adapted import AdaptedHead
from aftermax._wrapped.base_heads import innermost
from aftermax._wrapped.decision import DecisionHead

FEWEST = 20  # unlabelled samples
MOST_SAMPLES, MOST_LOGITS = 20_000, 1_000_000  # of more samples, so many are drawn at random
ALPHA = 0.05  # p-value below which the proportions have moved
ALPHA_LABEL_SHIFT = 0.01  # p-value below which more than these has changed
LEAST_GAIN = 0.02  # share of the errors that must be gone in 95 % of the bootstrap's worlds

Head = TypeVar("Head", bound=HeadEstimator)


def adapt_priors(
    head: Head,
    unlabelled: ArrayLike,
    *,
    features: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    guard: bool = True,
    random_state: int | np.random.RandomState | None = 0,
) -> Head:
    """Adapt a fitted head to a world in which the classes have other proportions, from unlabelled samples of it.

    The proportions are those that make the unlabelled samples most likely, by expectation-maximisation (Saerens et al.,
    2002) on the head's probabilities, which a temperature and a bias for each class calibrate (Alexandari et al.,
    2020). These were fitted on the head's out-of-fold probabilities when the head was. A move is believed as far as
    chance does not explain it (James and Stein, 1961).

    One assumption is made: samples of a class look as they did, only the proportions have changed (label shift). A
    guard leaves the head as it is unless the proportions have moved (p < 0.05), at least 2 % of the errors are gone in
    95 % of the worlds of a bootstrap over unlabelled *and* labelled samples, and the head is about as certain as it
    would be if only the proportions had changed.

    Parameters
    ----------
    head : AutoHead, SoftmaxClassifier or another fitted head
        It is not changed. A head that was adapted before is adapted again from how it was fitted. With more than 256
        classes there is no adaptation.
    unlabelled : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        Logits of the new world, at least 20 samples, as given to ``fit``. They must be a fair sample of that world.
    features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
        For a head that was fitted with features.
    groups : array-like of shape (n_samples,), default=None
        What each sample is of, such as a patient, if samples of the same one are alike. The bootstrap resamples groups.
    guard : bool, default=True
        If False, the head is adapted in any case.
    random_state : int, RandomState instance or None, default=0
        Determines the bootstrap.

    Returns
    -------
    estimator
        A copy of the head, adapted or as it was, with ``adaptation_``: an :class:`~aftermax.Adaptation` with the
        proportions, their intervals, and what was decided and why. Print it. It is saved and exported like any head.
        What it reports about itself, such as ``gain_``, is still about the samples that it was fitted on.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities: a
    simple procedure", Neural Computation 14, 2002.

    A. Alexandari, A. Kundaje, A. Shrikumar, "Maximum likelihood with bias-corrected calibration is hard-to-beat at
    label shift adaptation", ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.SoftmaxClassifier().fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> few = np.isin(scores.test_labels, [3, 5, 8]) | (np.arange(len(scores.test_labels)) % 10 == 0)  # mostly 3, 5, 8
    >>> new, labels = scores.test_logits[few], scores.test_labels[few]
    >>> adapted = aftermax.adapt_priors(head, new[:500])
    >>> adapted.adaptation_.adapted, round(adapted.adaptation_.shares[3], 1)
    (True, 0.3)
    >>> bool(adapted.score(new[500:], labels[500:]) > head.score(new[500:], labels[500:]))
    True
    """
    _refuse_other_heads(head)
    found = copy.copy(head)
    found.fitted_head_ = innermost(head.fitted_head_)  # as it was fitted
    probabilities = _probabilities(found, unlabelled, features)
    _warn_if_identical(probabilities)
    together = as_groups(groups, len(probabilities))
    rng = generator(random_state)
    order = _order(probabilities, rng)
    some = None if together is None else numbered_by_appearance(together[order])
    summary = _summary(found)
    chosen = probabilities[order]
    result = estimate(chosen, chosen.argmax(axis=1), summary, some, rng)
    adapted, reason = _decision(result, guard)
    if result.p_label_shift < ALPHA_LABEL_SHIFT:
        warnings.warn(_more_has_changed(adapted), UserWarning, stacklevel=2)
    if adapted:
        found.fitted_head_ = AdaptedHead(found.fitted_head_, result.slope, result.offsets)
    found.adaptation_ = Adaptation(
        adapted=adapted,
        reason=reason + _about_unlabelled_classes(summary, head.classes_),
        n_samples=len(probabilities),
        classes=tuple(head.classes_.tolist()),
        shares=tuple(result.shares.tolist()),
        intervals=tuple((float(low), float(high)) for low, high in result.intervals.clip(0.0, 1.0)),
        assumed_shares=tuple(result.assumed.tolist()),
        p_value=result.p_moved,
        p_value_label_shift=result.p_label_shift,
        gain=result.gain,
        least_gain=result.least_gain,
        changed=result.changed,
        n_groups=None if some is None else int(some.max()) + 1,
        is_calibrated=len(summary.calibrations) > 1,
    )
    return found


# ---- the head --------------------------------------------------------------------------------------------------------


def _refuse_other_heads(head: Any) -> None:
    if not isinstance(head, HeadEstimator):
        advice = "its head_" if hasattr(head, "head_") else "a fitted AutoHead or SoftmaxClassifier"
        raise TypeError(f"{type(head).__name__} cannot be adapted: pass {advice}.")
    check_is_fitted(head, msg="This %(name)s is not fitted yet: call fit before you adapt it.")
    if isinstance(head.fitted_head_, DecisionHead):  # its rule and its max_error are of the old world
        raise ValueError(
            "Decisions were chosen for the class proportions of the labelled samples: adapt the head that is decided "
            "on, such as decider.head_, and decide with Decider.from_fitted(adapted, costs=...)."
        )
    if len(head.classes_) > MANY_CLASSES:
        raise ValueError(
            f"The head has {len(head.classes_):,} classes. Proportions of more than {MANY_CLASSES} classes cannot be "
            "told well enough from unlabelled samples: label some, and fit the head on these."
        )


def _summary(head: HeadEstimator) -> LabelledSummary:
    """What the head knows of its labelled samples, or as much of it as there is."""
    if head.labelled_summary_ is not None:
        return head.labelled_summary_
    shares = getattr(head, "class_shares_", None)
    if shares is None or head.reference_ is None:
        raise ValueError(
            f"This {type(head).__name__} does not know the class proportions that it was fitted on: fit an AutoHead or "
            "a SoftmaxClassifier, with this version of aftermax, and adapt that."
        )
    return LabelledSummary.unknown(shares, head.reference_.n_samples)


# ---- the samples -----------------------------------------------------------------------------------------------------


def _probabilities(head: Any, unlabelled: ArrayLike, features: ArrayLike | None) -> NDArray[np.float64]:
    given = (unlabelled,) if features is None else (unlabelled, features)
    probabilities: NDArray[np.float64] = head.predict_proba(*given)
    if len(probabilities) < FEWEST:
        raise ValueError(
            f"There are {len(probabilities)} unlabelled samples: pass at least {FEWEST}, better some hundred."
        )
    return probabilities


def _warn_if_identical(probabilities: NDArray[np.float64]) -> None:
    share = 1 - len(np.unique(row_hashes(probabilities))) / len(probabilities)
    if share >= WARN_SHARE:
        warnings.warn(
            f"{share:.0%} of the unlabelled samples repeat another one: if they are copies, drop them, as each counts; "
            "if they are several samples of one patient, site or video, pass groups.",
            UserWarning,
            stacklevel=3,
        )


def _order(probabilities: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The samples to estimate from, in an order that does not depend on the order they came in."""
    order = np.lexsort(probabilities.T)
    most = min(MOST_SAMPLES, max(FEWEST, MOST_LOGITS // probabilities.shape[1]))
    return np.asarray(order[np.sort(rng.permutation(len(order))[:most])])


# ---- the decision ----------------------------------------------------------------------------------------------------


def _decision(found: Estimate, guard: bool) -> tuple[bool, str]:
    """Whether to adapt, and why or why not."""
    p_value = "p < 0.0001" if found.p_moved < 1e-4 else f"p = {found.p_moved:.2g}"
    gain = f"{percent(found.gain)} of the errors are expected to be gone, at least {percent(found.least_gain)} of them"
    if not guard:
        return True, f"as you asked, without a guard; {p_value} that the class proportions have moved."
    if found.p_moved >= ALPHA:
        return False, f"that the class proportions have moved is not proven ({p_value})."
    if found.p_label_shift < ALPHA_LABEL_SHIFT:
        return False, "more than the class proportions has changed, so they cannot be told from unlabelled samples."
    if found.least_gain < LEAST_GAIN:
        return False, (
            f"the class proportions have moved ({p_value}), but it is not likely enough that fewer errors are made "
            f"with new ones: {percent(max(found.least_gain, 0.0))} fewer in 95 % of the bootstrap's worlds, and "
            f"{percent(LEAST_GAIN)} are needed."
        )
    return True, f"the class proportions have moved ({p_value}); {gain} in 95 % of the bootstrap's worlds."


def _more_has_changed(adapted: bool) -> str:
    done = "The head is adapted, as you asked, and may do harm" if adapted else "The head stays as it is"
    return (
        "The head is more or less certain of these samples than it would be if only the class proportions had changed. "
        f"{done}: look at aftermax.check, and label some samples to fit it again."
    )


def _about_unlabelled_classes(summary: LabelledSummary, classes: NDArray[Any]) -> str:
    missing = classes[~summary.movable].tolist()
    if not missing:
        return ""
    return f" No labelled sample has the class {listed(missing)}: its proportion cannot be told."
