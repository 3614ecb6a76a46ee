"""Drift: do new samples look like those that a head was fitted on? By logits alone, without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._check.group_sums import squared_group_excesses, squared_group_sums
from aftermax._heads.reference import Reference
from aftermax._heads.reference_sums import ReferenceSums
from aftermax._utils.large import column_sums, in_float64, predicted_columns
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.text import aligned, percent

Values = NDArray[np.float64]

LEVEL = 0.01  # of all tests together, so that one in a hundred checks of an unchanged world says that it changed
LEAST_EFFECT = 0.2  # standardised: below it, a difference is "small" by the convention of Cohen (1988)
MOST_NAMED, MOST_LISTED = 3, 10  # quantities in the sentence, and in the table
FEW = 20  # of fewer samples, that no drift was found says nothing: only changes by a standard deviation or so would be


class Change(NamedTuple):
    """One quantity, on the samples of the fit and on the new ones.

    ``effect`` is the standardised difference: Cohen's d of means, Cohen's h of shares. ``p_value`` is two-sided, and
    corrected for the number of quantities.
    """

    quantity: str  # "certainty", "predicted share" or "mean logit"
    name: Any  # the class; None for certainty
    before: float
    now: float
    effect: float
    p_value: float

    @property
    def drifted(self) -> bool:
        """Whether it is significant, and not a trifle."""
        return self.p_value < LEVEL and abs(self.effect) >= LEAST_EFFECT

    @property
    def sentence(self) -> str:
        """What it is now, and what it was."""
        now, before = self.values
        if self.quantity == "certainty":
            return f"certainty {now}, was {before}"
        if self.quantity == "predicted share":
            return f"class {self.name!r} is predicted for {now}, was {before}"
        return f"the mean logit of {self.name!r} is {now}, was {before}"

    @property
    def values(self) -> tuple[str, str]:
        """What it is now and what it was, as text."""
        if self.quantity == "predicted share":
            return percent(self.now), percent(self.before)
        form = ".2f" if self.quantity == "certainty" else "+.2f"
        return format(self.now, form), format(self.before, form)


@dataclass(frozen=True, repr=False)
class Drift:
    """How the logits of new samples differ from those that a head was fitted on. Print it to see a table.

    Attributes
    ----------
    n_fitted, n_samples : int
        Number of samples of the fit, and of new ones.
    changes : tuple of Change
        Softmax's mean certainty; for each class, the share of samples that softmax predicts it for, and the mean of its
        logits, relative to the mean of the sample's logits.
    """

    n_fitted: int
    n_samples: int
    changes: tuple[Change, ...]

    @property
    def drifted(self) -> bool:
        """Whether any quantity has changed, significantly and by more than a trifle."""
        return any(one.drifted for one in self.changes)

    @property
    def too_few(self) -> bool:
        """Whether nothing can be said, as no drift was found, but the samples are few."""
        return not self.drifted and self.n_samples < FEW

    @property
    def largest(self) -> list[Change]:
        """The changes, those that are drifts first, and then by their size."""
        return sorted(self.changes, key=lambda one: (not one.drifted, -abs(one.effect)))

    @property
    def sentence(self) -> str:
        """Whether the new samples look like those of the fit, with the largest changes."""
        if self.too_few:
            number = "One sample is" if self.n_samples == 1 else f"{self.n_samples} samples are"
            return f"{number} too few to tell whether the logits have drifted: pass at least {FEW}."
        if not self.drifted:
            return "The new samples look like those that the head was fitted on."
        found = [one.sentence for one in self.largest if one.drifted]
        more = f"; and {len(found) - MOST_NAMED:,} more changes" if len(found) > MOST_NAMED else ""
        return (
            "The new samples do not look like those that the head was fitted on: "
            f"{'; '.join(found[:MOST_NAMED])}{more}."
        )

    def rows(self) -> list[list[str]]:
        """The largest changes as the rows of a table."""
        return [
            [
                "*" if one.drifted else "",
                one.quantity,
                "" if one.name is None else str(one.name),
                *one.values[::-1],
                f"{one.effect:+.2f}",
                f"{one.p_value:.2g}",
            ]
            for one in self.largest[:MOST_LISTED]
        ]

    def __repr__(self) -> str:
        heads = ["", "quantity", "class", "was", "is", "effect", "p-value"]
        note = "* drifted. The effect is in standard deviations; the p-values are corrected for all quantities."
        return f"{aligned(heads, self.rows(), texts=3)}\n{note}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, as for JSON; None instead of infinity."""
        changes = [one._asdict() | {"drifted": one.drifted} for one in self.changes]
        for one in changes:
            one["effect"] = one["effect"] if np.isfinite(one["effect"]) else None
        return {
            "drifted": self.drifted,
            "sentence": self.sentence,
            "n_fitted": self.n_fitted,
            "n_samples": self.n_samples,
            "changes": changes,
        }


def measure_drift(
    reference: Reference,
    logits: NDArray[Any],
    classes: NDArray[Any],
    groups: NDArray[np.int64] | None = None,
) -> Drift:
    """Compare the logits of new samples with those of the fit.

    Means are compared by a z-test, shares by the z-test of their arcsines, which also suits rare classes. With groups,
    the new samples count for as many independent ones as their design effect says (Kish, 1965). The p-values are
    corrected by the method of Holm (1979).

    References
    ----------
    J. Cohen (1988). Statistical Power Analysis for the Behavioral Sciences, chapters 2 and 6.

    S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    L. Kish (1965). Survey Sampling.
    """
    certainty = softmax_certainty(logits)[:, None]
    of_certainty = (reference.certainty_mean,), (reference.certainty_deviation,)
    of_logits = reference.logit_means, reference.logit_deviations
    parts = (
        _of_means(certainty, in_float64, *of_certainty, groups),
        _of_shares(logits, reference.predicted_shares, groups),
        _of_means(logits, _relative, *of_logits, groups),
    )
    return _drift(reference, len(logits), classes, parts)


