"""Counting and selecting samples of anything that scikit-learn takes: arrays, data frames, sparse matrices, lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# scikit-learn has no public function for this; here is the only place that uses its private one.
from sklearn.utils import _safe_indexing


def count_samples(X: Any) -> int:
    """Return the number of samples in X.

    Examples
    --------
    >>> from aftermax._utils.indexing import count_samples
    >>> count_samples(["a", "b", "c"])
    3
    """
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def select_samples(X: Any, indices: NDArray[np.intp]) -> Any:
    """Return the samples of X at these indices, in the same type of container.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.indexing import select_samples
    >>> select_samples(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    return _safe_indexing(X, indices)


def select_metadata(params: dict[str, Any], indices: NDArray[np.intp], n_samples: int) -> dict[str, Any]:
    """Select these samples in all metadata that has one value for each sample; other metadata is passed unchanged."""
    return {
        name: select_samples(value, indices)
        if hasattr(value, "__len__") and count_samples(value) == n_samples
        else value
        for name, value in params.items()
    }
