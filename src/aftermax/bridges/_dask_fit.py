"""Heads fitted on dask arrays. Needs the ``dask`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from aftermax.bridges._dask_chunks import LabelledChunks
from aftermax.sph.chunked_fit import fit_sph_over_chunks
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.hyperparameters import HYPERPARAMETERS, check_hyperparameters

if TYPE_CHECKING:
    from dask.array import Array


def fit(estimator: Any, logits: Array, labels: Array) -> Any:
    """Fit a head on dask arrays, which may be larger than memory, where they are.
    """
    return _fit_sph(estimator, logits, labels)


def _fit_sph(estimator: SPHClassifier, logits: Array, labels: Array) -> SPHClassifier:
    hyperparameters = {name: getattr(estimator, name) for name in HYPERPARAMETERS}
    check_hyperparameters(hyperparameters)
    chunks = LabelledChunks(logits, labels, estimator.classes)
    head: SPHClassifier = clone(estimator)
    head.classes_, head.reference_ = chunks.classes, chunks.reference
    head.n_features_in_ = 1 if chunks.one_logit else len(chunks.classes)
    head.fitted_head_ = fit_sph_over_chunks(chunks.summed, chunks.classes, hyperparameters)
    return head
