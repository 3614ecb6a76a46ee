"""The result of an audit: a record that prints, plots and converts to plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from aftermax._abstention.curve import RiskCoverage
from aftermax._abstention.record import Abstention
from aftermax._audit import tables, verdict
from aftermax._audit.counts import MAX_CLASSES, ClassCounts, PairCounts
from aftermax._utils.reliability import Bins
from aftermax.auto.candidates import Candidates
from aftermax.decide.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from aftermax.plots import AuditDisplay

NOT_PLAIN = ("head", "risk_coverage", "reliability")


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of :func:`~aftermax.audit`. Print it for the verdict and its tables.

    Attributes
    ----------
    rows : int
        Number of labelled samples.
    classes : tuple
        The class of each column.
    groups : int or None
        Number of independent groups that the samples are in; None if each sample stands for itself.
    error_before, error_after : float
        The error of softmax, and the out-of-fold error of the head that predicts: softmax's, if softmax is kept. They
        are weighted if samples or classes are.
    gain : float
        Relative reduction of softmax's error to expect of the head: 0.1 is one error in ten, 0 if softmax is kept. For
        a head that was selected for its gain, as by :class:`~aftermax.AutoHead`, it is corrected for that.
    gain_interval : tuple of float
        95 % interval of the true gain.
    gain_prediction_interval : tuple of float
        In which range (95 %) the gain on as many new samples will be.
    wins, losses : int
        Samples that only the head gets right, and samples that only softmax gets right.
    p_value : float
        One-sided p-value of the claim that the head makes fewer errors than softmax: of the exact McNemar test, or of a
        sign-flip test where samples are weighted or in groups. AutoHead's is corrected for the number of candidates;
        if softmax is kept, it is that of the best one.
    proven : bool or None
        Whether the head proved fewer errors (its ``proven_``), for heads that test themselves.
    chosen : str
        What the head predicts with: "softmax" if it keeps softmax.
    trust : float or None
        The share of its correction that an AutoHead trusts.
    class_shares : tuple of float
        The class proportions that the result assumes: those of the samples, with their weights.
    by_class : tuple of ClassCounts
        For each true class: name, rows (its samples), errors of softmax, wins and losses. ``recall`` of each is the
        class's recall before and after.
    pairs : tuple of PairCounts
        The pairs of classes that are confused less often: the true class, the predicted one (``taken_for``), how often
        before and how often after. At most ten pairs, those with the largest drop.
    tangled : tuple of PairCounts
        The pairs that are confused more often than before. At most five pairs, those with the largest rise.
    weighted : bool
        Whether samples or classes are weighted. Errors, gain and p-value then are; counts are plain.
    rows_needed : tuple of int or None
        Between how many labelled samples and how many a proof is likely to need: McNemar's test has a power of 80 % for
        a gain that is one standard error larger, and smaller. None if that cannot be told.
    warnings : tuple of str
        The warnings of aftermax, each once, for readers who only see the result.
    candidates : Candidates or None
        All candidates of an :class:`~aftermax.AutoHead`.
    head : classifier
        The head, fitted on all samples and ready to predict.
    outcome : Outcome or None
        Of a :class:`~aftermax.Decider`: what its decisions cost, or score in the metric asked for, before and after,
        out-of-fold. The verdict is about that, and all other figures are about errors.
    abstention : Abstention or None
        Of a :class:`~aftermax.Decider` with ``max_error``: the share of the samples that it decides alone, and what is
        promised of their error.
    risk_coverage : RiskCoverage or None
        The error of the most certain samples, out-of-fold, for every share of them, by softmax and by the head; see
        :class:`~aftermax.plots.RiskCoverageDisplay`. None for a head without out-of-fold probabilities.
    reliability : Bins or None
        The accuracy of the head by its out-of-fold probability of what it predicts, in ten bins; see
        :class:`~aftermax.plots.ReliabilityDisplay`. None for a head without out-of-fold probabilities.
    """

    rows: int
    classes: tuple[Any, ...]
    groups: int | None
    error_before: float
    error_after: float
    gain: float
    gain_interval: tuple[float, float]
    gain_prediction_interval: tuple[float, float]
    wins: int
    losses: int
    p_value: float
    proven: bool | None
    chosen: str
    trust: float | None
    class_shares: tuple[float, ...]
    by_class: tuple[ClassCounts, ...]
    pairs: tuple[PairCounts, ...]
    rows_needed: tuple[int, int] | None
    tangled: tuple[PairCounts, ...]
    weighted: bool
    warnings: tuple[str, ...]
    candidates: Candidates | None = field(compare=False)
    head: Any = field(compare=False)
    outcome: Outcome | None = None
    abstention: Abstention | None = None
    risk_coverage: RiskCoverage | None = field(default=None, compare=False)
    reliability: Bins | None = field(default=None, compare=False)

    @property
    def verdict(self) -> str:
        """One sentence: is the head worth it?"""
        return verdict.verdict(self)

    @property
    def errors(self) -> tuple[int, int]:
        """The number of errors, before and after."""
        before = sum(one.errors for one in self.by_class)
        return before, before - self.wins + self.losses

    @property
    def other_errors(self) -> tuple[int, int]:
        """Errors before and after that are in none of the pairs shown."""
        shown, (before, after) = [*self.pairs, *self.tangled], self.errors
        return before - sum(one.before for one in shown), after - sum(one.after for one in shown)

    def __repr__(self) -> str:
        return tables.as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything except the head and its curves as plain values, as for JSON; None instead of nan and infinity."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in NOT_PLAIN}
        if self.candidates is not None:
            values["candidates"] = self.candidates.to_dict()
        if self.outcome is not None:
            values["outcome"] = self.outcome.to_dict()
        if self.abstention is not None:
            values["abstention"] = {"sentence": self.abstention.sentence} | self.abstention.to_state()
        return {"verdict": self.verdict} | {name: _plain(value) for name, value in values.items()}

    def plot(self, *, max_classes: int = MAX_CLASSES, ax: Sequence[Axes] | NDArray[Any] | None = None) -> AuditDisplay:
        """Draw wins and losses by class, and the pairs of classes before and after, in two Axes or in a new figure.

        Of more than ``max_classes``, those that change most are drawn.
        """
        from aftermax.plots import AuditDisplay

        return AuditDisplay.from_audit(self, max_classes=max_classes, ax=ax)


def _plain(value: Any) -> Any:
    """Convert to lists, dicts and finite numbers; None instead of nan and infinity."""
    if isinstance(value, ClassCounts | PairCounts):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
