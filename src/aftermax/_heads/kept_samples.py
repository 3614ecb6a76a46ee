"""A random sample of labelled samples that adds: of those of parts, the sum is that of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import State
from aftermax._utils.folds import Keys, drawing_keys, row_hashes
from aftermax._utils.untrusted import Arrays, count, fields, some

MOST_LOGITS = 2_000_000  # in a head that can be updated: 16 MB
LEAST = 10  # of each class, if it has so many: a few more of a rare class than chance would draw
LEAST_SHARE = 0.5  # of all that are kept: with thousands of classes there are fewer of each


@dataclass(frozen=True, eq=False)
class KeptSamples:
    """At most so many labelled samples, drawn by hashes of their content; all of them, as long as they are fewer.

    The samples with the smallest hashes are kept, and the ten smallest of each class (fewer with thousands of classes):
    whichever way samples are divided, the sum of the parts keeps the same ones (bottom-k sampling: Cohen and Kaplan,
    2007). Only copies of a sample are drawn by the part that they are in, too.

    References
    ----------
    E. Cohen, H. Kaplan (2007). Summarizing data using bottom-k sketches. PODC.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._heads.kept_samples import KeptSamples
    >>> logits, codes = np.random.default_rng(0).normal(size=(1000, 2)), np.arange(1000) % 2
    >>> halves = [KeptSamples.of(100, logits[half], codes[half]) for half in (slice(0, 500), slice(500, 1000))]
    >>> both = halves[1] + halves[0]
    >>> len(both.codes), both.counts
    (100, array([500, 500]))
    >>> bool((both.logits == KeptSamples.of(100, logits, codes).logits).all())
    True
    """

    most: int
    counts: NDArray[np.int64]  # of each class, how many there were
    keys: Keys
    logits: NDArray[Any]
    codes: NDArray[np.int64]
    features: NDArray[Any] | None = None

    @classmethod
    def of(
        cls, most: int, logits: NDArray[Any], codes: NDArray[np.int64], features: NDArray[Any] | None = None
    ) -> KeptSamples:
        """Of some samples."""
        hashes = row_hashes(logits, codes.astype(np.uint64))
        if features is not None:
            hashes = row_hashes(features, hashes)
        counts = np.bincount(codes, minlength=logits.shape[1])
        return cls(most, counts, drawing_keys(hashes), logits, codes, features).trimmed()

    def __add__(self, other: KeptSamples) -> KeptSamples:
        features = None
        if self.features is not None and other.features is not None:
            features = np.concatenate([self.features, other.features])
        return KeptSamples(
            self.most,
            self.counts + other.counts,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.logits, other.logits]),
            np.concatenate([self.codes, other.codes]),
            features,
        ).trimmed()

    @property
    def n_samples(self) -> int:
        """How many there were."""
        return int(self.counts.sum())

    @property
    def are_all(self) -> bool:
        """Whether none was left out."""
        return len(self.codes) == self.n_samples

    def to_state(self) -> State:
        """As a head file has it."""
        if self.features is not None:
            raise ValueError("features are not kept in head files")
        arrays = {"kept_keys": self.keys, "kept_logits": self.logits, "kept_codes": self.codes}
        return State({"most": self.most, "counts": self.counts.tolist()}, arrays)

    @classmethod
    def from_state(cls, values: object, arrays: Arrays, n_classes: int) -> KeptSamples:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named = fields(values, {"most", "counts"}, "the note about kept samples")
        counts = np.array([count(one, "a count of samples") for one in some(named["counts"], n_classes, "counts")])
        keys = arrays.take("kept_keys", (None,), np.uint64)
        logits = arrays.take("kept_logits", (len(keys), n_classes))
        codes = arrays.take("kept_codes", (len(keys),), np.int64, low=0)
        if len(codes) and codes.max() >= n_classes:
            raise ValueError("a kept sample has a class that is not there")
        if (np.bincount(codes, minlength=n_classes) > counts).any():
            raise ValueError("there are more kept samples of a class than there were samples")
        return cls(count(named["most"], "most", least=1), counts, keys, logits, codes)

    def trimmed(self) -> KeptSamples:
        """In the order of their keys, those to keep."""
        order = np.argsort(self.keys, kind="stable")
        if len(order) > self.most:
            by_class = order[np.argsort(self.codes[order], kind="stable")]
            present = np.bincount(self.codes, minlength=len(self.counts))
            rank = np.arange(len(order)) - np.repeat(np.cumsum(present) - present, present)
            kept = np.zeros(len(order), dtype=bool)
            least = min(LEAST, int(LEAST_SHARE * self.most) // len(self.counts))
            kept[order[: self.most]] = kept[by_class[rank < least]] = True
            order = order[kept[order]]
        features = None if self.features is None else self.features[order]
        return KeptSamples(self.most, self.counts, self.keys[order], self.logits[order], self.codes[order], features)
