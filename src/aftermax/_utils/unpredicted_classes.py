"""A warning about classes with many labelled samples that softmax never predicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.labels import NAME_COLUMNS
from aftermax._utils.text import listed
from aftermax._utils.warned import warn

# How many samples of a class are many: a weak model may well miss one of several classes with fewer, whereas a binary
# model that misses one predicts the other for every sample. A class is rare, and not warned of, if it has less than
# LEAST_SHARE of all samples and less than half of an equal share.
MANY_SAMPLES, MANY_OF_TWO_CLASSES = 100, 30
LEAST_SHARE = 0.05


def warn_if_unpredicted(
    predicted: NDArray[np.int64], codes: NDArray[np.int64], classes: NDArray[Any], stacklevel: int = 3
) -> None:
    """Warn if some classes have many labelled samples, but no sample has its largest logit there.

    The message has no counts, so that it is the same in each fold of a cross-validation.
    """
    n_classes = len(classes)
    least = MANY_OF_TWO_CLASSES if n_classes == 2 else MANY_SAMPLES
    many = max(least, min(LEAST_SHARE, 0.5 / n_classes) * len(codes))
    labelled, times_predicted = (np.bincount(values, minlength=n_classes) for values in (codes, predicted))
    never = classes[(labelled >= many) & (times_predicted == 0)]
    if len(never):
        warn(
            f"Softmax never predicts {listed(never.tolist())}, although many samples have this label. Check that the "
            "column is not masked out, constant or on another scale than the others, and that a single logit has its "
            f"threshold at 0. If the column belongs to another class, {NAME_COLUMNS}.",
            stacklevel=stacklevel,
        )
