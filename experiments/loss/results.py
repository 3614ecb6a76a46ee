"""The outcomes of the losses, by loss, predictor and size, and paired tests over networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from experiments.loss.measure import BASELINE, LOSS_NAMES, Outcome

AUTO = ("softmax", "auto")  # softmax's loss with AutoHead
PREDICTORS = ("argmax", "running", "sph_validation", "gaussian_validation", "auto")
LEVEL = 0.05
SAME = "not different"

Pair = tuple[str, str]  # a loss and a predictor


class Difference(NamedTuple):
    """The gain of one pair minus that of another on the same networks: the mean, the p-value, and how many networks."""

    mean: float
    p: float
    networks: int

    def verdict(self, level: float = LEVEL) -> str:
        if not self.p < level:
            return SAME
        return "better" if self.mean > 0 else "worse"


class Results:
    """Outcomes by loss and predictor."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = outcomes
        self.sizes = sorted({outcome.trained_on for outcome in outcomes})
        known = {outcome.pair for outcome in outcomes}
        self.pairs = [(loss, name) for loss in LOSS_NAMES for name in PREDICTORS if (loss, name) in known]

    def of(self, pair: Pair, size: int | None = None) -> list[Outcome]:
        """The outcomes of a pair, on all networks or on those of one size."""
        return [o for o in self.outcomes if o.pair == pair and size in (None, o.trained_on)]

    def gains(self, pair: Pair, size: int | None = None) -> dict[tuple[int, int], float]:
        """Relative reduction of the errors of softmax's loss with argmax, by network."""
        return {o.key: o.gain for o in self.of(pair, size)}

    def difference(self, pair: Pair, other: Pair = BASELINE, size: int | None = None) -> Difference:
        """Two pairs on the networks that have both: a paired t-test on the gains."""
        gains, others = self.gains(pair, size), self.gains(other, size)
        drops = np.array([gains[key] - others[key] for key in gains if key in others])
        return Difference(float(drops.mean()) if len(drops) else float("nan"), paired_t(drops), len(drops))


def paired_t(differences: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Two-sided p-value of a paired t-test; nan with fewer than three pairs, 1 where all are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.loss.results import paired_t
    >>> round(paired_t(np.array([1.0, 2.0, 3.0])), 3)
    0.074
    """
    if len(differences) < 3:
        return float("nan")
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    if error == 0:
        return 0.0 if differences[0] else 1.0
    return float(2 * t.sf(abs(differences.mean()) / error, len(differences) - 1))
