"""Out-of-fold probabilities of any head: its own, if it has them, or by cross-validation."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from aftermax._heads.estimator import HeadEstimator
from aftermax._heads.protocol import FittedHead
from aftermax._heads.softmax import SoftmaxHead
from aftermax._utils.folds import Split
from aftermax._wrapped.classifier import ClassifierHead


class HeadSamples(NamedTuple):
    """Labelled samples as a head is fitted on them."""

    logits: NDArray[Any]
    codes: NDArray[np.int64]
    classes: NDArray[Any]
    metadata: dict[str, NDArray[Any]]  # features, sample_weight and groups, where there are any


class HeldOut(NamedTuple):
    """A head fitted on all samples, and the probabilities that it gives samples that were held out."""

    estimator: Any
    fitted: FittedHead
    probabilities: NDArray[np.float64]
    mask: NDArray[np.bool_]  # which samples were held out


def held_out_probabilities(head: Any, samples: HeadSamples, splits: list[Split]) -> HeldOut:
    """Fit the head on all samples, and predict the probabilities of each by a head that was fitted without it."""
    unfitted = clone(head)
    if "classes" in unfitted.get_params(deep=False):
        unfitted.set_params(classes=samples.classes)
    known = {name: values for name, values in samples.metadata.items() if name in signature(head.fit).parameters}
    labels = samples.classes[samples.codes]
    estimator = clone(unfitted).fit(samples.logits, labels, **known)
    own = getattr(estimator, "held_out_proba_", None)
    if own is not None:
        mask = np.isfinite(own).all(axis=1)
        return HeldOut(estimator, _fitted_head(estimator, samples.classes), np.asarray(own), mask)
    probabilities, mask = np.full(samples.logits.shape, np.nan), np.zeros(len(labels), dtype=bool)
    for train, test in splits:
        fold: FittedHead = SoftmaxHead()
        if np.ptp(samples.codes[train]) > 0:
            some = {name: values[train] for name, values in known.items()}
            fold = _fitted_head(clone(unfitted).fit(samples.logits[train], labels[train], **some), samples.classes)
        features = [samples.metadata["features"][test]] if "features" in known else []
        probabilities[test] = fold.predict_proba([samples.logits[test], *features])
        mask[test] = True
    return HeldOut(estimator, _fitted_head(estimator, samples.classes), probabilities, mask)


def _fitted_head(estimator: Any, classes: NDArray[Any]) -> FittedHead:
    """What predicts: the fitted head of an estimator of aftermax, or a classifier as it is."""
    if isinstance(estimator, HeadEstimator):
        fitted: FittedHead = estimator.fitted_head_
        return fitted
    return ClassifierHead.of(estimator, classes)
