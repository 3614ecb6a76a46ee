"""scikit-learn's ``class_weight``, and class proportions other than those of the samples, as sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.large import LARGEST_VALUE
from aftermax._utils.text import listed
from aftermax._utils.validation import as_numbers, as_weights, check_number

SHARES_TOLERANCE = 0.01  # the shares of the classes may be rounded


def total_weights(
    sample_weight: ArrayLike | None,
    class_weight: object,
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    class_prior: object = None,
) -> NDArray[np.float64]:
    """Each sample's weight times those of its class; at least two classes must have some."""
    weights = as_weights(sample_weight, len(codes))
    weights = weights * weights_by_prior(class_prior, codes, classes, weights)
    weights = weights * weights_by_class(class_weight, codes, classes, weights)
    if len(np.unique(codes[weights > 0])) < 2:
        raise ValueError(
            "All samples with non-zero sample_weight belong to one class: give positive weights to samples of at "
            "least two classes."
        )
    return weights


def weights_by_class(
    class_weight: object, codes: NDArray[np.int64], classes: NDArray[Any], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each sample's class.

    scikit-learn's own ``compute_sample_weight`` counts samples; "balanced" here balances their weights.
    """
    n_classes = len(classes)
    by_class = np.ones(n_classes)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, sample_weight, minlength=n_classes)
        by_class = totals.sum() / (np.count_nonzero(totals) * np.where(totals > 0, totals, 1.0))
    elif isinstance(class_weight, dict):
        names = classes.tolist()
        known = set(names)
        unknown = [name for name in class_weight if name not in known]
        if unknown:
            raise ValueError(f"class_weight names {listed(unknown)}, not among the classes ({listed(names)}).")
        by_class = np.array(
            [check_number("class_weight", class_weight.get(name, 1.0), 0.0, LARGEST_VALUE) for name in names]
        )
    elif class_weight is not None:
        raise ValueError(f'class_weight={class_weight!r} is not known: use "balanced", a dict or None.')
    return np.asarray(by_class[codes])


def weights_by_prior(
    class_prior: object, codes: NDArray[np.int64], classes: NDArray[Any], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights by which the classes have the shares of ``class_prior`` in place of their shares among the samples."""
    if class_prior is None:
        return np.ones(len(codes))
    shares = checked_shares(class_prior, classes)
    totals = np.bincount(codes, sample_weight, minlength=len(classes))
    missing = classes[(totals == 0) & (shares > 0)]
    if len(missing):
        raise ValueError(
            f"class_prior gives a share to {listed(missing.tolist())}, of which there are no samples: label some, or "
            "leave these classes out."
        )
    present = np.where(totals > 0, totals, 1.0)
    return np.asarray((shares / shares.sum() * totals.sum() / present)[codes])


def checked_shares(class_prior: object, classes: NDArray[Any]) -> NDArray[np.float64]:
    """The share of each class, as ``class_prior`` gives them, in the order of the columns."""
    names = classes.tolist()
    if isinstance(class_prior, str | bytes):
        balanced = ' For all classes to count the same, pass class_weight="balanced".' * (class_prior == "balanced")
        raise ValueError(
            f"class_prior={class_prior!r} is not possible: pass the share of each class, as a dict or in the order of "
            f"the columns.{balanced}"
        )
    if isinstance(class_prior, dict):
        known = set(names)
        unknown = [name for name in class_prior if name not in known]
        if unknown:
            raise ValueError(f"class_prior names {listed(unknown)}, not among the classes ({listed(names)}).")
        class_prior = [class_prior.get(name, 0.0) for name in names]
    values = as_numbers("class_prior", class_prior, "pass the share of each class, as a dict or in their order")
    if values.shape != (len(names),):
        raise ValueError(
            f"class_prior has shape {values.shape} but there are {len(names)} classes: pass the share of each, in the "
            "order of the columns, or a dict."
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"class_prior holds {values.min():g}: pass shares of at least 0 that sum to 1.")
    if abs(values.sum() - 1) > SHARES_TOLERANCE:
        raise ValueError(f"class_prior sums to {values.sum():g}: pass shares of at least 0 that sum to 1.")
    return values
