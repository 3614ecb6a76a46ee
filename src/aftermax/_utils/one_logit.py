"""The one logit of a binary model: z, the log-odds of the second class.

Heads compute with two columns, -z / 2 and z / 2, whose softmax is the sigmoid of z. Nothing here needs scikit-learn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import MIN_PROBABILITY

ENOUGH_SAMPLES = 20  # of fewer, logits may all be in [0, 1] by chance
SIGMOID_OUTPUTS = (
    "logits look like probabilities of one class: all are in [0, 1]. Pass the model's outputs before the sigmoid. If "
    "you only have probabilities p, pass their log-odds: scipy.special.logit(numpy.clip(p.astype(float), 1e-12, 1 - "
    "1e-12)) in Python, --log on the command line."
)


def shape_of(logits: Any) -> tuple[int, ...]:
    """The shape of an array, a data frame or nested lists; () where it has none."""
    try:
        return tuple(getattr(logits, "shape", None) or np.asarray(logits).shape)
    except ValueError:  # lists of different lengths
        return ()


def is_one_logit(logits: Any) -> bool:
    """Whether logits, as the user passes them, are one for each sample: of shape (n_samples,) or (n_samples, 1)."""
    shape = shape_of(logits)
    return len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)


def two_columns(logits: NDArray[Any]) -> NDArray[Any]:
    """One column z as two, -z / 2 and z / 2; several columns as they are."""
    return logits if logits.shape[1] != 1 else np.concatenate([logits / -2, logits / 2], axis=1)


def one_column(logits: NDArray[Any]) -> NDArray[Any]:
    """The log-odds of the second of two columns, as one: the inverse of :func:`two_columns`, to the last bit."""
    return np.asarray(logits[:, 1:] - logits[:, :1])


def log_odds(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """log(p / (1 - p)), finite also where p is 0 or 1."""
    clipped = np.clip(probabilities.astype(np.float64), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


class LogOddsRange(NamedTuple):
    """The least and the largest log-odds of samples. Those of two sets of samples add up."""

    n_samples: int
    low: float
    high: float

    @classmethod
    def of(cls, logits: NDArray[Any]) -> LogOddsRange | None:
        """Of one column z, or of -z / 2 and z / 2; None if the logits are neither."""
        if logits.shape[1] > 2 or len(logits) == 0:
            return None
        columns = two_columns(logits).astype(np.float64)
        if not (columns[:, 0] == -columns[:, 1]).all():
            return None
        return cls(len(logits), 2 * float(columns[:, 1].min()), 2 * float(columns[:, 1].max()))

    def joined(self, other: LogOddsRange) -> LogOddsRange:
        """Of the samples of both."""
        return LogOddsRange(self.n_samples + other.n_samples, min(self.low, other.low), max(self.high, other.high))

    @property
    def of_a_sigmoid(self) -> bool:
        """Whether they look like outputs of a sigmoid: in [0, 1] for every sample, and not the same for all."""
        return self.n_samples >= ENOUGH_SAMPLES and 0 <= self.low < self.high <= 1


def look_like_sigmoid_outputs(logits: NDArray[Any]) -> bool:
    """Whether z, as one column or as -z / 2 and z / 2, is in [0, 1] for every sample, and not the same for all."""
    if len(logits) < ENOUGH_SAMPLES:
        return False
    found = LogOddsRange.of(logits)
    return found is not None and found.of_a_sigmoid
