"""Statistics that add: of two parts of the samples, the sum is that of both together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray


class Addable(Protocol):
    """What can be added up over parts of the samples."""

    def __add__(self, other: Any) -> Any: ...


Statistic = TypeVar("Statistic", bound=Addable)
# Of a function of some samples (their logits in float64, and their column numbers), the sum over all parts of them.
Summed = Callable[[Callable[[NDArray[np.float64], NDArray[np.int64]], Statistic]], Statistic]


class Sums:
    """A dataclass of statistics that add, each of which is added."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums with what rounding took from them, so that neither order nor parts have an effect (Knuth's two-sum).

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.adding import ExactSums
    >>> parts = [ExactSums.of(np.array([value])) for value in (1e16, 1.0, -1e16)]
    >>> (parts[0] + parts[1] + parts[2]).values, (parts[0] + parts[2] + parts[1]).values
    (array([1.]), array([1.]))
    """

    total: NDArray[np.float64]
    error: NDArray[np.float64]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """Values that nothing was lost of."""
        return cls(values, np.zeros_like(values))

    def __add__(self, other: ExactSums) -> ExactSums:
        total = self.total + other.total
        virtual = total - self.total
        lost = (self.total - (total - virtual)) + (other.total - virtual)
        return ExactSums(total, self.error + other.error + lost)

    def __getitem__(self, which: Any) -> ExactSums:
        return ExactSums(self.total[which], self.error[which])

    def reshaped(self, shape: tuple[int, ...]) -> ExactSums:
        """The same sums in another shape."""
        return ExactSums(self.total.reshape(shape), self.error.reshape(shape))

    @property
    def values(self) -> NDArray[np.float64]:
        """Rounded once."""
        return np.asarray(self.total + self.error)
