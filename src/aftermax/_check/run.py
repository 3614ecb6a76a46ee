"""check: is a head that was shipped still good?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aftermax._check.comparisons import NewSamples, chosen, compare, refit
from aftermax._check.drift import measure_drift
from aftermax._check.result import Check
from aftermax._check.verdict import samples_needed
from aftermax._heads.estimator import HeadEstimator
from aftermax._heads.fingerprint import NOTABLE, Overlap
from aftermax._utils.class_weight import weights_by_class, weights_by_prior
from aftermax._utils.groups import as_groups, joined_groups
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.misaligned_columns import warn_if_misaligned
from aftermax._utils.validation import as_features, as_logits, as_weights, kept_if_many
from aftermax._utils.warned import kept_warnings, warn_once_each
from aftermax._wrapped.decision import DecisionHead

WEIGHTS_HINT = (
    "The head was fitted with sample weights: if errors should count as they did there, pass those of these samples "
    "too (sample_weight in Python, --weights on the command line)."
)
COUNTS_ERRORS = (
    "This head decides by costs or for a metric, so it makes other errors than softmax on purpose, and check counts "
    "errors: leave the labels out, to see whether the samples look like those of the fit; and audit them with the same "
    "costs or metric (aftermax.audit with a Decider, or aftermax audit --costs), to see what decisions cost now."
)


def check(
    head: Any,
    logits: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    features: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> Check:
    """Is a head that was shipped still good? Keep it, refit it or drop it, by samples that came later.

    With labels, the head *as it is* is compared with softmax, and with a head that is fitted on the new samples, by its
    out-of-fold predictions. Without, the new logits are compared with those of the fit: that shows whether the world
    has changed, but not whether predictions are worse.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted, or loaded from a file. It is not changed.
    logits : array-like of shape (n_samples, n_classes)
        The model's outputs before softmax, for samples that the head was not fitted on.
    labels : array-like of shape (n_samples,), default=None
        Their true classes, if you know them.
    features : array-like of shape (n_samples, n_features), or list of such arrays, default=None
        As given to the head's ``fit``; several layers in the same order.
    sample_weight : array-like of shape (n_samples,), default=None
        The weight of each sample. The head's ``class_weight`` and ``class_prior`` are applied too, so that errors
        count as they did in its fit. Drift is not weighted.
    groups : array-like of shape (n_samples,), default=None
        What each sample is of, such as a patient, a site or a video. p-values and intervals then count groups.
    random_state : int, RandomState instance or None, default=0
        Determines the folds of the refit.

    Returns
    -------
    Check
        Print it. ``action`` is "keep", "refit", "drop" or "not enough", ``verdict`` says why in one sentence, ``drift``
        is how the logits differ from those of the fit, and ``to_dict()`` is for JSON.

    Examples
    --------
    >>> import aftermax
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = aftermax.fit(scores.val_logits[:1000], scores.val_labels[:1000])
    >>> result = aftermax.check(head, scores.test_logits[:1000], scores.test_labels[:1000])
    >>> result.action, result.drift.drifted
    ('keep', False)
    >>> aftermax.check(head, scores.test_logits * 0.5).drift.drifted  # no labels, and logits of half the size
    True
    """
    with kept_warnings() as messages:
        result = _check(head, logits, labels, features, sample_weight, groups, random_state, messages)
    warn_once_each(messages, stacklevel=2)  # at the user's own line
    return result


def _check(
    head: Any,
    logits: ArrayLike,
    labels: ArrayLike | None,
    features: ArrayLike | None,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    random_state: int | np.random.RandomState | None,
    messages: list[str],
) -> Check:
    _refuse_other_heads(head)
    if labels is not None and isinstance(head.fitted_head_, DecisionHead) and head.fitted_head_.costs is not None:
        raise ValueError(COUNTS_ERRORS)
    values, predicted, hidden = _predicted(head, logits, features)
    weights, together = as_weights(sample_weight, len(values)), as_groups(groups, len(values))
    drift = None if head.reference_ is None else measure_drift(head.reference_, values, head.classes_, together)
    share = _fitted_on_share(head, values)
    found: dict[str, Any] = {}
    if labels is not None:
        codes = label_codes(labels, len(values), head.classes_)
        warn_if_misaligned(predicted_columns(values), codes, head.classes_)
        joined = joined_groups(together, values, codes, hidden)
        samples = NewSamples(values, codes, hidden, _own_weights(head, weights, codes), joined)
        given = {"features": features, "sample_weight": sample_weight, "groups": groups}
        found = _compared(head, predicted, samples, given if share < NOTABLE else None, random_state)
        found["hints"] = (WEIGHTS_HINT,) if sample_weight is None and _had_sample_weights(head) else ()
    return Check(
        n_samples=len(values),
        chosen=chosen(head),
        promised_interval=getattr(head, "gain_interval_", None),
        drift=drift,
        fitted_on_share=share,
        warnings=tuple(dict.fromkeys(messages)),
        **found,
    )


def _compared(
    head: HeadEstimator,
    predicted: NDArray[np.int64],
    samples: NewSamples,
    given: dict[str, Any] | None,
    random_state: int | np.random.RandomState | None,
) -> dict[str, Any]:
    """The comparisons; without a refit, if nothing is given to it."""
    found = compare(samples, predicted_columns(samples.logits), predicted)
    counted, weighted = samples.weights > 0, bool(np.ptp(samples.weights) > 0)
    groups = None if samples.groups is None else len(np.unique(samples.groups[counted]))
    again = None if given is None else refit(head, samples, given, random_state)
    return {
        "against_softmax": found,
        "samples_needed": samples_needed(found) if groups is None and not weighted else None,
        "groups": groups,
        "weighted": weighted,
        "refit": None if again is None else again.compared(samples, predicted),
        "refitted_head": None if again is None else again.head,
    }


# ---- input -----------------------------------------------------------------------------------------------------------


def _refuse_other_heads(head: Any) -> None:
    if isinstance(head, type) or not isinstance(head, HeadEstimator):
        name = head.__name__ if isinstance(head, type) else type(head).__name__
        advice = {
            "PostHocClassifier": "pass its head_, and the logits that the model gives to the samples",
            "str": "load the file first, with aftermax.load",
        }.get(name, "pass a fitted AutoHead, SPHClassifier or SPHClassifierCV, such as aftermax.load gives")
        raise TypeError(f"check takes a head of aftermax, not {name}: {advice}.")
    check_is_fitted(head, msg="This %(name)s is not fitted yet: check is for a head that was fitted and shipped.")


def _predicted(
    head: Any, logits: ArrayLike, features: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64] | None]:
    """Logits, the head's predictions as column numbers, and features, all checked."""
    if features is not None and head.features_width_ is None:
        raise ValueError("This head was fitted without features: pass logits only.")
    given = {} if features is None else {"features": features}
    predicted = head.predict(logits, **given)
    values = kept_if_many(as_logits(logits, head, reset=False))
    hidden = None if features is None else as_features(features, len(values))
    return values, label_codes(predicted, len(values), head.classes_), hidden


def _own_weights(head: Any, weights: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The weights that errors count with: those of the samples times those that the head gives to their classes."""
    class_prior, class_weight = (getattr(head, name, None) for name in ("class_prior", "class_weight"))
    weights = weights * weights_by_prior(class_prior, codes, head.classes_, weights)
    weights = weights * weights_by_class(class_weight, codes, head.classes_, weights)
    if not weights.any():
        raise ValueError("All samples have a weight of 0, by sample_weight or by the head's class_weight: pass others.")
    return weights


def _had_sample_weights(head: Any) -> bool:
    """Whether the head was fitted with weights of samples, if that can be told: AutoHead knows."""
    by_class = any(getattr(head, name, None) is not None for name in ("class_weight", "class_prior"))
    return not by_class and bool(getattr(getattr(head, "candidates_", None), "weighted", False))


def _fitted_on_share(head: HeadEstimator, logits: NDArray[Any]) -> float:
    if head.reference_ is None:
        return 0.0
    overlap = Overlap(head.reference_.fingerprint)
    overlap.add(logits)
    return overlap.share
