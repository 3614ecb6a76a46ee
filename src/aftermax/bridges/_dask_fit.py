"""Heads fitted on dask arrays. Needs the ``dask`` extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from aftermax.auto.head import AutoHead
from aftermax.auto.softmax import SoftmaxClassifier
from aftermax.bridges._dask_chunks import LabelledChunks
from aftermax.bridges._dask_samples import drawn_samples, each_warning_once, in_memory
from aftermax.sph.chunked_fit import fit_sph_over_chunks
from aftermax.sph.classifier import SPHClassifier
from aftermax.sph.classifier_cv import SPHClassifierCV
from aftermax.sph.hyperparameters import HYPERPARAMETERS, check_hyperparameters

if TYPE_CHECKING:
    from dask.array import Array

ESTIMATORS = (SPHClassifier, AutoHead, SPHClassifierCV, SoftmaxClassifier)
OF_SAMPLES = ("held_out_", "held_out_proba_", "held_out_mask_")  # attributes with a row for each sample


@each_warning_once
def fit(estimator: Any, logits: Array, labels: Array, *, features: Array | None = None) -> Any:
    """Fit a head on dask arrays, which may be larger than memory, on whatever scheduler dask uses.

    :class:`~aftermax.SPHClassifier` is fitted on all samples. What it needs of them are sums over chunks, so it is the
    head that its own ``fit`` gives in memory, to rounding. The logits are read six times, and nine times more for
    ``center="median"``: if the memory of all workers holds them, pass ``logits.persist()``.

    The other heads gain nothing from very many samples. They are fitted in memory on all of them up to 50,000 (with
    more than 100 classes, up to 5,000,000 logits but at least 10,000 samples; with more than 256 classes, 50,000,000
    logits), and are then those of their own ``fit``, bit for bit. Of more, that many are drawn at random, with a
    warning. The drawing follows from what the samples are, not from where they stand: chunks have no effect on it,
    unless samples are equal. :class:`~aftermax.SPHClassifierCV` chooses its hyperparameters by the drawn samples, and
    is then fitted on all.

    A worker that dies costs time and nothing else: its chunks are read and counted again.

    Parameters
    ----------
    estimator : SPHClassifier, AutoHead, SPHClassifierCV or SoftmaxClassifier
        It is not changed. An SPHClassifier with ``class_weight`` is refused.
    logits : dask array of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, for labelled samples that it was not trained on.
    labels : dask array of shape (n_samples,)
        The true classes. Their chunks may be others than those of the logits.
    features : dask array of shape (n_samples, n_features), default=None
        For :class:`~aftermax.AutoHead`.

    Returns
    -------
    estimator
        A copy, fitted. ``reference_``, by which :func:`~aftermax.check` notices drift, is that of all samples. It has
        no out-of-fold predictions (``held_out_`` and the like), as these would be about the drawn samples.

    Examples
    --------
    >>> import dask.array as da
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.dask import fit
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> logits, labels = (da.from_array(part, chunks=1000) for part in (scores.val_logits, scores.val_labels))
    >>> head = fit(SPHClassifier(), logits, labels)
    >>> in_memory = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> bool((head.predict(scores.test_logits) == in_memory.predict(scores.test_logits)).all())
    True
    """
    if not isinstance(estimator, ESTIMATORS):
        raise TypeError(
            f"{type(estimator).__name__} cannot be fitted on dask arrays: pass an SPHClassifier, AutoHead, "
            "SPHClassifierCV or SoftmaxClassifier, or fit it in memory."
        )
    if features is not None and not isinstance(estimator, AutoHead):
        raise TypeError(f"{type(estimator).__name__} takes no features: leave them out, or pass an AutoHead.")
    if isinstance(estimator, SPHClassifier):
        return _fit_sph(estimator, logits, labels)
    chunks = LabelledChunks(logits, labels, estimator.classes, features)
    head = _fit_drawn(estimator, chunks)
    for name in OF_SAMPLES:
        head.__dict__.pop(name, None)
    return head


def _fit_sph(estimator: SPHClassifier, logits: Array, labels: Array) -> SPHClassifier:
    hyperparameters = {name: getattr(estimator, name) for name in HYPERPARAMETERS}
    check_hyperparameters(hyperparameters)
    if estimator.class_weight is not None:
        raise ValueError(
            "class_weight changes no prediction of SPHClassifier, only its temperature, and is not taken into account "
            "on dask arrays: leave it out, or fit in memory."
        )
    chunks = LabelledChunks(logits, labels, estimator.classes)
    head: SPHClassifier = clone(estimator)
    head.classes_, head.reference_ = chunks.classes, chunks.reference
    head.n_features_in_ = 1 if chunks.one_logit else len(chunks.classes)
    head.fitted_head_ = fit_sph_over_chunks(chunks.summed, chunks.classes, hyperparameters)
    return head


def _fit_drawn(estimator: Any, chunks: LabelledChunks) -> Any:
    """Fitted on all samples, or on a random part of very many."""
    kept = drawn_samples(chunks, type(estimator).__name__)
    samples = in_memory(kept, chunks)
    head = clone(estimator).set_params(classes=chunks.classes)
    head.fit(samples.logits, samples.labels, **({} if samples.features is None else {"features": samples.features}))
    head.classes = estimator.classes
    if not kept.are_all:
        head.reference_ = chunks.reference
        if getattr(head, "class_weight", None) is None and getattr(head, "class_prior", None) is None:
            head.class_shares_ = kept.counts / kept.n_samples
        if isinstance(head, SPHClassifierCV):
            head.fitted_head_ = fit_sph_over_chunks(chunks.summed, chunks.classes, head.best_params_)
    return head
