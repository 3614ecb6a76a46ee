"""Labelled samples as users pass them, checked once on the way in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from aftermax._utils.labels import encode_labels, warn_if_misaligned
from aftermax._utils.one_logit import is_one_logit
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import as_logits, compute_ready


class LabelledSamples(NamedTuple):
    """Finite logits in float64, the labels as column numbers, and the class of each column."""

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    classes: NDArray[Any]


def labelled_samples(
    logits: ArrayLike,
    labels: ArrayLike,
    classes: ArrayLike | None = None,
    estimator: BaseEstimator | None = None,
    *,
    stacklevel: int = 4,
) -> LabelledSamples:
    """Check logits and labels together; see :func:`~aftermax._utils.validation.as_logits` for ``estimator``.

    With the default ``stacklevel``, warnings point at the line that called the caller.
    """
    checked = compute_ready(as_logits(logits, estimator, stacklevel=stacklevel))
    headings, one_logit = getattr(logits, "columns", None), is_one_logit(logits)
    names, codes = encode_labels(labels, checked.shape, classes, headings, one_logit=one_logit)
    if not warn_if_misaligned(checked, codes, names, stacklevel=stacklevel):
        warn_if_unpredicted(checked, codes, names, stacklevel=stacklevel)
    return LabelledSamples(checked, codes, names)
