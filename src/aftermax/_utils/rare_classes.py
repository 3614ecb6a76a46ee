"""A warning about classes with few labelled samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.text import listed
from aftermax._utils.warned import warn

NO_SAMPLE = "No sample has the label"  # as the warning about classes without labels begins
FEW_SAMPLES = 10  # with fewer than this, a class hardly contributes to the estimated gain


def warn_if_rare(
    codes: NDArray[np.int64], classes: NDArray[Any], stacklevel: int = 3, *, unlabelled_too: bool = True
) -> None:
    """Warn if some classes have few labelled samples, or none. That most have few is no news, and no warning.

    Classes without any are left out unless ``unlabelled_too``: where another warning names them.
    """
    counts = np.bincount(codes, minlength=len(classes))
    rare = classes[(counts < FEW_SAMPLES) & (unlabelled_too | (counts > 0))]
    if 0 < len(rare) <= len(classes) / 2:
        warn(rare_classes_message(rare), stacklevel=stacklevel)


def rare_classes_message(rare: NDArray[Any]) -> str:
    """The warning about these classes."""
    return (
        f"Fewer than {FEW_SAMPLES} labelled samples of class {listed(rare.tolist())}. Samples of such a class may be "
        "lost to the others, and the estimated gain cannot show it. Label more of them, or look at the recall of each "
        "class."
    )
