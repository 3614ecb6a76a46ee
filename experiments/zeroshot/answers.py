"""What a service tells of its scores, as logits: all of them, the best few classes only, or rounded probabilities.

A class that is not told, or whose probability is rounded to 0, has no logarithm. It gets a floor, the same for all
samples: below the least probability among the labelled samples.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Floats = NDArray[np.float64]

TOLD = 5  # classes
DIGITS = 2  # of a probability
BELOW = 1.0  # how far the floor is below the least logarithm


class Told(Protocol):
    """From the service's own logits to what is told: the labelled samples first, whose floor all others share."""

    def __call__(self, labelled: Floats, *others: Floats) -> list[Floats]: ...


def all_logits(labelled: Floats, *others: Floats) -> list[Floats]:
    """The logits as they are."""
    return [labelled, *others]


def top_k_logits(labelled: Floats, *others: Floats, k: int = TOLD) -> list[Floats]:
    """The logarithms of the probabilities of each sample's ``k`` best classes; the floor for all others."""
    return _with_floor(*(_best(softmax(logits, axis=1), k) for logits in (labelled, *others)))


def rounded_logits(labelled: Floats, *others: Floats, digits: int = DIGITS) -> list[Floats]:
    """The logarithms of the rounded probabilities; the floor where they are 0."""
    return _with_floor(*(np.round(softmax(logits, axis=1), digits) for logits in (labelled, *others)))


def _best(probabilities: Floats, k: int) -> Floats:
    """The ``k`` largest of each sample; 0 elsewhere."""
    columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    told = np.zeros_like(probabilities)
    np.put_along_axis(told, columns, np.take_along_axis(probabilities, columns, axis=1), axis=1)
    return told


def _with_floor(labelled: Floats, *others: Floats) -> list[Floats]:
    """Logarithms of probabilities. None is below the floor, so that no class is told and yet behind one that is not."""
    floor = np.log(labelled[labelled > 0].min()) - BELOW
    return [np.log(np.maximum(part, np.exp(floor))) for part in (labelled, *others)]
