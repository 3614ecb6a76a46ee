"""Folds for cross-validation, and an order of the samples that does not depend on the order in which they were passed.

A fold follows from what a sample *is*, not from where it stands: the folds are the same if the samples are shuffled, if
the values change in their last digits (as between file formats), or if a constant is added to all logits of a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.large import MANY_CLASSES, fill_from_chunks, in_float64, samples_per_chunk, two_largest
from aftermax._utils.threads import over_ranges

Split = tuple[NDArray[np.intp], NDArray[np.intp]]  # the samples to fit on, and those that are held out
Keys = NDArray[np.uint64]

# 2^64 over the golden ratio: Knuth, The Art of Computer Programming, vol. 3, 6.4.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
CELLS = 8  # to the typical margin: logits are rounded to an eighth of it before they are hashed
VALUES_PER_HASHING = 2**20  # at a time, where rows are hashed side by side
DEPTH = 16  # typical margins below the largest: further below, all logits are the same


# ---- keys: random numbers that belong to a sample --------------------------------------------------------------------


def sample_keys(logits: NDArray[Any], groups: NDArray[np.int64] | None = None) -> Keys:
    """A pseudorandom number for each sample that follows from its logits; samples of one group share one.

    The logits are rounded to cells before they are hashed, so that a change in the last digits changes the key of
    hardly any sample. Samples that share a cell are told apart by their rank within it.
    """
    largest, second = two_largest(logits)
    margins = fill_from_chunks(np.empty(len(logits)), logits, lambda some: np.median(_below(some), axis=1))
    # A power of two, so that the cells do not move if the typical margin does.
    margin = float(np.median(margins))
    cell = 2.0 ** np.round(np.log2(margin / CELLS)) if margin > 0 else 1.0

    def hash_cells(some: NDArray[Any]) -> Keys:
        cells = np.rint(np.minimum(_below(some), DEPTH * margin) / cell).astype(np.int64)
        # A sum, so that the order of the classes has no effect.
        return np.asarray(_mixed(cells.astype(np.uint64)).sum(axis=1, dtype=np.uint64))

    hashed = fill_from_chunks(np.empty(len(logits), dtype=np.uint64), logits, hash_cells)
    keys = _mixed(hashed + _ranks_within(hashed, largest - second, largest))
    if groups is None:
        return keys
    first = np.full(int(groups.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(first, groups, keys)
    return np.asarray(first[groups])


def _below(some: NDArray[Any]) -> NDArray[np.float64]:
    """How far each logit is below its sample's largest."""
    values = in_float64(some)
    return np.asarray(values.max(axis=1, keepdims=True) - values)


def _mixed(values: Keys) -> Keys:
    """Scramble the bits (the finaliser of SplitMix64: G. Steele, D. Lea, C. Flood, 2014)."""
    values = (values + GOLDEN) & np.uint64(0xFFFFFFFFFFFFFFFF)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _ranks_within(cells: Keys, *values: NDArray[np.float64]) -> Keys:
    """The rank of each sample among those of its cell, by these values."""
    order = np.lexsort((*reversed(values), cells))
    numbers = np.arange(len(cells), dtype=np.uint64)
    begins = np.concatenate([[True], cells[order][1:] != cells[order][:-1]])
    out = np.empty(len(cells), dtype=np.uint64)
    out[order] = numbers - np.maximum.accumulate(np.where(begins, numbers, 0))
    return out


def drawing_keys(hashes: Keys) -> Keys:
    """Pseudorandom numbers by which samples are drawn, those with the smallest: the same wherever a sample stands.

    Equal samples have equal hashes, and would be drawn together. So all but the first of them get other numbers, which
    depend on all of these samples, but not on their order.
    """
    times = _ranks_within(hashes)
    others = _mixed(hashes ^ _mixed(times + hashes.sum(dtype=np.uint64)))
    return np.asarray(np.where(times == 0, _mixed(hashes), others))


