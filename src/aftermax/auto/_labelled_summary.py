"""What an estimator keeps of its labelled samples, by which it can be adapted to other class proportions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aftermax._priors.labelled import LabelledSummary
from aftermax._residual.samples import Samples
from aftermax._utils.large import MANY_CLASSES


def summary_of(
    probabilities: NDArray[np.float64] | None,
    samples: Samples,
    held_out: NDArray[np.intp],
    groups: NDArray[np.int64] | None,
) -> LabelledSummary | None:
    """Of out-of-fold probabilities, if there are any; ``held_out`` are the samples to use, in content order."""
    if probabilities is None or probabilities.shape[1] > MANY_CLASSES or not len(held_out):
        return None
    some = None if groups is None else groups[held_out]
    return LabelledSummary.of(probabilities[held_out], samples.codes[held_out], samples.weights[held_out], some)
