"""What fits of the multinomial log loss share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]  # (n_samples, n_classes): their softmax is the probabilities


def platt_smoothing(n_samples: int) -> float:
    """As in Platt scaling, 1 / (n + 2): so that a few samples without an error do not give certainty.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods",
    1999.
    """
    return 1.0 / (n_samples + 2)
