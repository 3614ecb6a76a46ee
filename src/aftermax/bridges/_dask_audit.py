"""Audits of dask arrays. Needs the ``dask`` extra."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._audit.from_counts import Outcomes, audit_with_counts
from aftermax._audit.result import Audit
from aftermax._audit.run import audit as audit_in_memory
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax.auto.head import AutoHead
from aftermax.bridges._dask_chunks import LabelledChunks
from aftermax.bridges._dask_samples import drawn_samples, each_warning_once, in_memory, part_message
from aftermax.sph.classifier_cv import SPHClassifierCV

if TYPE_CHECKING:
    from dask.array import Array

    from aftermax._heads.protocol import FittedHead

Codes = NDArray[np.int64]


@each_warning_once
def audit(
    logits: Array,
    labels: Array,
    head: Any = None,
    *,
    features: Array | None = None,
    classes: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> Audit:
    """Is there accuracy left on the table? As :func:`aftermax.audit`, over all samples of dask arrays.

    Up to as many samples as :func:`fit` takes for AutoHead, the result is that of :func:`aftermax.audit`. Of more, the
    head is fitted and proven on samples that are drawn at random: the gain, its intervals and its p-value are theirs.
    What it changes is counted over all samples, though: errors, wins and losses, of each class and each pair. The
    samples that were drawn are predicted out-of-fold, and all others by the head, which has not seen them.

    Parameters
    ----------
    logits : dask array of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, on labelled samples that it was not trained on.
    labels : dask array of shape (n_samples,)
        The true classes.
    head : AutoHead or SPHClassifierCV, default=None
        The head that would replace softmax; :class:`~aftermax.AutoHead` if None. It is not changed.
    features : dask array of shape (n_samples, n_features), default=None
        For AutoHead.
    classes : array-like of shape (n_classes,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    random_state : int, RandomState instance or None, default=0
        Seed of AutoHead, if you pass no head.

    Returns
    -------
    Audit
        Print it. ``head`` is fitted on the drawn samples. ``risk_coverage`` is about these too.
    """
    head = AutoHead(random_state=random_state) if head is None else head
    if not isinstance(head, AutoHead | SPHClassifierCV):
        raise TypeError(
            f"{type(head).__name__} has no out-of-fold predictions of its own: pass an AutoHead or SPHClassifierCV, or "
            "audit a part of the samples in memory, with aftermax.audit."
        )
    given = head.classes if classes is None else classes
    chunks = LabelledChunks(logits, labels, given, features)
    kept = drawn_samples(chunks, type(head).__name__)
    samples = in_memory(kept, chunks)
    result = audit_in_memory(
        samples.logits,
        samples.labels,
        head,
        features=samples.features,
        classes=chunks.classes,
        random_state=random_state,
    )
    if kept.are_all:
        return result
    fitted = result.head.fitted_head_
    everywhere: Outcomes = chunks.summed(partial(_outcomes, fitted), features=True)
    features_of_kept = () if kept.features is None else (kept.features,)
    seen = _outcomes(fitted, kept.logits, kept.codes, *features_of_kept)
    softmax = predicted_columns(kept.logits)
    held_out = softmax
    if not getattr(result.head, "fell_back_", False):  # else held_out_ is of what it rejected
        held_out = label_codes(result.head.held_out_, len(kept.codes), chunks.classes)
    out_of_fold = Outcomes.of(kept.codes, softmax, held_out, len(chunks.classes))
    messages = (*result.warnings, part_message(kept, type(head).__name__))
    return replace(audit_with_counts(result, everywhere - seen + out_of_fold), warnings=messages)


def _outcomes(fitted: FittedHead, logits: NDArray[np.float64], codes: Codes, *features: NDArray[Any]) -> Outcomes:
    predicted = fitted.predict([logits, *features])
    return Outcomes.of(codes, predicted_columns(logits), predicted, logits.shape[1])
