"""The guard: how much of which correction is trusted, and whether it is proven that errors are fewer.

Two questions are asked of the out-of-fold predictions, and they are kept apart. *Which head should predict?* One that
probably makes fewer errors: between softmax and the full correction there are heads that trust it in part, and change
few predictions. *What may be claimed?* Only what a test of errors proves, corrected for the number of candidates. A
lower log loss alone is never enough for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.fitting import CLASS_MEANS, DISCRIMINANTS
from aftermax._utils.comparison import Comparison
from aftermax._utils.paired_tests import ALPHA, adjusted_p_value

# A candidate is eligible if its errors drop by more than so many standard deviations of chance, the more the larger its
# trust is (all of a correction: one-sided 5 %), and if its log loss is significantly lower. SPH has no log loss here.
LIKELY = {0.25: 1.0, 0.5: 1.28, 0.75: 1.5, 1.0: 1.645}
LOSS_LEVEL = 0.05
# If none is: a quarter of the richest tier, if out-of-fold errors drop at all and the log loss is significantly lower.
CAUTIOUS = 0.25
RICHEST = ("combination", DISCRIMINANTS, CLASS_MEANS)  # the first of these that there is


class Judged(NamedTuple):
    """A candidate's evidence: errors against softmax, log loss, and the p-value of its being lower (NaN if none)."""

    tier: str
    trust: float
    comparison: Comparison
    log_loss: float
    loss_p_value: float

    @property
    def key(self) -> tuple[str, float]:
        """Which candidate it is."""
        return self.tier, self.trust

    @property
    def size(self) -> float:
        """The standard deviation of the drop of errors, if signs were random."""
        return float(np.sqrt(np.square(self.comparison.drops).sum()))

    @property
    def lower_bound(self) -> float:
        """By how much errors drop, less what may be chance."""
        return float(self.comparison.drops.sum()) - LIKELY[self.trust] * self.size

    @property
    def loss_is_lower(self) -> bool:
        """Whether its log loss, if it has one, is significantly lower."""
        return bool(np.isnan(self.loss_p_value) or self.loss_p_value < LOSS_LEVEL)


class Decision(NamedTuple):
    """Which candidate predicts (None: softmax), which one the test is of, and its p-value among all of them."""

    chosen: Judged | None
    tested: Judged | None
    p_value: float
    proven: bool


def decide(judged: Sequence[Judged], alpha: float = ALPHA, *, only_proven: bool = False) -> Decision:
    """The candidate that is to predict, and whether its gain is proven."""
    if not judged:
        return Decision(None, None, 1.0, False)
    chosen = _most_likely(judged) or _cautious(judged)
    tested = chosen or max(judged, key=lambda one: (one.comparison.z_score, one.lower_bound))
    p_value = adjusted_p_value(_changes(judged), [one.key for one in judged].index(tested.key))
    proven = p_value < alpha and tested.comparison.intervals()[0][0] > 0
    if only_proven and not proven:
        chosen = None
    return Decision(chosen, tested, p_value, proven and chosen is not None)


def _most_likely(judged: Sequence[Judged]) -> Judged | None:
    """Of the eligible candidates, the one with the lowest log loss; one without, if it corrects more errors.

    Errors decide who is eligible. Among those that are, the log loss tells better than a few errors how far to go.
    """
    eligible = [one for one in judged if one.lower_bound > 0 and one.loss_is_lower]
    with_loss = [one for one in eligible if not np.isnan(one.log_loss)]
    best = min(with_loss, key=lambda one: one.log_loss, default=None)
    others = [one for one in eligible if np.isnan(one.log_loss)]
    return max([*others, *([best] if best else [])], key=lambda one: one.lower_bound, default=None)


def _cautious(judged: Sequence[Judged]) -> Judged | None:
    tiers = {one.tier for one in judged}
    richest = next((tier for tier in RICHEST if tier in tiers), None)
    some = [one for one in judged if one.key == (richest, CAUTIOUS)]
    return next((one for one in some if one.loss_is_lower and one.comparison.drops.sum() > 0), None)


def _changes(judged: Sequence[Judged]) -> NDArray[np.float64]:
    return np.stack([one.comparison.drops for one in judged], axis=1)
