"""The outcomes by method, font and number of labels, over the draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from experiments.characters.fonts import FONTS
from experiments.characters.measure import Outcome
from experiments.characters.methods import METHODS, PEERS
from experiments.zeroshot.results import Mean, agree, standing


class Results:
    """Outcomes by method, font and labels per class; methods and fonts are in the order of their lists."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes = [one for one in outcomes if not METHODS[one.method].limited]
        self.limited = [one for one in outcomes if METHODS[one.method].limited]
        self.methods = [name for name in METHODS if any(one.method == name for one in self.outcomes)]
        self.fonts = [name for name in FONTS if any(one.font == name for one in self.outcomes)]
        self.per_class = sorted({one.per_class for one in self.outcomes})

    @property
    def draws(self) -> int:
        return len({one.draw for one in self.outcomes})

    @property
    def peers(self) -> list[str]:
        return [name for name in PEERS if name in self.methods]

    def every(self, method: str, per_class: int | None = None, font: str | None = None) -> list[Outcome]:
        """The outcomes of a method, in the order of fonts and draws; with so many labels and of a font, if given."""
        there = [
            one
            for one in self.outcomes
            if one.method == method and per_class in (None, one.per_class) and font in (None, one.font)
        ]
        return sorted(there, key=lambda one: (self.fonts.index(one.font), one.draw))

    def error(self, method: str, per_class: int, font: str | None = None) -> Mean:
        """The mean over draws; without a font, over the fonts too."""
        return Mean.of([one.error for one in self.every(method, per_class, font)])

    def difference(self, method: str, other: str, per_class: int) -> Mean:
        """By how much the error of a method is above that of another, over the fonts and draws that both have."""
        found = {one.key: one.error for one in self.every(other, per_class)}
        return Mean.of([one.error - found[one.key] for one in self.every(method, per_class) if one.key in found])

    def best_peer(self, per_class: int) -> str:
        return min(self.peers, key=lambda name: self.error(name, per_class).value)

    def standings(self) -> Counter[str]:
        """How often AutoHead is ahead of, level with and behind a peer with some number of labels."""
        return Counter(
            standing(self.difference("auto", name, count)) for name in self.peers for count in self.per_class
        )


def held(outcome: Outcome) -> bool:
    """Whether gain_interval_ holds the gain on the test samples."""
    return outcome.expected_low <= outcome.gain <= outcome.expected_high


def covered(outcome: Outcome) -> bool:
    """The same, with the uncertainty of that gain allowed for."""
    return agree((outcome.expected_low, outcome.expected_high), (outcome.gain_low, outcome.gain_high))


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
