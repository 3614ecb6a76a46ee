"""The result of a check: a record that prints and converts to plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from aftermax._check import verdict
from aftermax._check.comparisons import Compared, RefitCompared
from aftermax._check.drift import Drift
from aftermax._utils.text import aligned, percent, signed


@dataclass(frozen=True, repr=False)
class Check:
    """The result of :func:`~aftermax.check`. Print it for the verdict and its tables.

    Attributes
    ----------
    n_samples : int
        Number of new samples.
    chosen : str
        What the head predicts with: "softmax" if it keeps softmax.
    against_softmax : Compared or None
        The head as it is against softmax: ``n_samples``, ``error_before`` and ``error_after``, ``gain`` (the relative
        reduction of errors) and its 95 % ``gain_interval``, ``wins`` and ``losses``, and the one-sided p-values
        ``p_fewer`` and ``p_more``. Where softmax makes no error, ``gain`` counts errors. None without labels.
    refit : RefitCompared or None
        A head that was fitted on the new samples, out-of-fold: ``against_softmax`` and ``against_head``, whether it is
        ``proven`` that it makes fewer errors than softmax, and whether it ``keeps_softmax``. None without labels, and
        if these are of one class only.
    promised_interval : tuple of float or None
        The head's ``gain_interval_``: what it promised when it was fitted.
    samples_needed : tuple of int or None
        Between which numbers of samples a proof of what was found may be expected to need. None if that cannot be told,
        or if samples have groups or weights.
    groups : int or None
        How many groups p-values and intervals count; None if they count samples.
    weighted : bool
        Whether errors are weighted, by the weights of samples or by those that the head gives to classes.
    hints : tuple of str
        What may have been forgotten: weights for a head that was fitted with some.
    drift : Drift or None
        How the logits differ from those of the fit: ``drifted``, ``sentence`` and ``changes``. None if the head has no
        reference.
    fitted_on_share : float
        The share of these samples that the head was fitted on, if it can be told; they should be none.
    warnings : tuple of str
        The warnings of aftermax, each once, for readers who only see the result.
    refitted_head : estimator or None
        The head that was fitted on the new samples, to be saved if the verdict is to refit.
    """

    n_samples: int
    chosen: str
    against_softmax: Compared | None = None
    refit: RefitCompared | None = None
    promised_interval: tuple[float, float] | None = None
    samples_needed: tuple[int, int] | None = None
    groups: int | None = None
    weighted: bool = False
    hints: tuple[str, ...] = ()
    drift: Drift | None = None
    fitted_on_share: float = 0.0
    warnings: tuple[str, ...] = ()
    refitted_head: Any = field(default=None, compare=False)

    @property
    def action(self) -> str:
        """What to do: "keep", "refit", "drop" or, if that cannot be told, "not enough"."""
        return verdict.action(self)

    @property
    def verdict(self) -> str:
        """One sentence: what to do, and why. Without labels: whether the samples look like those of the fit."""
        return verdict.verdict(self)

    @property
    def drift_sentence(self) -> str:
        """Whether the samples look like those of the fit, if that can be told."""
        return verdict.drift_sentence(self)

    @property
    def keeps_softmax(self) -> bool:
        """Whether the head predicts as softmax does."""
        return self.chosen == "softmax"

    @property
    def was_fitted_on(self) -> bool:
        """Whether the head was fitted on these samples, or on a notable part of them: then nothing is proven."""
        return verdict.was_fitted_on(self)

    @property
    def counted(self) -> str:
        """What is counted, in words: samples or groups, weighted or not; and hints, if there are any."""
        parts = ["Errors are weighted; wins and losses are plain counts."] if self.weighted else []
        if self.groups is not None:
            parts.append(f"P-values and intervals count {self.groups:,} groups, not samples.")
        return " ".join([*(parts or ["Every sample counts the same."]), *self.hints])

    def comparison_rows(self) -> list[list[str]]:
        """The comparisons as the rows of a table; none if they prove nothing, as on one sample or those of the fit."""
        if self.against_softmax is None or self.was_fitted_on or self.n_samples == 1:
            return []
        found = [_row("this head against softmax", self.against_softmax)]
        if self.refit is not None:
            found.append(_row("a refit against softmax", self.refit.against_softmax))
            found.append(_row("a refit against this head", self.refit.against_head))
        return found

    def __repr__(self) -> str:
        parts = [self.verdict, "\n".join(f"Warning: {message}" for message in self.warnings)]
        rows = self.comparison_rows()
        if rows:
            parts += [aligned(HEADINGS, rows, texts=1) + f"\n{NOTE} {self.counted}", self.drift_sentence]
        if self.drift is not None and not self.was_fitted_on and not self.drift.too_few:
            parts.append(repr(self.drift))
        return "\n\n".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Everything except the refitted head as plain numbers and strings, as for JSON."""
        return {
            "verdict": self.verdict,
            "action": self.action,
            "n_samples": self.n_samples,
            "chosen": self.chosen,
            "against_softmax": _plain(self.against_softmax),
            "refit": _plain(self.refit),
            "promised_interval": _plain(self.promised_interval),
            "samples_needed": _plain(self.samples_needed),
            "groups": self.groups,
            "weighted": self.weighted,
            "hints": list(self.hints),
            "fitted_on_share": self.fitted_on_share,
            "drift": None if self.drift is None else self.drift.to_dict(),
            "warnings": list(self.warnings),
        }


HEADINGS = [
    "",
    "samples",
    "error before",
    "after",
    "fewer errors",
    "95 % interval",
    "wins",
    "losses",
    "p fewer",
    "p more",
]
NOTE = "A refit is a head that was fitted on these samples, judged out-of-fold. The p-values are one-sided."


def _row(name: str, one: Compared) -> list[str]:
    low, high = map(signed, one.gain_interval)
    gain = [signed(one.gain), f"{low} to {high}"] if one.error_before > 0 else ["no errors before", ""]
    return [
        name,
        f"{one.n_samples:,}",
        percent(one.error_before),
        percent(one.error_after),
        *gain,
        f"{one.wins:,}",
        f"{one.losses:,}",
        f"{one.p_fewer:.2g}",
        f"{one.p_more:.2g}",
    ]


def _plain(value: Any) -> Any:
    """Convert named tuples to dicts, tuples to lists, and numbers that are not finite to None."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
