"""A warning about columns that seem to belong to other classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.labels import NAME_COLUMNS
from aftermax._utils.large import MANY_CLASSES
from aftermax._utils.text import listed
from aftermax._utils.warned import warn

# Columns seem to be in the wrong order if the accuracy is at most ALIGNED_ACCURACY and another order would add one of
# ACCURACY_GAINS, each with the least number of samples for each class, on average, that shows it.
ALIGNED_ACCURACY = 0.6
ACCURACY_GAINS = ((0.3, 20), (0.6, 10))
SAMPLES_OF_SWAPPED = 10  # of each class, to tell that some classes have each other's columns


def warn_if_misaligned(
    predicted: NDArray[np.int64], codes: NDArray[np.int64], classes: NDArray[Any], stacklevel: int = 3
) -> bool:
    """Warn if the columns seem to belong to other classes than these, and return whether they do.

    ``predicted`` are the columns of the largest logits, and ``codes`` those of the labels.

    They do if the accuracy of softmax is far below chance, or would be far better with the columns in another order; or
    if that is so for some classes, which have each other's columns. See :func:`best_order`.
    """
    n_classes, n_samples = len(classes), len(codes)
    right, sizes = (np.bincount(some, minlength=n_classes) for some in (codes[predicted == codes], codes))
    accuracy = right.sum() / n_samples
    if accuracy > ALIGNED_ACCURACY and np.count_nonzero((right < sizes / 2) & (sizes >= SAMPLES_OF_SWAPPED)) < 2:
        return False
    order, if_reordered = np.arange(n_classes), right
    may_gain = accuracy <= ALIGNED_ACCURACY and n_samples >= ACCURACY_GAINS[-1][1] * n_classes
    if may_gain or np.count_nonzero(_taken_for_another(predicted, codes, right, sizes)) >= 2:
        order, if_reordered = best_order(predicted, codes, n_classes)
    more, chance = int((if_reordered - right).sum()), n_samples / n_classes
    enough = any(more > gain * n_samples and n_samples >= least * n_classes for gain, least in ACCURACY_GAINS)
    swapped = _swapped(right, if_reordered, sizes, order)
    which, some = "the samples", np.ones(n_classes, dtype=bool)
    if accuracy <= ALIGNED_ACCURACY and enough:
        hint = f"it would be right on {if_reordered.sum() / n_samples:.0%} if the columns were in another order"
    elif accuracy <= ALIGNED_ACCURACY and chance - right.sum() > 6 * math.sqrt(chance):
        hint = f"chance alone would be right on {1 / n_classes:.0%}"
    elif swapped.any():
        which, some = f"the samples of {listed(classes[swapped].tolist())}", swapped
        hint = f"it would be right on {if_reordered[some].sum() / sizes[some].sum():.0%} if their columns were swapped"
    else:
        return False
    warn(
        f"The largest logit agrees with the label on only {right[some].sum() / sizes[some].sum():.0%} of {which}; "
        f"{hint}. Do the columns belong to the classes {listed(classes.tolist())}, in this order? If not, "
        f"{NAME_COLUMNS}.",
        stacklevel=stacklevel,
    )
    return True


def _taken_for_another(
    predicted: NDArray[np.int64], codes: NDArray[np.int64], right: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which classes might be swapped: one other class is predicted for more than half of its samples in addition."""
    cells, counts = np.unique((codes * len(sizes) + predicted)[codes != predicted], return_counts=True)
    most = np.zeros_like(sizes)
    np.maximum.at(most, cells // len(sizes), counts)
    return np.asarray((most - right > sizes / 2) & (sizes >= SAMPLES_OF_SWAPPED))


def _swapped(
    right: NDArray[np.int64], if_reordered: NDArray[np.int64], sizes: NDArray[np.int64], order: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which classes have each other's columns: in the best order, half of the samples of each are right in addition."""
    found = (if_reordered - right > sizes / 2) & (sizes >= SAMPLES_OF_SWAPPED)
    while (found & ~found[order]).any():  # the class whose column it has must be one of them
        found &= found[order]
    return np.asarray(found)


def best_order(
    predicted: NDArray[np.int64], codes: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The column of each class in the order that makes most predictions right, and how many of each class then are.

    It is a linear assignment problem on the confusion matrix (Kuhn, 1955). With many classes, only the pairs of classes
    that occur are looked at: an array of all pairs would be large, and nearly all of it zero.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.misaligned_columns import best_order
    >>> best_order(np.array([1, 1, 0, 2]), np.array([0, 0, 1, 2]), 3)
    (array([1, 0, 2]), array([2, 1, 1]))
    """
    cells = codes * n_classes + predicted
    if n_classes > MANY_CLASSES:
        found, counts = np.unique(cells, return_counts=True)
        return _best_order_of_pairs(found, counts, n_classes)
    from scipy.optimize import linear_sum_assignment

    confusion = np.bincount(cells, minlength=n_classes**2).reshape(n_classes, n_classes)
    order = linear_sum_assignment(-confusion)[1]
    return order, confusion[np.arange(n_classes), order]


def _best_order_of_pairs(
    cells: NDArray[np.int64], counts: NDArray[np.int64], n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The same of a sparse confusion matrix. A class that gets no column keeps its own, and none of it is right."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    true, taken_for = np.divmod(cells, n_classes)
    own = np.arange(n_classes)
    # A matching must be full: each class has a column more, with none right. Costs are positive, as zeros mean no edge.
    rows, columns = np.concatenate([true, own]), np.concatenate([taken_for, n_classes + own])
    costs = counts.max() + 1 - np.concatenate([counts, np.zeros_like(own)])
    graph = coo_array((costs, (rows, columns)), shape=(n_classes, 2 * n_classes)).tocsr()
    order = np.asarray(min_weight_full_bipartite_matching(graph)[1], dtype=np.intp)
    some = order < n_classes
    place = np.minimum(np.searchsorted(cells, own * n_classes + order), len(cells) - 1)
    return np.where(some, order, own), np.where(some, counts[place], 0)
