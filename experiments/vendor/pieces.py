"""Pieces: short inputs with their classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

AT_MOST = 20_000


class Pieces(NamedTuple):
    """Short inputs, and the class of each by its name."""

    texts: list[str]
    labels: list[str]

    def distinct(self) -> Pieces:
        """Each piece once in each of its classes, so that no test sample is a copy of a labelled one."""
        pairs = dict.fromkeys(zip(self.texts, self.labels, strict=True))
        return Pieces([text for text, _ in pairs], [label for _, label in pairs])

    def some(self, count: int = AT_MOST) -> Pieces:
        """At most so many of them, drawn at random."""
        if len(self.texts) <= count:
            return self
        drawn = np.sort(np.random.default_rng(0).permutation(len(self.texts))[:count])
        return Pieces([self.texts[place] for place in drawn], [self.labels[place] for place in drawn])
