"""What corrections are fitted on, and constants that several of them share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INNER_FOLDS = 5  # of out-of-fold scores, where there is no closed form for leave-one-out
TINY = 1e-12


class Samples(NamedTuple):
    """Labelled samples: logits, true classes as column numbers, weights, and features if there are any.

    Corrections are fitted on samples that :meth:`take` has selected in content order (``_utils/folds.py``): then their
    weights have mean 1, and every k-th of them is a fair part.
    """

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    features: NDArray[np.float64] | None = None

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Samples:
        """Some of the samples, with weights that have mean 1 again."""
        weights = self.weights[which]
        features = None if self.features is None else self.features[which]
        return Samples(self.logits[which], self.codes[which], weights / weights.mean(), features)

    @property
    def inputs(self) -> list[NDArray[np.float64]]:
        """What the corrections are functions of: the logits and, if there are any, the features."""
        return [self.logits] if self.features is None else [self.logits, self.features]
