"""Samples that belong together: groups that the user names (patients, sites, videos), and identical samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.folds import row_hashes
from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.large import predicted_columns, two_largest
from aftermax._utils.softmax import softmax
from aftermax._utils.warned import warn

WARN_SHARE = 0.1  # of samples that are identical to another one
COPIES_AGREE = 0.8  # share of the sets of identical samples with an error in which all labels agree, if they are copies
ENOUGH_SETS = 3  # with an error, to tell copies from scores that repeat by nature
MOST_COPIES, MOST_COPIES_SHARE = 5, 0.02  # of one sample, in number or as a share of all, where that cannot be told
HARDLY_ANY, NEARLY_ALL, COLUMNS_LOOKED_AT = 0.1, 0.9, 32  # to tell samples that were drawn again
FEW_SAMPLES = 10  # for each different one in the mean: scores that repeat by nature soon have more
LEAST_STEP, OFF_BY = 1e-4, 0.05  # of rounded probabilities and shares of votes, and by what part of a step they are off
CERTAIN, FAR = 1e-5, 11.0  # 1 less a probability that single precision hardly tells from 1, and its lead in logarithms


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
    they are many. Scores that repeat by nature, as those of a decision tree, are not copies: see :func:`_are_copies`.
    """
    copies = _copies(logits, codes, features)
    if copies is None:
        return groups
    share = _share_in_sets(copies)
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
    copies = _copies(logits, codes, features, in_doubt=True)
    if copies is None or groups is None:
        return groups if copies is None else copies
    return _components(groups, copies)


def _copies(
    logits: NDArray[Any],
    codes: NDArray[np.int64],
    features: NDArray[np.float64] | None,
    *,
    in_doubt: bool = False,
) -> NDArray[np.int64] | None:
    """A number for each set of identical samples; None if there are none, or if they are not copies."""
    hashes = row_hashes(logits)
    if features is not None:
        hashes = row_hashes(features, hashes)
    found, inverse = np.unique(hashes, return_inverse=True)
    if len(found) == len(hashes):
        return None
    if not _are_of_one_input(inverse, logits):
        in_doubt = in_doubt or _drawn_again(inverse, logits, codes)
        if not _are_copies(inverse, predicted_columns(logits) == codes, codes, in_doubt=in_doubt):
            return None
    return np.asarray(inverse, dtype=np.int64)


def _are_of_one_input(sets: NDArray[np.int64], logits: NDArray[Any]) -> bool:
    """Whether identical samples must be the same input, whatever their labels: an image that several people labelled.

    Then scores are numbers of many digits, which repeat only where whole samples do, and most samples are different.
    Scores that repeat by nature are on a grid, as votes or rounded probabilities, or few, as the leaves of a tree, or
    probabilities so close to 1 that single precision does not tell them apart.
    """
    _, first = np.unique(sets, return_index=True)
    if len(sets) > FEW_SAMPLES * len(first) or not _repeat_as_wholes(first, logits):
        return False
    if _share_in_sets(sets[~_are_certain(logits)]) < _share_in_sets(sets) / 2:
        return False
    return logits.shape[1] > 2 or not _is_grid(softmax(logits[first])[:, 1])


def _are_certain(logits: NDArray[Any]) -> NDArray[np.bool_]:
    """Which samples have logarithms of probabilities, one of them of (almost) 1."""
    largest, second = two_largest(logits)
    return np.asarray((np.abs(largest) <= CERTAIN) & (largest - second >= FAR))


def _repeat_as_wholes(first: NDArray[np.intp], logits: NDArray[Any]) -> bool:
    """Whether values repeat only where whole samples do; ``first`` is where each different sample comes first."""
    distinct = logits[:, :COLUMNS_LOOKED_AT][first]
    return max(len(np.unique(column)) for column in distinct.T) >= NEARLY_ALL * len(first)


def _is_grid(probabilities: NDArray[np.float64]) -> bool:
    """Whether probabilities are multiples of a step: rounded to a few digits, or so many votes of all."""
    values = np.unique(np.round(probabilities, 9))[1:-1]  # the ends may be clipped
    steps = np.diff(values)
    steps = steps[steps >= 0.99 * LEAST_STEP]
    if not len(steps):
        return len(values) < 2
    multiples = values / steps.min()
    return bool(np.mean(np.abs(multiples - np.rint(multiples)) <= OFF_BY) >= NEARLY_ALL)


def _are_copies(
    sets: NDArray[np.int64], right: NDArray[np.bool_], codes: NDArray[np.int64], *, in_doubt: bool = False
) -> bool:
    """Whether identical samples are copies of each other, and not just samples with the same scores.

    Copies have the same label; samples that a tree or a few votes give the same scores need not. Only sets with an
    error tell the two apart: where the model is right, all labels are the same anyway. With too few of these, large
    sets are hardly copies, or ``in_doubt`` they are; see :func:`_drawn_again`.
    """
    sizes = np.bincount(sets)
    erring = (sizes > 1) & (np.bincount(sets, ~right) > 0)
    if np.count_nonzero(erring) < ENOUGH_SETS:
        return in_doubt or bool(sizes.max() <= max(MOST_COPIES, MOST_COPIES_SHARE * len(sets)))
    low, high = np.full(len(sizes), codes.max()), np.zeros(len(sizes), dtype=np.int64)
    np.minimum.at(low, sets, codes)
    np.maximum.at(high, sets, codes)
    return bool(np.mean((low == high)[erring]) >= COPIES_AGREE)


def _drawn_again(sets: NDArray[np.int64], logits: NDArray[Any], codes: NDArray[np.int64]) -> bool:
    """Whether it looks as if samples of rare classes were drawn several times, to balance the classes.

    Then nearly all samples of some classes have copies, and hardly any of the others; and values repeat only where
    whole samples do. Scores that repeat by nature, as votes, rounded probabilities or the leaves of a tree, do so in
    every class.
    """
    repeated = (np.bincount(sets)[sets] > 1).astype(np.float64)
    shares = np.bincount(codes, repeated)[np.unique(codes)] / np.bincount(codes)[np.unique(codes)]
    if not (shares.min() <= HARDLY_ANY and shares.max() >= NEARLY_ALL):
        return False
    if ((shares > HARDLY_ANY) & (shares < NEARLY_ALL)).any():
        return False
    return _repeat_as_wholes(np.unique(sets, return_index=True)[1], logits)


def _share_in_sets(sets: NDArray[np.int64]) -> float:
    """The share of samples that are identical to another one."""
    return float(np.mean(np.bincount(sets)[sets] > 1)) if len(sets) else 0.0


def _components(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """The finest grouping that keeps the groups of both whole."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    edges = coo_array((np.ones(len(first)), (first, second + size)), shape=(nodes, nodes))
    _, labels = connected_components(edges, directed=False)
    return np.asarray(np.unique(labels[first], return_inverse=True)[1], dtype=np.int64)
