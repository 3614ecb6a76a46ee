"""Logits made of answers: what a head is fitted on, and how new answers have to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.warned import warn
from aftermax.answers.kinds import LOG_PROBABILITIES, LOGITS

OFTEN = 0.05  # the share of samples whose true class is not among the answers, from which it is warned of


class AnswerFormat(NamedTuple):
    """How answers become logits. A head keeps it, so that new answers are read as those that it was fitted on were."""

    kind: str  # "probabilities", "percentages", "log-probabilities" or "logits"
    floor: float  # no score is lower than this


@dataclass(frozen=True, eq=False)
class TopKScores:
    """Logits with a column for each class, made of answers; heads take it as they take an array or a data frame.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_classes)
        The logits; ``numpy.asarray(scores)`` gives them too.
    classes : ndarray of shape (n_classes,)
        The class of each column.
    told : ndarray of shape (n_samples, n_classes)
        Whether the answer names the class.
    format : AnswerFormat
        The ``kind`` of scores that the answers hold, and the ``floor``.
    """

    values: NDArray[np.float64]
    classes: NDArray[Any]
    told: NDArray[np.bool_]
    format: AnswerFormat

    @property
    def columns(self) -> list[Any]:
        """The headings of the columns, as of a data frame: the classes."""
        return list(self.classes.tolist())

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of samples and of classes."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, rows: Any) -> TopKScores:
        """Some of the samples, by a slice, a mask or a list of numbers."""
        return TopKScores(np.atleast_2d(self.values[rows]), self.classes, np.atleast_2d(self.told[rows]), self.format)

    @property
    def summary(self) -> str:
        """What the answers hold, and how it is used."""
        n_samples, n_classes = self.shape
        mean = self.told.sum(axis=1).mean()
        named = f"all {n_classes} classes" if self.told.all() else f"{mean:.3g} of {n_classes} classes in the mean"
        used = "taken as they are" if self.format.kind in (LOGITS, LOG_PROBABILITIES) else "taken as logarithms"
        return f"{n_samples:,} answers with {self.format.kind} of {named}, {used}."

    def __repr__(self) -> str:
        return f"<TopKScores: {self.summary}>"

    def share_untold(self, codes: NDArray[np.int64]) -> float:
        """The share of samples whose answer does not name their true class, given as a column."""
        return float(1.0 - self.told[np.arange(len(codes)), codes].mean())


def warn_if_untold(scores: TopKScores, codes: NDArray[np.int64], stacklevel: int = 3) -> None:
    """Warn if the true class is often not among the answers."""
    share = scores.share_untold(codes)
    if share >= OFTEN:
        most = int(scores.told.sum(axis=1).max())
        warn(
            f"The true class is not among the answers of {share:.0%} of the samples: a head can only guess there. The "
            f"service names up to {most} of {scores.shape[1]} classes; ask it for more of them, if it can.",
            stacklevel=stacklevel,
        )
