"""What was found about the classes of unlabelled samples: a record that prints, and converts to plain data."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import aligned, percent
from aftermax._utils.untrusted import count, fields, flag, number, some

MOST_PRINTED = 20  # classes; of more, those that have moved furthest


@dataclass(frozen=True, repr=False)
class Adaptation:
    """The result of :func:`~aftermax.adapt_priors`: the ``adaptation_`` of the head that it returns. Print it.

    Attributes
    ----------
    adapted : bool
        Whether the head now assumes the new proportions. If not, it predicts as it did.
    reason : str
        Why it was adapted, or why not.
    n_samples : int
        Number of unlabelled samples.
    classes : tuple
        The class of each column.
    shares : tuple of float
        The proportion of each class among the unlabelled samples.
    intervals : tuple of pairs of float
        A 95 % interval for each.
    assumed_shares : tuple of float
        The proportion of each class that the head assumed: that of the labelled samples, with their weights.
    p_value : float
        Of the claim that the proportions have moved.
    p_value_label_shift : float
        Of the claim that more than the proportions has changed, such as the images themselves. NaN if it cannot be
        told.
    gain : float
        The share of the errors that are expected to be gone with the new proportions.
    least_gain : float
        The share of the errors that are gone in at least 95 % of the bootstrap's worlds.
    changed : float
        The share of the unlabelled samples of which the new proportions change the predicted class.
    n_groups : int or None
        How many groups were resampled; None if samples were.
    is_calibrated : bool
        Whether the head knows how its probabilities must be corrected; if not, they were taken as they are.
    """

    adapted: bool
    reason: str
    n_samples: int
    classes: tuple[Any, ...]
    shares: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]
    assumed_shares: tuple[float, ...]
    p_value: float
    p_value_label_shift: float
    gain: float
    least_gain: float
    changed: float
    n_groups: int | None
    is_calibrated: bool

    def __repr__(self) -> str:
        rows = [self._row(column) for column in self._printed]
        parts = [self.verdict, aligned(["class", "assumed", "now", "95 % interval"], rows, texts=1)]
        left_out = len(self.classes) - len(rows)
        if left_out:
            parts[-1] += f"\n{left_out:,} more classes, which have moved less."
        if not self.is_calibrated:
            parts.append(NOT_CALIBRATED)
        return "\n\n".join(parts)

    def _row(self, column: int) -> list[str]:
        shares = [percent(self.assumed_shares[column]), percent(self.shares[column])]
        return [str(self.classes[column]), *shares, " to ".join(map(percent, self.intervals[column]))]

    @property
    def verdict(self) -> str:
        """In a sentence or two: whether the head was adapted, and why."""
        counted = f"{self.n_samples:,} unlabelled samples"
        if self.n_groups is not None:
            counted += f" of {self.n_groups:,} groups"
        return f"{'Adapted' if self.adapted else 'Not adapted'}: {self.reason} ({counted})"

    @property
    def _printed(self) -> list[int]:
        """The classes in a table: all, or those that have moved furthest."""
        if len(self.classes) <= MOST_PRINTED:
            return list(range(len(self.classes)))
        moves = np.abs(np.array(self.shares) - np.array(self.assumed_shares))
        return sorted(np.argsort(-moves, kind="stable")[:MOST_PRINTED].tolist())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings, as for JSON."""
        by_class = [
            {"class": _plain(name), "share": now, "interval": list(interval), "assumed_share": before}
            for name, now, interval, before in zip(
                self.classes, self.shares, self.intervals, self.assumed_shares, strict=True
            )
        ]
        unknown = math.isnan(self.p_value_label_shift)
        return {
            "verdict": self.verdict,
            "adapted": self.adapted,
            "reason": self.reason,
            "n_samples": self.n_samples,
            "n_groups": self.n_groups,
            "classes": by_class,
            "p_value": self.p_value,
            "p_value_label_shift": None if unknown else self.p_value_label_shift,
            "gain": self.gain,
            "least_gain": self.least_gain,
            "changed": self.changed,
            "is_calibrated": self.is_calibrated,
        }

    def to_state(self) -> dict[str, Any]:
        """All but the classes, which a head file has already, as for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "classes"}

    @classmethod
    def from_state(cls, values: object, classes: NDArray[Any]) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named = fields(values, set(cls.__dataclass_fields__) - {"classes"}, "the note about class proportions")
        n_classes = len(classes)
        if not isinstance(named["reason"], str):
            raise ValueError("reason is not text")

        def shares(name: str) -> tuple[float, ...]:
            return tuple(_share(one) for one in some(named[name], n_classes, name))

        intervals = [some(one, 2, "an interval") for one in some(named["intervals"], n_classes, "intervals")]
        groups = named["n_groups"]
        return cls(
            adapted=flag(named["adapted"], "adapted"),
            reason=named["reason"],
            n_samples=count(named["n_samples"], "n_samples", least=1),
            classes=tuple(classes.tolist()),
            shares=shares("shares"),
            intervals=tuple((_share(low), _share(high)) for low, high in intervals),
            assumed_shares=shares("assumed_shares"),
            p_value=number(named["p_value"], "p_value", 0.0, 1.0),
            p_value_label_shift=number(named["p_value_label_shift"], "p_value_label_shift", 0.0, 1.0, unknown=True),
            gain=number(named["gain"], "gain", -math.inf, 1.0),
            least_gain=number(named["least_gain"], "least_gain", -math.inf, 1.0),
            changed=number(named["changed"], "changed", 0.0, 1.0),
            n_groups=None if groups is None else count(groups, "n_groups", least=1),
            is_calibrated=flag(named["is_calibrated"], "is_calibrated"),
        )


NOT_CALIBRATED = (
    "The head's probabilities were taken as they are: it has no out-of-fold probabilities, by which they would be "
    "corrected. Proportions and intervals are less sure than they seem."
)


def _share(value: object) -> float:
    return number(value, "a share", 0.0, 1.0)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name
