"""The samples that a head was fitted on, remembered by a few hashes: enough to notice that they are passed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import Keys, row_hashes
from aftermax._utils.untrusted import count, fields, some

MOST = 128  # hashes that are kept
FEWEST_FOUND = 3  # of these, before some of the samples are said to be passed again: one may be the same by chance
NOTABLE = 0.05  # share of samples that were fitted on, above which a comparison proves nothing
MOST_OF_THEM = 0.5  # share from which they are called most of the samples: where it is estimated, no figure is given
DISTINCT = 0.9  # share of samples with logits of their own; with fewer, as of a small tree, equal logits mean nothing
MODULUS = 2**63


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of logits: their sum, which does not depend on their order, and the smallest, which are a random part.

    The smallest hashes are a sketch of the set of samples, by which the overlap with another set is estimated.

    References
    ----------
    K. Beyer, P. J. Haas, B. Reinwald, Y. Sismanis, R. Gemulla (2007). On synopses for distinct-value estimation under
    multiset operations. SIGMOD.
    """

    n_samples: int
    total: int
    smallest: tuple[int, ...]  # none if many samples have the same logits

    @classmethod
    def of(cls, logits: NDArray[Any]) -> Self:
        """Of these samples."""
        hashes = content_hashes(logits)
        distinct = np.unique(hashes)
        kept = distinct[:MOST] if len(distinct) >= DISTINCT * len(hashes) else distinct[:0]
        return cls(len(hashes), total_of(hashes), tuple(kept.tolist()))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        """Of the samples of both. A few that are in both do no harm; if many are, they are taken for different ones."""
        both = sorted({*self.smallest, *other.smallest})[:MOST] if self.smallest and other.smallest else []
        return Fingerprint(self.n_samples + other.n_samples, (self.total + other.total) % MODULUS, tuple(both))

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON."""
        return {"n_samples": self.n_samples, "total": self.total, "smallest": list(self.smallest)}

    @classmethod
    def from_state(cls, values: object) -> Self:
        """From a file that anyone may have written: a ValueError says what is wrong with it."""
        named = fields(values, {"n_samples", "total", "smallest"}, "the fingerprint")
        smallest = tuple(count(one, "a hash") for one in some(named["smallest"], None, "the list of hashes"))
        if len(smallest) > MOST:
            raise ValueError(f"the list of hashes has {len(smallest)} entries: at most {MOST} are possible")
        return cls(count(named["n_samples"], "n_samples", least=1), count(named["total"], "total"), smallest)


class Overlap:
    """How many of some samples a head was fitted on. They are added some at a time, in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._heads.fingerprint import Fingerprint, Overlap
    >>> logits = np.random.default_rng(0).normal(size=(1000, 3))
    >>> overlap = Overlap(Fingerprint.of(logits))
    >>> overlap.add(logits[500:])
    >>> round(overlap.share, 1)
    1.0
    >>> overlap.add(logits[500:] + 1)
    >>> 0.4 < overlap.share < 0.6
    True
    """

    def __init__(self, fingerprint: Fingerprint) -> None:
        self._fitted_on = fingerprint
        self._known = np.array(fingerprint.smallest, dtype=np.uint64)
        # Up to which hash all of the fit are known: up to the largest that is kept or, if all are kept, up to any.
        self._known_up_to = self._known.max() if len(self._known) == MOST else np.uint64(MODULUS)
        self._found: set[int] = set()
        self._again = self._new = 0  # of the samples with hashes up to there, those of the fit and the others
        self._total = 0
        self.n_samples = 0

    def add(self, logits: NDArray[Any]) -> None:
        """Some more samples."""
        hashes = content_hashes(logits)
        comparable = hashes[hashes <= self._known_up_to] if len(self._known) else hashes[:0]
        again = comparable[np.isin(comparable, self._known)]
        self._found.update(again.tolist())
        self._again += len(again)
        self._new += len(comparable) - len(again)
        self._total = (self._total + total_of(hashes)) % MODULUS
        self.n_samples += len(hashes)

    def to_state(self) -> dict[str, Any]:
        """Plain values, as for JSON: what was found among the samples so far."""
        counted = {"n_samples": self.n_samples, "total": self._total, "again": self._again, "new": self._new}
        return counted | {"found": sorted(self._found)}

    def add_state(self, values: object) -> None:
        """The samples that another object has seen. A ValueError says what is wrong with its state."""
        counts = ("n_samples", "total", "again", "new")
        named = fields(values, {*counts, "found"}, "the overlap")
        n_samples, total, again, new = (count(named[name], name) for name in counts)
        found = [count(one, "a hash") for one in some(named["found"], None, "the list of hashes")]
        self._found.update(set(found) & set(self._fitted_on.smallest))
        self._again, self._new = self._again + again, self._new + new
        self._total = (self._total + total) % MODULUS
        self.n_samples += n_samples

    @property
    def is_all(self) -> bool:
        """Whether these are exactly the samples that the head was fitted on."""
        return (self.n_samples, self._total) == (self._fitted_on.n_samples, self._fitted_on.total)

    @property
    def share(self) -> float:
        """The share of these samples that the head was fitted on: 1 if all are for sure, else an estimate below 1.

        Of the samples whose hashes are small enough to be compared, which are a random part, it is the share that is
        known, as if there were one more that is not: of few samples, that part is very small. One or two that are known
        may be so by chance, unless there is no other.
        """
        if self.is_all:
            return 1.0
        if len(self._found) < FEWEST_FOUND and (self._new or not self._found):
            return 0.0
        unseen = int(self._again + self._new < self.n_samples)
        return self._again / (self._again + self._new + unseen)


def content_hashes(logits: NDArray[Any]) -> Keys:
    """A hash of each sample's logits, in any precision that holds them."""
    return np.asarray(row_hashes(logits) >> np.uint64(1))  # of 63 bits, which fit into any integer


def total_of(hashes: Keys) -> int:
    """The sum of hashes, which does not depend on their order."""
    return int(hashes.sum(dtype=np.uint64)) % MODULUS
