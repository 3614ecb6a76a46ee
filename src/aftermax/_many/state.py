"""A head for many classes as plain values and arrays, for head files, and back with everything checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._heads.protocol import InputShape, State
from aftermax._many.class_means import ClassMeans
from aftermax._residual.head import ResidualHead
from aftermax._utils.untrusted import LARGEST, Arrays, count, fields, number

OWN = {"means_count", "means_weight"}


def to_state(residual: ResidualHead, means: ClassMeans, weight: float) -> State:
    """The residual head's, and the class means in three arrays."""
    values, arrays = residual.to_state()
    own: dict[str, NDArray[Any]] = {
        "means_unit_weights": means.unit_weights,
        "means_begins": means.begins,
        "means_classes": means.classes,
        "means_entries": means.entries,
    }
    return State({**values, "means_count": means.count, "means_weight": weight}, {**arrays, **own})


def from_state(values: Mapping[str, Any], arrays: Arrays, shape: InputShape) -> tuple[ResidualHead, ClassMeans, float]:
    """The residual head, the class means and their weight."""
    named = fields(dict(values), None, "the head")
    own = fields({name: named.pop(name) for name in OWN & set(named)}, OWN, "the note about class means")
    n_classes = len(shape.classes)
    begins = arrays.take("means_begins", (n_classes + 1,), np.int64)
    classes = arrays.take("means_classes", (None,), np.int32)
    means = ClassMeans(
        count(own["means_count"], "means_count", least=1),
        arrays.take("means_unit_weights", (n_classes,), np.float32, low=0.0),
        begins,
        classes,
        arrays.take("means_entries", (len(classes),), np.float32),
    )
    if means.count >= n_classes:
        raise ValueError(f"means_count is {means.count}, but there are {n_classes} classes")
    if begins[0] != 0 or begins[-1] != len(classes) or (np.diff(begins) < 0).any():
        raise ValueError("the array means_begins does not divide means_classes")
    if len(classes) and not 0 <= classes.min() <= classes.max() < n_classes:
        raise ValueError(f"the array means_classes names classes that are not among the {n_classes}")
    return (
        ResidualHead.from_state(named, arrays, shape),
        means,
        number(own["means_weight"], "means_weight", 0.0, LARGEST),
    )
