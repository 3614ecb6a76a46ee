"""What a service tells of its scores, as logits: all of them, the best few classes only, or rounded probabilities.

Answers become logits as users' answers do, by :func:`aftermax.scores_from_top_k`; new answers are read as the labelled
ones were.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from aftermax import scores_from_top_k

Floats = NDArray[np.float64]

TOLD = 5  # classes
DIGITS = 2  # of a probability


class Told(Protocol):
    """From the service's own logits to what is told: the labelled samples first, as which all others are read."""

    def __call__(self, labelled: Floats, *others: Floats) -> list[Floats]: ...


def all_logits(labelled: Floats, *others: Floats) -> list[Floats]:
    """The logits as they are."""
    return [labelled, *others]


def top_k_logits(labelled: Floats, *others: Floats, k: int = TOLD) -> list[Floats]:
    """The logarithms of the probabilities of each sample's ``k`` best classes; the others share what is left."""
    return _read(*(_best(softmax(logits, axis=1), k) for logits in (labelled, *others)))


def rounded_logits(labelled: Floats, *others: Floats, digits: int = DIGITS) -> list[Floats]:
    """The logarithms of the rounded probabilities; the classes with 0 share what is left."""
    return _read(*(np.round(softmax(logits, axis=1), digits) for logits in (labelled, *others)))


def _best(probabilities: Floats, k: int) -> Floats:
    """The ``k`` largest of each sample; 0 elsewhere."""
    columns = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    told = np.zeros_like(probabilities)
    np.put_along_axis(told, columns, np.take_along_axis(probabilities, columns, axis=1), axis=1)
    return told


def _read(labelled: Floats, *others: Floats) -> list[Floats]:
    """Probabilities, of which those above 0 are told, as logits."""
    scores = scores_from_top_k(_answers(labelled), range(labelled.shape[1]), kind="probabilities")
    return [scores.values, *(scores_from_top_k(_answers(part), like=scores).values for part in others)]


def _answers(probabilities: Floats) -> list[dict[int, float]]:
    return [{int(column): row[column] for column in np.flatnonzero(row)} for row in probabilities]
