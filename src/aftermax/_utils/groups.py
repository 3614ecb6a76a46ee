"""Samples that belong together: groups that the user names (patients, sites, videos), and identical samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.copies import find_copies, share_in_sets
from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.warned import warn

WARN_SHARE = 0.1  # of samples that are identical to another one


def as_groups(groups: ArrayLike | None, n_samples: int) -> NDArray[np.int64] | None:
    """Return the group of each sample as a number from 0 on, or None."""
    if groups is None:
        return None
    values = np.asarray(as_plain(groups, "groups"))
    if values.shape != (n_samples,):
        raise ValueError(
            f"groups has shape {values.shape} but there are {n_samples} samples: pass one group for each sample, such "
            "as the patient that it is of."
        )
    missing = [n for n, name in enumerate(values.tolist()) if name is None or (name == name) is not True]
    if missing:
        raise ValueError(f"groups holds NaN or None at row {missing[0]}: give each sample its group.")
    if values.dtype == object:
        values = values.astype(np.str_)
    found, inverse = np.unique(values, return_inverse=True)
    if len(found) < 2:
        raise ValueError("groups holds one group only: at least two are needed to hold one of them out.")
    return np.asarray(inverse, dtype=np.int64)


def numbered_by_appearance(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same groups with numbers from 0, in the order in which they first appear.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.groups import numbered_by_appearance
    >>> numbered_by_appearance(np.array([7, 7, 2, 5, 2]))
    array([0, 0, 1, 2, 1])
    """
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def joined_groups(
    groups: NDArray[np.int64] | None,
    logits: NDArray[Any],
    codes: NDArray[np.int64],
    features: NDArray[np.float64] | None = None,
    *,
    stacklevel: int = 3,
) -> NDArray[np.int64] | None:
    """The groups, joined where they share identical samples; None if every sample stands for itself.

    Samples are identical if all their logits and features are. Copies are always held out together, and warned of if
    they are many. Scores that repeat by nature, as those of a decision tree, are not copies: see
    :mod:`aftermax._utils.copies`.
    """
    copies = find_copies(logits, codes, features)
    if copies is None:
        return groups
    share = share_in_sets(copies)
    if share >= WARN_SHARE and groups is None:
        warn(
            f"{share:.0%} of the samples are identical to another one: they are held out together, and counted once "
            "each set. If they are copies, drop them; if they are several samples of one patient, site or video, pass "
            "groups (--groups on the command line).",
            stacklevel=stacklevel,
        )
    return copies if groups is None else _components(groups, copies)


def groups_in_doubt(
    groups: NDArray[np.int64] | None,
    logits: NDArray[Any],
    codes: NDArray[np.int64],
    features: NDArray[np.float64] | None = None,
) -> NDArray[np.int64] | None:
    """As :func:`joined_groups`, for a promise: identical samples are copies unless their labels show that they are not.

    Without a warning.
    """
    copies = find_copies(logits, codes, features, in_doubt=True)
    if copies is None or groups is None:
        return groups if copies is None else copies
    return _components(groups, copies)


def _components(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The finest grouping that keeps the groups of both whole."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    edges = coo_array((np.ones(len(first)), (first, second + size)), shape=(nodes, nodes))
    _, labels = connected_components(edges, directed=False)
    return np.asarray(np.unique(labels[first], return_inverse=True)[1], dtype=np.int64)
