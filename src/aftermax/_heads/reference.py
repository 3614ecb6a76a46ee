"""What the scores looked like when a head was fitted, to notice later that they look otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.untrusted import count, fields, number, some


@dataclass(frozen=True)
class Reference:
    """Means and standard deviations of the logits, relative to their sample's mean, and of softmax's certainty."""

    n_samples: int
    certainty_mean: float
    certainty_deviation: float
    predicted_shares: tuple[float, ...]  # of the classes, by softmax
    logit_means: tuple[float, ...]
    logit_deviations: tuple[float, ...]

    @classmethod
    def of(cls, logits: NDArray[np.float64]) -> Self:
        """Of these logits."""
        certainty = softmax_certainty(logits)
        relative = logits - logits.mean(axis=1, keepdims=True)
        shares = np.bincount(logits.argmax(axis=1), minlength=logits.shape[1]) / len(logits)
        return cls(
            len(logits),
            float(certainty.mean()),
            float(certainty.std()),
            tuple(shares.tolist()),
            tuple(relative.mean(axis=0).tolist()),
            tuple(relative.std(axis=0).tolist()),
        )

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_state(cls, values: object, n_classes: int) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        names = set(cls.__dataclass_fields__)
        named: Mapping[str, Any] = fields(values, names, "the reference")
        listed = {
            name: tuple(number(one, name) for one in some(named[name], n_classes, name))
            for name in ("predicted_shares", "logit_means", "logit_deviations")
        }
        return cls(
            n_samples=count(named["n_samples"], "n_samples", least=1),
            certainty_mean=number(named["certainty_mean"], "certainty_mean", 0.0, 1.0),
            certainty_deviation=number(named["certainty_deviation"], "certainty_deviation", 0.0),
            **listed,
        )
