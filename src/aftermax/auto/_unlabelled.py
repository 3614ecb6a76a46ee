"""A warning about classes without labels that softmax often predicts, and the head no more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import listed, percent

OFTEN = 0.02  # the share of samples that softmax predicts to be of such classes, from which it is warned of
KEPT = 0.5  # unless the head still predicts so much of it


def warn_of_unlabelled(
    by_softmax: NDArray[np.int64],
    by_head: NDArray[np.int64],
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    stacklevel: int = 3,
) -> None:
    """Warn if the head hardly predicts the classes that no sample has, although softmax often does."""
    missing = np.setdiff1d(np.arange(len(classes)), codes)
    before, after = (float(np.isin(predicted, missing).mean()) for predicted in (by_softmax, by_head))
    if before < OFTEN or after >= KEPT * before:
        return
    names = listed(classes[missing].tolist())
    warnings.warn(
        f"No sample has the label {names}, but softmax predicts that for {percent(before)} of them, the head for "
        f"{percent(after)}: it takes such classes for absent. If they occur among new samples, label some, or pass "
        "keep_unlabelled=True (--keep-unlabelled on the command line).",
        UserWarning,
        stacklevel=stacklevel,
    )
