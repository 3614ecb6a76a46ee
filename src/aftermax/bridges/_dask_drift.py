"""Drift of the samples in dask arrays. Needs the ``dask`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from aftermax._check.drift import Drift, drift_of_sums
from aftermax._heads.estimator import HeadEstimator
from aftermax.bridges._dask_chunks import reference_sums

if TYPE_CHECKING:
    from dask.array import Array


def drift(head: HeadEstimator, logits: Array) -> Drift:
    """Do the samples of a dask array look like those that a head was fitted on? By their logits, without labels.

    It is the ``drift`` of :func:`aftermax.check`, to rounding, from one pass over all samples.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted, or loaded from a file.
    logits : dask array of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax.
    """
    check_is_fitted(head)
    if head.reference_ is None:
        raise ValueError(
            "This head is from an older file, which does not say what its samples looked like: fit it again."
        )
    sums = reference_sums(logits)
    if len(sums.predicted) != len(head.classes_):
        raise ValueError(
            f"logits have {len(sums.predicted)} columns but the head has {len(head.classes_)} classes: pass the logits "
            "of the model it was fitted on, one column per class in the order of classes_."
        )
    return drift_of_sums(head.reference_, sums, head.classes_)
