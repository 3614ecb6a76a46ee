"""From scikit-learn's ``cv`` to splits: the samples to fit on, and those that are held out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import Keys, Split, group_folds, keyed_folds, splits_of
from aftermax._utils.validation import check_count


def check_cv_parameter(cv: object) -> None:
    """Refuse what is neither a number of folds, nor a splitter, nor splits."""
    text = isinstance(cv, str | bytes)  # which has a method "split", too
    if cv is None or (not text and (hasattr(cv, "split") or isinstance(cv, Iterable))):
        return
    if not isinstance(cv, Integral):
        raise ValueError(
            f"cv={cv!r} is not possible: pass a number of folds, a splitter of scikit-learn such as GroupKFold(5), or "
            "a list of splits."
        )
    check_count("cv", cv, least=2)


def random_splits(
    keys: Keys, groups: NDArray[np.int64] | None, folds: int, repeats: int, rng: np.random.Generator
) -> list[Split]:
    """Every sample is held out once in each repeat, together with those of its group."""
    out: list[Split] = []
    for _ in range(repeats):
        if groups is None:
            out += splits_of(keyed_folds(keys, min(folds, len(keys)), int(rng.integers(2**63))))
        else:
            out += splits_of(group_folds(groups, folds, rng))
    return out


def given_splits(cv: Any, X: Any, y: NDArray[Any], groups: Any) -> list[Split]:
    """The splits of a splitter or of an iterable, checked."""
    try:
        pairs = list(cv.split(X, y, groups)) if hasattr(cv, "split") else list(cv)
    except ValueError as error:
        if groups is None and "'groups'" in str(error):
            raise ValueError(f"cv={type(cv).__name__} needs groups: pass groups=, the group of each sample.") from error
        raise
    if not pairs:
        raise ValueError("cv gives no splits: pass a splitter, or a list. (A generator gives its splits only once.)")
    return [_checked(pair, len(y)) for pair in pairs]


def splits_among(splits: Sequence[Split], chosen: NDArray[np.intp], n_samples: int) -> list[Split]:
    """The splits of some of the samples: positions among the chosen ones, in their order. Empty splits are dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.splits import splits_among
    >>> splits_among([(np.array([0, 1]), np.array([2, 3]))], np.array([3, 0]), 4)
    [(array([1]), array([0]))]
    """
    position = np.full(n_samples, -1, dtype=np.intp)
    position[chosen] = np.arange(len(chosen))
    found = [tuple(np.sort(position[part][position[part] >= 0]) for part in split) for split in splits]
    kept = [(train, test) for train, test in found if len(train) and len(test)]
    if not kept:
        raise ValueError("cv has no split with samples of positive weight on both of its sides: pass other folds.")
    return kept


def _checked(pair: Any, n_samples: int) -> Split:
    try:
        train, test = (_indices(part, n_samples) for part in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cv holds {pair!r}: pass pairs of arrays, the indices of the samples to fit on and of those held out, "
            f"from 0 to {n_samples - 1}."
        ) from error
    if not len(train) or not len(test):
        raise ValueError("cv has a split without samples to fit on, or without samples that are held out.")
    if len(np.intersect1d(train, test)):
        raise ValueError("cv has a split that fits on some of the samples that it holds out.")
    return train, test


def _indices(part: Any, n_samples: int) -> NDArray[np.intp]:
    values = np.asarray(part)
    if values.dtype == bool:
        values = np.flatnonzero(values)
    known = bool(np.isin(values, np.arange(n_samples)).all())
    if values.ndim != 1 or (len(values) and values.dtype.kind not in "iu") or not known:
        raise ValueError("not indices")
    return np.unique(values).astype(np.intp)
