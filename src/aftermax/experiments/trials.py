"""A trial: the labelled rows that a head may be fitted on, and the rows on which it is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """What a network says about some rows, their labels, and its last hidden layer where that is known."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]
    features: NDArray[np.float32] | None = None

    def first(self, count: int) -> Rows:
        """The first rows only."""
        return Rows(self.logits[:count], self.labels[:count], None if self.features is None else self.features[:count])


@dataclass(frozen=True)
class Trial:
    """A network, a number of labelled rows, and the world that the rows are from."""

    family: str  # "vmnist", "shift-mnist", "shift-cifar10" or "files"
    name: str  # within its family: what the network was trained on, a shift and its strength, or a file
    network: int
    rows: int  # to fit on: the first so many validation rows
    load: Callable[[], tuple[Rows, Rows]]  # all validation rows and the test rows

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What tells it from all others."""
        return self.family, self.name, self.network, self.rows

    def split(self) -> tuple[Rows, Rows]:
        """The rows to fit on, and the test rows."""
        validation, test = self.load()
        return validation.first(self.rows), test
