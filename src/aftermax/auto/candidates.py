"""What each candidate gains out-of-fold, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import (
    gain_interval,
    one_sided_mcnemar,
    paired_p_value,
    relative_gain,
    weighted_gain,
    wins_and_losses,
)
from aftermax._utils.text import aligned, percent, signed

DESCRIPTIONS = {
    "softmax": "softmax with a temperature",
    "biases": "a bias for each class",
    "gaussian": "Gaussian, full covariance",
    "linear": "linear map of the logits",
    "kernel": "RBF kernels on the logits",
    "linear of features": "linear map of the features",
    "kernel of features": "RBF kernels on the features",
    "combination": "all of these, stacked",
    "sph": "Softmax-Pooling Hybrid",
}


class OutOfFold(NamedTuple):
    """The out-of-fold prediction of each sample, as a column number, and its log loss (NaN if there is none)."""

    predictions: NDArray[np.int64]
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """A head, judged out-of-fold. Gains are relative reductions of softmax's error."""

    name: str
    error: float
    gain: float
    gain_interval: tuple[float, float]
    wins: int
    losses: int
    log_loss: float  # NaN if there is none
    p_value: float

    @property
    def description(self) -> str:
        """What it is, in a few words."""
        return DESCRIPTIONS.get(self.name, self.name)


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
        heads = ["", "candidate", "", "error", "fewer errors", "wins", "losses", "log loss", "p-value"]
        rows = [
            [
                "*" if one.name == self.chosen else "",
                one.name,
                one.description,
                percent(one.error),
                "" if one.name == "softmax" else signed(one.gain),
                "" if one.name == "softmax" else f"{one.wins:,}",
                "" if one.name == "softmax" else f"{one.losses:,}",
                "" if np.isnan(one.log_loss) else f"{one.log_loss:.3f}",
                "" if one.name == "softmax" else f"{one.p_value:.2g}",
            ]
            for one in self.values()
        ]
        notes = (
            "* chosen, from softmax, the combination and SPH; the others are shown for comparison. All figures are "
            "out-of-fold."
        )
        if self.weighted:
            notes += "\nThe samples are weighted, as you asked for; only wins and losses are plain counts."
        return aligned(heads, rows, texts=3) + "\n" + notes

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain numbers, as for JSON; None where there is none."""
        return {
            name: {key: None if value != value else value for key, value in asdict(one).items()}
            for name, one in self.items()
        }


def judge(
    name: str,
    head: OutOfFold,
    baseline: OutOfFold,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    rng: np.random.Generator,
) -> Candidate:
    """A candidate against a baseline, sample by sample."""
    before, after = baseline.predictions == codes, head.predictions == codes
    wins, losses, errors = wins_and_losses(before, after)
    if np.ptp(weights) == 0:
        gain = float(relative_gain(wins, losses, errors))
        interval = gain_interval(wins, losses, errors, len(codes), rng)
    else:
        gain, interval = weighted_gain(before, after, weights)
    if np.isnan(head.losses).any() or np.isnan(baseline.losses).any():
        p_value = one_sided_mcnemar(wins, losses)
    else:
        p_value = paired_p_value(after.astype(float) - before, baseline.losses - head.losses, weights)
    log_loss = float(np.average(head.losses, weights=weights))
    return Candidate(name, float(np.average(~after, weights=weights)), gain, interval, wins, losses, log_loss, p_value)