def drift_of_sums(reference: Reference, sums: ReferenceSums, classes: NDArray[Any]) -> Drift:
    """The same from statistics that were added up over parts of the new samples, which have no groups."""
    n_samples = int(sums.predicted.sum())
    of_certainty = (reference.certainty_mean,), (reference.certainty_deviation,)
    of_logits = reference.logit_means, reference.logit_deviations
    shares = sums.predicted / n_samples
    now_and_effects = (
        (sums.certainty.mean, _mean_effects(sums.certainty.mean, sums.certainty.deviation, *of_certainty)),
        (shares, _share_effects(shares, reference.predicted_shares)),
        (sums.logits.mean, _mean_effects(sums.logits.mean, sums.logits.deviation, *of_logits)),
    )
    parts = tuple((now, effects, np.full(len(now), float(n_samples))) for now, effects in now_and_effects)
    return _drift(reference, n_samples, classes, parts)


def _drift(
    reference: Reference, n_samples: int, classes: NDArray[Any], parts: tuple[tuple[Values, Values, Values], ...]
) -> Drift:
    """From certainty, predicted shares and mean logits: what they are now, the effects, and for how many they count."""
    names = classes.tolist()
    quantities = (
        ("certainty", [None], (reference.certainty_mean,)),
        ("predicted share", names, reference.predicted_shares),
        ("mean logit", names, reference.logit_means),
    )
    found: list[tuple[str, Any, float, float, float]] = []
    z_scores: list[float] = []
    for (quantity, labels, before), (now, effects, sizes) in zip(quantities, parts, strict=True):
        found += zip([quantity] * len(labels), labels, before, now.tolist(), effects.tolist(), strict=True)
        z_scores += (effects / np.sqrt(1 / reference.n_samples + 1 / sizes)).tolist()
    changes = (Change(*one, p_value) for one, p_value in zip(found, _holm(z_scores), strict=True))
    return Drift(reference.n_samples, n_samples, tuple(changes))


def _relative(some: NDArray[Any]) -> Values:
    """Logits relative to the mean of their sample's."""
    values = in_float64(some)
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def _of_means(
    logits: NDArray[Any],
    function: Callable[[NDArray[Any]], Values],
    before: tuple[float, ...],
    deviations: tuple[float, ...],
    groups: NDArray[np.int64] | None,
) -> tuple[Values, Values, Values]:
    """Of each column of a function of the logits: its mean, how far that is from before, and for how many it counts."""
    now = column_sums(logits, function) / len(logits)
    squares = column_sums(logits, lambda some: np.square(function(some) - now))
    effects = _mean_effects(now, np.sqrt(squares / len(logits)), before, deviations)
    by_group = None if groups is None else squared_group_sums(logits, lambda some: function(some) - now, groups)
    return now, effects, _independent(len(logits), squares, by_group)


def _of_shares(
    logits: NDArray[Any], before: tuple[float, ...], groups: NDArray[np.int64] | None
) -> tuple[Values, Values, Values]:
    """The same of the shares of the classes that softmax predicts."""
    (n_samples, n_classes), predicted = logits.shape, predicted_columns(logits)
    now = np.bincount(predicted, minlength=n_classes) / n_samples
    effects = _share_effects(now, before)
    by_group = None if groups is None else squared_group_excesses(predicted, now, groups)
    return now, effects, _independent(n_samples, n_samples * now * (1 - now), by_group)


def _mean_effects(now: Values, spreads: Values, before: tuple[float, ...], deviations: tuple[float, ...]) -> Values:
    """Cohen's d, by the larger one of the standard deviations now and before; infinite if both are zero."""
    was, scale = np.array(before), np.maximum(np.array(deviations), spreads)
    rounding = 1e-9 * max(float(np.abs(now).max()), float(np.abs(was).max()))
    difference = np.where(np.abs(now - was) <= rounding, 0.0, now - was)
    constant = scale <= rounding
    effects = difference / np.where(constant, 1.0, scale)
    effects[constant & (difference != 0)] *= np.inf
    return np.asarray(effects)


def _share_effects(now: Values, before: tuple[float, ...]) -> Values:
    """Cohen's h."""
    return np.asarray(2 * np.arcsin(np.sqrt(now)) - 2 * np.arcsin(np.sqrt(np.array(before))))


def _independent(n_samples: int, squares: Values, by_group: Values | None) -> Values:
    """How many independent samples the samples count for, given squared deviations, of samples and of groups' sums.

    It is their number, divided by the design effect: the variance of the mean over that of independent samples.
    """
    if by_group is None:
        return np.full(len(squares), float(n_samples))
    design_effects = by_group / np.where(squares > 0, squares, np.inf)
    return np.asarray(n_samples / np.maximum(1.0, design_effects))


def _holm(z_scores: list[float]) -> list[float]:
    """Two-sided p-values, corrected."""
    from scipy.special import ndtr

    p_values = 2 * ndtr(-np.abs(np.array(z_scores)))
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    out = np.empty(len(order))
    out[order] = np.minimum(stepped, 1.0)
    return [float(one) for one in out]