def keyed_uniform(keys: Keys, salt: int) -> NDArray[np.float64]:
    """A uniform random number in (0, 1) for each key; other ones with another salt."""
    salted = _mixed(keys ^ _mixed(np.array([salt], dtype=np.uint64)))
    return ((salted >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def keyed_folds(keys: Keys, folds: int, salt: int) -> NDArray[np.int64]:
    """Assign each key to one of the folds at random; folds are of about equal size, and none may be empty.

    The folds are not stratified. With stratified folds the classes outside of a fold are as frequent as within, which
    those of new samples are not: a bias for each class then seems to gain more than it does.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.folds import keyed_folds
    >>> folds = keyed_folds(np.arange(1000, dtype=np.uint64), 5, salt=0)
    >>> sorted(set(folds.tolist())), bool((np.bincount(folds) > 150).all())
    ([0, 1, 2, 3, 4], True)
    """
    out = (keyed_uniform(keys, salt) * folds).astype(np.int64)
    if len(np.unique(out)) < min(2, len(np.unique(keys))):  # few keys, all in one fold
        out = np.unique(keys, return_inverse=True)[1] % 2
    return np.asarray(out)


def group_folds(groups: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Assign each group to one of the folds: in random order, each to the fold that has the fewest samples so far.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.folds import group_folds
    >>> np.bincount(group_folds(np.array([0, 0, 1, 1, 2, 2]), 3, np.random.default_rng(0)))
    array([2, 2, 2])
    """
    sizes = np.bincount(groups)
    filled = np.zeros(min(folds, len(sizes)), dtype=np.int64)
    fold_of = np.empty(len(sizes), dtype=np.int64)
    for group in rng.permutation(len(sizes)):
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return np.asarray(fold_of[groups])


def splits_of(folds: NDArray[np.int64]) -> list[Split]:
    """The samples outside of each fold, and those within."""
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]


# ---- stratified folds ------------------------------------------------------------------------------------------------


def stratified_folds(codes: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Assign each sample to one of the folds of a stratified k-fold cross-validation (Kohavi, 1995).

    The shuffled samples are dealt to the folds in turn, one class after the other. So each class is spread as evenly as
    possible, and the sizes of the folds differ by at most one. Unlike scikit-learn's ``StratifiedKFold``, this neither
    warns of nor refuses classes with fewer samples than folds. They are for choosing, not for proving: see
    :func:`keyed_folds`.

    References
    ----------
    R. Kohavi (1995). A study of cross-validation and bootstrap for accuracy estimation and model selection. IJCAI.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.folds import stratified_folds
    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> folds = stratified_folds(codes, 3, np.random.default_rng(0))
    >>> sorted(folds[codes == 0].tolist()), sorted(folds[codes == 1].tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    shuffled = rng.permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    out = np.empty(len(codes), dtype=np.int64)
    out[by_class] = np.arange(len(codes)) % folds
    return out


def ranked_folds(codes: NDArray[np.int64], order: NDArray[np.intp], folds: int) -> NDArray[np.int64]:
    """Stratified folds without chance: in the given order, the samples of each class are dealt to the folds in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.folds import ranked_folds
    >>> ranked_folds(np.array([0, 0, 1, 1, 1]), np.arange(5), 2)
    array([0, 1, 0, 1, 0])
    """
    by_class = order[np.argsort(codes[order], kind="stable")]
    counts = np.bincount(codes)
    out = np.empty(len(codes), dtype=np.int64)
    out[by_class] = (np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)) % folds
    return out


# ---- order -----------------------------------------------------------------------------------------------------------


def content_order(
    logits: NDArray[Any], codes: NDArray[np.int64], features: NDArray[np.float64] | None = None
) -> NDArray[np.intp]:
    """Return indices that sort the samples by their content, so that results do not depend on the order of the samples.

    The first key is the margin between the largest and the second largest logit. It changes neither if a constant is
    added to all logits nor if the classes are reordered. Ties are broken by a hash of the logits relative to the
    largest, then by the largest, and then by a hash of the features.
    """
    largest, second = two_largest(logits)
    keys = [largest, row_hashes(logits, codes.astype(np.uint64), relative_to=largest), largest - second]
    return np.lexsort(keys if features is None else [row_hashes(features), *keys])


def row_hashes(values: NDArray[Any], start: Keys | None = None, relative_to: NDArray[np.float64] | None = None) -> Keys:
    """A hash of the exact values of each row: equal rows have equal hashes, in any precision that holds them.

    With ``relative_to``, a number for each row, it is of the differences from it.
    """
    hashed = np.zeros(len(values), dtype=np.uint64) if start is None else start.copy()

    def work(first: int, last: int) -> None:
        part = in_float64(values[first:last])
        part = part + 0.0 if relative_to is None else part - relative_to[first:last, None] + 0.0  # minus zero is zero
        hash_rows(part.view(np.uint64), hashed[first:last])

    many = values.shape[1] > MANY_CLASSES
    hash_rows = _hash_row_by_row() if many else _hash_column_by_column
    over_ranges(work, len(values), samples_per_chunk(values.shape[1], None if many else VALUES_PER_HASHING))
    return hashed


def _hash_column_by_column(bits: Keys, hashed: Keys) -> None:
    """Of all rows side by side."""
    for column in np.ascontiguousarray(bits.T):
        hashed ^= column
        hashed *= GOLDEN
        hashed ^= hashed >> np.uint64(32)


def _hash_row_by_row() -> Callable[[Keys, Keys], None]:
    """The same with a compiled loop, which takes less time with many columns."""
    from aftermax._utils.hash_kernels import hash_rows

    return cast("Callable[[Keys, Keys], None]", hash_rows)
