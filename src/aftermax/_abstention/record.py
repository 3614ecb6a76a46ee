"""What is promised of a threshold on certainty, as a record that prints and can be stored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from aftermax._utils.text import percent
from aftermax._utils.untrusted import count, fields, flag, number


@dataclass(frozen=True, repr=False)
class Abstention:
    """Which samples a head decides alone, and what is promised of these. Print it for a sentence.

    Attributes
    ----------
    threshold : float
        Samples with at least this certainty are decided by the head alone; infinite if there are none.
    max_error : float
        The largest error of these that was said to be acceptable.
    confidence : float
        With which probability, over the draw of the labelled samples, their error is below it.
    share : float
        The share of the labelled samples that the head would have decided alone; weighted if they are.
    error : float
        The out-of-fold error of these; NaN if there are none.
    upper_bound : float
        The upper bound on their error at this confidence: at most ``max_error``. NaN if there are none.
    n_kept : int
        How many of the labelled samples these are.
    n_samples : int
        How many labelled samples there are.
    n_groups : int or None
        How many groups they are in; None if each stands for itself.
    needed : int
        How many kept samples (with groups, of as many groups) the promise needs at least, with no error among them.
    weighted : bool
        Whether samples have weights: error and share then have, too.
    """

    threshold: float
    max_error: float
    confidence: float
    share: float
    error: float
    upper_bound: float
    n_kept: int
    n_samples: int
    n_groups: int | None
    needed: int
    weighted: bool

    @property
    def keeps_any(self) -> bool:
        """Whether the head decides any sample alone."""
        return self.n_kept > 0

    @property
    def sentence(self) -> str:
        """The promise, or why there is none."""
        if self.keeps_any:
            return (
                f"decides alone: {percent(self.share)} of the samples, of which at most {_short(self.max_error)} are "
                f"wrong (confidence {_short(self.confidence)})"
            )
        what = "samples" if self.n_groups is None else "groups"
        there = self.n_samples if self.n_groups is None else self.n_groups
        promise = f"at most {_short(self.max_error)} wrong with confidence {_short(self.confidence)}"
        if there < self.needed:
            return (
                f"decides nothing alone: {promise} needs at least {self.needed:,} labelled {what} that are decided "
                f"without an error, and there are {there:,}"
            )
        return (
            f"decides nothing alone: {promise} is not proven even for the most certain of the {there:,} {what}; label "
            "more, or accept a larger error"
        )

    def __repr__(self) -> str:
        return f"Abstention: {self.sentence}"

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON; numbers may be infinite or NaN."""
        return asdict(self)

    @classmethod
    def from_state(cls, values: object) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named: Mapping[str, Any] = fields(values, set(cls.__dataclass_fields__), "the abstention")

        def share(name: str, *, unknown: bool = False) -> float:
            return number(named[name], name, 0.0, 1.0, unknown=unknown)

        n_samples = count(named["n_samples"], "n_samples", least=1)
        n_groups = None if named["n_groups"] is None else count(named["n_groups"], "n_groups", least=1)
        n_kept = count(named["n_kept"], "n_kept")
        threshold = number(named["threshold"], "threshold", infinite=True)
        if n_kept > n_samples or (n_kept == 0) != (threshold == math.inf):
            raise ValueError(f"the abstention keeps {n_kept} of {n_samples} samples with threshold {threshold}")
        return cls(
            threshold=threshold,
            max_error=share("max_error"),
            confidence=share("confidence"),
            share=share("share"),
            error=share("error", unknown=True),
            upper_bound=share("upper_bound", unknown=True),
            n_kept=n_kept,
            n_samples=n_samples,
            n_groups=n_groups,
            needed=count(named["needed"], "needed", least=1),
            weighted=flag(named["weighted"], "weighted"),
        )


def _short(share: float) -> str:
    """A round percentage without zeros behind it: 2 %, 0.5 %, 95 %."""
    return f"{100 * share:.6g} %"
