"""What each candidate gains out-of-fold, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.fitting import CLASS_MEANS, DISCRIMINANTS
from aftermax._residual.fitting import WITHOUT_FEATURES
from aftermax._utils.comparison import Comparison, summed
from aftermax._utils.paired_tests import mean_p_value, wins_and_losses
from aftermax._utils.text import aligned, percent, signed

DESCRIPTIONS = {
    "softmax": "softmax with a temperature",
    "biases": "a bias for each class",
    "linear": "and a linear map",
    "combination": "and Gaussians and RBF kernels",
    WITHOUT_FEATURES: "the same of the logits alone",
    CLASS_MEANS: "and similarity to class means",
    DISCRIMINANTS: "and linear discriminants",
    "sph": "Softmax-Pooling Hybrid",
}
# Corrections that the combination stacks; "weights_" of AutoHead names them.
CORRECTIONS = (
    "gaussian",
    "linear",
    "kernel",
    "discriminant",
    "gaussian of features",
    "linear of features",
    "kernel of features",
    "discriminant of features",
)
MAX_LOSS = 20.0  # of a sample, in tests: a single one that is confidently wrong must not decide
SHARES = {0.25: "1/4", 0.5: "1/2", 0.75: "3/4"}


class OutOfFold(NamedTuple):
    """The out-of-fold prediction of each sample, as a column number, and its log loss (NaN if there is none).

    ``probabilities`` are largest at the predictions; None where they are not kept.
    """

    predictions: NDArray[np.int64]
    losses: NDArray[np.float64]
    probabilities: NDArray[np.floating[Any]] | None = None


class Evaluation(NamedTuple):
    """What out-of-fold predictions are judged by: the held-out samples' labels, weights and groups."""

    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64] | None
    held_out: NDArray[np.bool_]

    def compare(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> Comparison:
        """Errors of predictions against those of others, on the samples that were held out."""
        some = self.held_out
        groups = None if self.groups is None else np.unique(self.groups[some], return_inverse=True)[1]
        codes = self.codes[some]
        return Comparison.of(before[some] == codes, after[some] == codes, self.weights[some], groups)

    def log_loss(self, losses: NDArray[np.float64]) -> float:
        """The mean of the log losses; NaN if there are none."""
        return float(np.average(losses[self.held_out], weights=self.weights[self.held_out]))

    def loss_p_value(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
        """One-sided p-value of the claim that the log loss is lower after than before."""
        some = self.held_out
        groups = None if self.groups is None else np.unique(self.groups[some], return_inverse=True)[1]
        drops = np.minimum(before, MAX_LOSS) - np.minimum(after, MAX_LOSS)
        return mean_p_value(summed((drops * self.weights)[some], groups))


@dataclass(frozen=True)
class Candidate:
    """A head, judged out-of-fold. Gains are relative reductions of softmax's error.

    The tiers, from the safest to the richest, are "biases", "linear" and "combination": each has the corrections of the
    one before. With features there is also a combination without them. A candidate adds a share of its tier's
    correction to softmax's scores, its ``trust``.
    """

    name: str
    tier: str
    trust: float
    error: float
    gain: float
    gain_interval: tuple[float, float]
    wins: int
    losses: int
    p_value: float  # one-sided, of the claim that it makes fewer errors than softmax
    log_loss: float  # NaN if there is none
    log_loss_p_value: float  # one-sided, of the claim that its log loss is lower; NaN if there is none

    @property
    def description(self) -> str:
        """What it is, in a few words."""
        if self.trust < 1:
            return f"{SHARES.get(self.trust, self.trust)} of that correction"
        return DESCRIPTIONS.get(self.tier, self.tier)


def candidate_name(tier: str, trust: float) -> str:
    """Its tier, and the share of the correction that is added, if that is not all of it.

    Examples
    --------
    >>> from aftermax.auto.candidates import candidate_name
    >>> candidate_name("combination", 1.0), candidate_name("combination", 0.25)
    ('combination', 'combination 1/4')
    """
    return tier if trust == 1 else f"{tier} {SHARES[trust]}"


def judge(
    tier: str,
    trust: float,
    head: OutOfFold,
    softmax: OutOfFold,
    comparison: Comparison,
    evaluation: Evaluation,
) -> Candidate:
    """A candidate against softmax."""
    some, codes = evaluation.held_out, evaluation.codes
    wins, losses, _ = wins_and_losses((softmax.predictions == codes)[some], (head.predictions == codes)[some])
    weights = evaluation.weights[some]
    has_losses = not np.isnan(head.losses).any()
    return Candidate(
        name=candidate_name(tier, trust),
        tier=tier,
        trust=trust,
        error=float(np.average((head.predictions != codes)[some], weights=weights)),
        gain=comparison.gain,
        gain_interval=comparison.intervals()[0],
        wins=wins,
        losses=losses,
        p_value=comparison.p_value,
        log_loss=evaluation.log_loss(head.losses),
        log_loss_p_value=evaluation.loss_p_value(softmax.losses, head.losses) if has_losses else float("nan"),
    )


class Candidates(Mapping[str, Candidate]):
    """The candidates by name; printed, a table."""

    def __init__(self, candidates: list[Candidate], chosen: str, *, weighted: bool = False) -> None:
        self._all = {candidate.name: candidate for candidate in candidates}
        self.chosen = chosen
        self.weighted = weighted

    def __getitem__(self, name: str) -> Candidate:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        heads = ["", "candidate", "", "error", "fewer errors", "wins", "losses", "p-value", "log loss", "p-value"]
        rows = [
            [
                "*" if one.name == self.chosen else "",
                one.name,
                one.description,
                percent(one.error),
                *(_compared(one) if one.name != "softmax" else [""] * 4),
                _number(one.log_loss, ".3f"),
                "" if one.name == "softmax" else _number(one.log_loss_p_value, ".2g"),
            ]
            for one in self.values()
        ]
        notes = "* chosen. All figures are out-of-fold; p-values are one-sided, and each is of that candidate alone."
        if self.weighted:
            notes += "\nThe samples are weighted, as you asked for; only wins and losses are plain counts."
        return aligned(heads, rows, texts=3) + "\n" + notes

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain numbers, as for JSON; None where there is none."""
        return {
            name: {key: None if value != value else value for key, value in asdict(one).items()}
            for name, one in self.items()
        }


def _compared(one: Candidate) -> list[str]:
    return [signed(one.gain), f"{one.wins:,}", f"{one.losses:,}", f"{one.p_value:.2g}"]


def _number(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)
