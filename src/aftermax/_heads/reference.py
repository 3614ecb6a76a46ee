"""What the scores looked like when a head was fitted, to notice later that they look otherwise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.fingerprint import Fingerprint
from aftermax._utils.large import column_sums, in_float64, predicted_columns
from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.untrusted import fields, number, some

LARGEST = 1e100  # logits beyond this are masks or mistakes, whose squares would overflow
CERTAIN = 1 + 1e-9  # a mean of ones, with its rounding


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations of the logits, relative to their sample's mean, and of softmax's certainty."""

    certainty_mean: float
    certainty_deviation: float
    predicted_shares: tuple[float, ...]  # of the classes, by softmax
    logit_means: tuple[float, ...]
    logit_deviations: tuple[float, ...]
    fingerprint: Fingerprint

    @classmethod
    def of(cls, logits: NDArray[Any]) -> Self:
        """Of these logits."""
        certainty = softmax_certainty(logits)
        shares = np.bincount(predicted_columns(logits), minlength=logits.shape[1]) / len(logits)
        means = column_sums(logits, relative_logits) / len(logits)
        variances = column_sums(logits, lambda chunk: np.square(relative_logits(chunk) - means)) / len(logits)
        return cls(
            float(certainty.mean()),
            float(certainty.std()),
            tuple(shares.tolist()),
            tuple(means.tolist()),
            tuple(np.sqrt(variances).tolist()),
            Fingerprint.of(logits),
        )

    @property
    def n_samples(self) -> int:
        """How many samples there were."""
        return self.fingerprint.n_samples

    def __add__(self, other: Reference) -> Reference:
        """The reference of the samples of both, to rounding."""
        share = other.n_samples / (self.n_samples + other.n_samples)

        def mean(one: object, two: object) -> NDArray[np.float64]:
            return np.asarray((1 - share) * np.asarray(one) + share * np.asarray(two))

        def deviation(first: tuple[Any, Any], second: tuple[Any, Any]) -> NDArray[np.float64]:
            """From means and deviations: within both, and between their means (Chan, Golub and LeVeque, 1979)."""
            within = mean(np.square(first[1]), np.square(second[1]))
            return np.asarray(np.sqrt(within + share * (1 - share) * np.square(np.subtract(second[0], first[0]))))

        return Reference(
            float(mean(self.certainty_mean, other.certainty_mean)),
            float(
                deviation(
                    (self.certainty_mean, self.certainty_deviation), (other.certainty_mean, other.certainty_deviation)
                )
            ),
            tuple(mean(self.predicted_shares, other.predicted_shares).tolist()),
            tuple(mean(self.logit_means, other.logit_means).tolist()),
            tuple(
                deviation(
                    (self.logit_means, self.logit_deviations), (other.logit_means, other.logit_deviations)
                ).tolist()
            ),
            self.fingerprint + other.fingerprint,
        )

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON."""
        return {
            "certainty_mean": self.certainty_mean,
            "certainty_deviation": self.certainty_deviation,
            "predicted_shares": list(self.predicted_shares),
            "logit_means": list(self.logit_means),
            "logit_deviations": list(self.logit_deviations),
            "fingerprint": self.fingerprint.to_state(),
        }

    @classmethod
    def from_state(cls, values: object, n_classes: int) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named: Mapping[str, Any] = fields(values, set(cls.__dataclass_fields__), "the reference")

        def listed(name: str, low: float = -math.inf, high: float = math.inf) -> tuple[float, ...]:
            return tuple(number(one, name, low, high) for one in some(named[name], n_classes, name))

        return cls(
            certainty_mean=number(named["certainty_mean"], "certainty_mean", 0.0, CERTAIN),
            certainty_deviation=number(named["certainty_deviation"], "certainty_deviation", 0.0),
            predicted_shares=listed("predicted_shares", 0.0, 1.0),
            logit_means=listed("logit_means"),
            logit_deviations=listed("logit_deviations", 0.0),
            fingerprint=Fingerprint.from_state(named["fingerprint"]),
        )


def relative_logits(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Each logit less the mean of its sample's."""
    limited = np.clip(in_float64(logits), -LARGEST, LARGEST)
    return np.asarray(limited - limited.mean(axis=1, keepdims=True))
