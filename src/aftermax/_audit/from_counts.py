"""An audit of more samples than the head was fitted on: what it changes for all of them, from counts that add."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from aftermax._audit.counts import count_by_class, largest_drops, largest_rises
from aftermax._audit.result import Audit
from aftermax._audit.run import MAX_DROPS, MAX_RISES, more_than
from aftermax._utils.paired_tests import samples_range

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """How many samples have which true class, which prediction of softmax, and which of a head.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._audit.from_counts import Outcomes
    >>> some = Outcomes.of(np.array([0, 1, 1]), np.array([0, 0, 0]), np.array([0, 1, 1]), 2)
    >>> (some + some).times
    array([2, 4])
    """

    n_classes: int
    cells: Codes  # (true class * n_classes + softmax's prediction) * n_classes + the head's; ascending
    times: Codes

    @classmethod
    def of(cls, codes: Codes, softmax: Codes, predicted: Codes, n_classes: int) -> Self:
        """Of some samples."""
        cells, times = np.unique((codes * n_classes + softmax) * n_classes + predicted, return_counts=True)
        return cls(n_classes, cells, times)

    def __add__(self, other: Outcomes) -> Outcomes:
        cells, inverse = np.unique(np.concatenate([self.cells, other.cells]), return_inverse=True)
        times = np.zeros(len(cells), dtype=np.int64)
        np.add.at(times, inverse, np.concatenate([self.times, other.times]))
        return Outcomes(self.n_classes, cells[times != 0], times[times != 0])

    def __sub__(self, other: Outcomes) -> Outcomes:
        return self + replace(other, times=-other.times)

    def columns(self) -> tuple[Codes, Codes, Codes]:
        """True classes, and the predictions of softmax and of the head."""
        rest, predicted = np.divmod(self.cells, self.n_classes)
        codes, softmax = np.divmod(rest, self.n_classes)
        return codes, softmax, predicted


def audit_with_counts(audit: Audit, outcomes: Outcomes) -> Audit:
    """An audit of some samples, with what is counted of all: the gain and its proof are those of the audit."""
    codes, softmax, predicted = outcomes.columns()
    names, times, n_samples = np.array(audit.classes), outcomes.times, int(outcomes.times.sum())
    before, after = softmax == codes, predicted == codes
    wins, losses = (int(times[which].sum()) for which in (after & ~before, before & ~after))
    needed = audit.rows_needed
    if wins + losses:
        needed = more_than(n_samples, samples_range(wins - losses, wins + losses, n_samples))
    by_class = count_by_class(before, after, codes, names, times)
    return replace(
        audit,
        rows=n_samples,
        groups=None,
        error_before=float(times[~before].sum() / n_samples),
        error_after=float(times[~after].sum() / n_samples),
        wins=wins,
        losses=losses,
        class_shares=tuple(one.rows / n_samples for one in by_class),
        by_class=by_class,
        pairs=largest_drops(softmax, predicted, codes, names, MAX_DROPS, times),
        tangled=largest_rises(softmax, predicted, codes, names, MAX_RISES, times),
        rows_needed=needed,
    )
