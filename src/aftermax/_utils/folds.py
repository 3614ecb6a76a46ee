"""Stratified folds, and an order of the samples that does not depend on the order in which they were passed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def stratified_folds(codes: NDArray[np.int64], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Assign each sample to one of the folds of a stratified k-fold cross-validation (Kohavi, 1995).

    The shuffled samples are dealt to the folds in turn, one class after the other. So each class is spread as evenly as
    possible, and the sizes of the folds differ by at most one. Unlike scikit-learn's ``StratifiedKFold``, this neither
    warns of nor refuses classes with fewer samples than folds.

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


def interleaved_folds(n_samples: int, folds: int) -> NDArray[np.int64]:
    """Every k-th sample in one fold: for samples that are in :func:`content_order`, whose neighbours are alike."""
    return np.arange(n_samples) % folds


def content_order(logits: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return indices that sort the samples by their content, so that folds do not depend on the order of the samples.

    The first key is the margin between the largest and the second largest logit. It changes neither if a constant is
    added to all logits nor if the classes are reordered. Ties are broken by a hash of the logits relative to the
    largest, and then by the largest.
    """
    second, largest = np.partition(logits, -2, axis=1)[:, -2:].T
    hashed = codes.astype(np.uint64)
    columns = np.ascontiguousarray(logits.T) - largest
    for bits in columns.view(np.uint64):
        # Multiplicative hashing by 2^64 over the golden ratio: Knuth, The Art of Computer Programming, vol. 3, 6.4.
        hashed = (hashed ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(32)
    return np.lexsort((largest, hashed, largest - second))
