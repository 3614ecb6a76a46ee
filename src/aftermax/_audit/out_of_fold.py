"""Out-of-fold predictions of any head: its own, if it has them, or by cross-validation."""

from __future__ import annotations

from inspect import signature
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from aftermax._utils.folds import Split, sample_keys
from aftermax._utils.indexing import select_samples
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.splits import given_splits, random_splits


class Samples(NamedTuple):
    """Labelled samples of an audit, checked."""

    table: Any  # the logits as they were passed: heads may select columns by name
    logits: NDArray[Any]
    codes: NDArray[np.int64]
    names: NDArray[Any]
    metadata: dict[str, NDArray[Any]]  # features, weights and groups for the head's fit, where there are any
    groups: NDArray[np.int64] | None  # groups and copies, held out together


class Predicted(NamedTuple):
    """A head fitted on all samples, its out-of-fold predictions, and which samples were held out."""

    head: Any
    codes: NDArray[np.int64]
    mask: NDArray[np.bool_]


def out_of_fold(head: Any, samples: Samples, cv: Any, rng: np.random.Generator) -> Predicted:
    """Fit the head on all samples, and predict each by a head that was fitted without it."""
    unfitted = _with_classes(head, samples.names)
    known = {name: values for name, values in samples.metadata.items() if name in signature(head.fit).parameters}
    names, codes = samples.names, samples.codes

    def fit(some: NDArray[np.intp]) -> Any:
        metadata = {name: values[some] for name, values in known.items()}
        return clone(unfitted).fit(select_samples(samples.table, some), names[codes[some]], **metadata)

    everything = np.arange(len(codes))
    fitted = clone(unfitted).fit(samples.table, names[codes], **known)
    if hasattr(fitted, "held_out_"):
        mask = getattr(fitted, "held_out_mask_", np.ones(len(codes), dtype=bool))
        if getattr(fitted, "fell_back_", False):  # it predicts as softmax does; held_out_ is of what it rejected
            return Predicted(fitted, predicted_columns(samples.logits), mask)
        return Predicted(fitted, _as_codes(fitted.held_out_, everything, names, head), mask)
    predicted, mask = predicted_columns(samples.logits), np.zeros(len(codes), dtype=bool)
    for train, test in _splits(samples, cv, rng):
        mask[test] = True
        if np.ptp(codes[train]) > 0:
            extra = {name: samples.metadata[name][test] for name in ("features",) if name in known}
            by_head = fit(train).predict(select_samples(samples.table, test), **extra)
            predicted[test] = _as_codes(by_head, test, names, head)
    return Predicted(fitted, predicted, mask)


def _splits(samples: Samples, cv: Any, rng: np.random.Generator) -> list[Split]:
    if isinstance(cv, Integral):
        return random_splits(sample_keys(samples.logits, samples.groups), samples.groups, int(cv), 1, rng)
    return given_splits(cv, samples.logits, samples.names[samples.codes], samples.metadata.get("groups"))


def _with_classes(head: Any, names: NDArray[Any]) -> Any:
    """Clone the head, and set ``classes`` of it and its parts where they are not set: a fold may lack a class."""
    copy = clone(head)
    unset = [name for name, value in copy.get_params().items() if name.split("__")[-1] == "classes" and value is None]
    copy.set_params(**dict.fromkeys(unset, names))
    return copy


def _as_codes(predicted: ArrayLike, samples: NDArray[np.intp], names: NDArray[Any], head: Any) -> NDArray[np.int64]:
    try:
        return label_codes(predicted, len(samples), names)
    except ValueError as error:
        raise ValueError(f"{type(head).__name__} does not predict classes of these labels: {error}") from error
