"""scikit-learn's ``class_weight``, as a weight for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.labels import listed
from aftermax._utils.validation import check_number


def weights_by_class(
    class_weight: object, codes: NDArray[np.int64], classes: NDArray[Any], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each sample's class.

    scikit-learn's own ``compute_sample_weight`` counts samples; "balanced" here balances their weights.
    """
    n_classes = len(classes)
    by_class = np.ones(n_classes)
    if class_weight == "balanced":
        totals = np.bincount(codes, sample_weight, minlength=n_classes)
        by_class = totals.sum() / (np.count_nonzero(totals) * np.where(totals > 0, totals, 1.0))
    elif isinstance(class_weight, dict):
        names = classes.tolist()
        unknown = [name for name in class_weight if name not in names]
        if unknown:
            raise ValueError(f"class_weight names {listed(unknown)}, not among the classes ({listed(names)}).")
        by_class = np.array([check_number("class_weight", class_weight.get(name, 1.0), 0.0) for name in names])
    elif class_weight is not None:
        raise ValueError(f'class_weight={class_weight!r} is not known: use "balanced", a dict or None.')
    return np.asarray(by_class[codes])
