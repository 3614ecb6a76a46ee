"""The comparisons of a check: the shipped head with softmax, and a refit on the new samples with both."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from aftermax._heads.estimator import HeadEstimator
from aftermax._utils.comparison import Comparison
from aftermax._utils.folds import sample_keys
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.paired_tests import ALPHA, wins_and_losses
from aftermax._utils.random import generator
from aftermax._utils.splits import random_splits
from aftermax._utils.warned import kept_warnings
from aftermax._wrapped.adapted import AdaptedHead

Codes = NDArray[np.int64]
FOLDS = 10  # of a head that has no out-of-fold predictions of its own


class NewSamples(NamedTuple):
    """Labelled samples, checked. Errors count with these weights, and these groups are independent of each other."""

    logits: NDArray[Any]
    codes: Codes
    features: NDArray[np.float64] | None
    weights: NDArray[np.float64]
    groups: Codes | None


class Compared(NamedTuple):
    """A classifier against a baseline on the same samples. Errors and gain are weighted, wins and losses are counts."""

    n_samples: int
    error_before: float
    error_after: float
    gain: float
    gain_interval: tuple[float, float]
    wins: int
    losses: int
    p_fewer: float  # one-sided, of the claim that it makes fewer errors than the baseline
    p_more: float  # one-sided, of the claim that it makes more


class RefitCompared(NamedTuple):
    """A head that was fitted on the new samples, out-of-fold: against softmax, and against the shipped head."""

    against_softmax: Compared
    against_head: Compared
    proven: bool  # whether it is proven that it makes fewer errors than softmax, by its own test if it has one
    keeps_softmax: bool  # whether it predicts as softmax does


class Refit(NamedTuple):
    """A head that was fitted on the new samples, and its out-of-fold predictions for those that were held out."""

    head: Any
    predictions: Codes
    held_out: NDArray[np.bool_]

    def compared(self, samples: NewSamples, shipped: Codes) -> RefitCompared:
        """Against softmax, and against the predictions of the shipped head."""
        softmax = predicted_columns(samples.logits)
        against_softmax = compare(samples, softmax, self.predictions, self.held_out)
        return RefitCompared(
            against_softmax,
            against_head=compare(samples, shipped, self.predictions, self.held_out),
            # Its own test is corrected for the number of its candidates.
            proven=bool(getattr(self.head, "proven_", against_softmax.p_fewer < ALPHA)),
            keeps_softmax=keeps_softmax(self.head),
        )


def compare(samples: NewSamples, before: Codes, after: Codes, held_out: NDArray[np.bool_] | None = None) -> Compared:
    """Compare two sets of predictions, as column numbers."""
    some = samples.weights > 0 if held_out is None else held_out & (samples.weights > 0)
    right_before, right_after = (predicted[some] == samples.codes[some] for predicted in (before, after))
    weights = samples.weights[some]
    groups = None if samples.groups is None else np.unique(samples.groups[some], return_inverse=True)[1]
    found = Comparison.of(right_before, right_after, weights, groups)
    wins, losses, _ = wins_and_losses(right_before, right_after)
    return Compared(
        n_samples=len(weights),
        error_before=float(np.average(~right_before, weights=weights)),
        error_after=float(np.average(~right_after, weights=weights)),
        gain=found.gain,
        gain_interval=found.intervals()[0],
        wins=wins,
        losses=losses,
        p_fewer=found.p_value,
        p_more=found._replace(drops=-found.drops).p_value,
    )


def keeps_softmax(head: Any) -> bool:
    """Whether a fitted head predicts as softmax does, because no gain was likely."""
    return chosen(head) == "softmax"


def chosen(head: Any) -> str:
    """What a fitted head predicts with: "softmax" if it predicts as softmax does."""
    if isinstance(head.fitted_head_, AdaptedHead):
        return AdaptedHead.kind
    return "softmax" if getattr(head, "fell_back_", False) else str(getattr(head, "chosen_", head.fitted_head_.kind))


def refit(
    head: HeadEstimator, samples: NewSamples, given: dict[str, Any], random_state: int | np.random.RandomState | None
) -> Refit | None:
    """A clone of the head, fitted on the new samples; None if that cannot be, as they are of one class only.

    ``given`` are the features, weights and groups as the user gave them; the clone gets those that its ``fit`` takes.
    """
    if len(np.unique(samples.codes[samples.weights > 0])) < 2:
        return None
    unfitted = clone(head).set_params(classes=head.classes_)
    if "random_state" in unfitted.get_params(deep=False):
        unfitted.set_params(random_state=random_state)
    taken = signature(unfitted.fit).parameters
    known = {name: value for name, value in given.items() if name in taken and value is not None}
    labels, everywhere = head.classes_[samples.codes], np.ones(len(samples.codes), dtype=bool)
    with kept_warnings():  # about a head that nobody asked for
        fitted = clone(unfitted).fit(samples.logits, labels, **known)
        if not hasattr(fitted, "held_out_"):
            return Refit(fitted, _cross_fitted(unfitted, samples, known, random_state), everywhere)
    predictions = label_codes(fitted.held_out_, len(labels), head.classes_)
    return Refit(fitted, predictions, getattr(fitted, "held_out_mask_", everywhere))


def _cross_fitted(
    unfitted: Any, samples: NewSamples, given: dict[str, Any], random_state: int | np.random.RandomState | None
) -> Codes:
    """Out-of-fold predictions of SPHClassifier, which has none of its own; softmax's where it cannot be fitted."""
    keys, labels = sample_keys(samples.logits, samples.groups), unfitted.classes[samples.codes]
    predictions = predicted_columns(samples.logits)
    for train, test in random_splits(keys, samples.groups, FOLDS, 1, generator(random_state)):
        if len(np.unique(samples.codes[train][samples.weights[train] > 0])) > 1:
            known = {name: np.asarray(values)[train] for name, values in given.items()}
            fitted = clone(unfitted).fit(samples.logits[train], labels[train], **known)
            predictions[test] = fitted.fitted_head_.predict([samples.logits[test]])
    return np.asarray(predictions)
