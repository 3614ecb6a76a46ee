"""What a head is fitted on, and tested on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Samples(NamedTuple):
    """A network's logits for some samples, their labels, and its last hidden layer where that is known."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]
    features: NDArray[np.float32] | None = None

    def first(self, count: int) -> Samples:
        """The first samples only."""
        features = None if self.features is None else self.features[:count]
        return Samples(self.logits[:count], self.labels[:count], features)
