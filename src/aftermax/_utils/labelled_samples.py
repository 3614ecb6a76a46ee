"""Labelled samples as users pass them, checked once on the way in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from aftermax._utils.labels import encode_labels
from aftermax._utils.large import predicted_columns
from aftermax._utils.misaligned_columns import warn_if_misaligned
from aftermax._utils.one_logit import is_one_logit
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import as_logits, compute_ready, kept_if_many


class LabelledSamples(NamedTuple):
    """Finite logits, the labels as column numbers, and the class of each column.

    The logits are float64, unless they are many and those who asked for them can do with float16 and float32, too.
    """

    logits: NDArray[Any]
    codes: NDArray[np.int64]
    classes: NDArray[Any]


def labelled_samples(
    logits: ArrayLike,
    labels: ArrayLike,
    classes: ArrayLike | None = None,
    estimator: BaseEstimator | None = None,
    *,
    any_precision: bool = False,
    stacklevel: int = 4,
) -> LabelledSamples:
    """Check logits and labels together; see :func:`~aftermax._utils.validation.as_logits` for ``estimator``.

    With ``any_precision``, logits that are many are not copied: see :mod:`aftermax._utils.large`.

    With the default ``stacklevel``, warnings point at the line that called the caller.
    """
    given = as_logits(logits, estimator, stacklevel=stacklevel)
    checked = kept_if_many(given) if any_precision else compute_ready(given)
    headings, one_logit = getattr(logits, "columns", None), is_one_logit(logits)
    names, codes = encode_labels(labels, checked.shape, classes, headings, one_logit=one_logit)
    predicted = predicted_columns(checked)
    if not warn_if_misaligned(predicted, codes, names, stacklevel=stacklevel):
        warn_if_unpredicted(predicted, codes, names, stacklevel=stacklevel)
    return LabelledSamples(checked, codes, names)
