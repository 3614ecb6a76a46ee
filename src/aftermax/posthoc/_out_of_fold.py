"""What a model says of rows that it was not fitted on, by sister models fitted on the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from aftermax._utils.labels import listed


def out_of_fold(
    estimator: Any,
    X: Any,
    labels: NDArray[Any],
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    logits_of: Callable[[Any, Any], NDArray[np.float64]],
    classes: NDArray[Any],
    params: dict[str, Any],
    n_jobs: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Logits of the rows that are held out, by copies of the estimator that have not seen them, and which rows.

    ``logits_of(model, rows)`` asks a fitted copy; ``params`` are for the estimator's ``fit``.
    """
    if not splits:
        raise ValueError("cv gives no splits: pass folds, or a list of splits. (A generator gives its only once.)")

    def said_of(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.float64]:
        sister = clone(estimator).fit(_safe_indexing(X, train), labels[train], **taken(params, train, len(labels)))
        unseen = [name for name in classes.tolist() if name not in np.asarray(sister.classes_).tolist()]
        if unseen:
            raise ValueError(
                f"Without one of the folds there are no rows of {listed(unseen)}: pass at least two rows of each "
                "class, and folds that spread each class, as cv=5 does; or fit the model on other rows first."
            )
        return logits_of(sister, _safe_indexing(X, test))

    said = Parallel(n_jobs=n_jobs)(delayed(said_of)(train, test) for train, test in splits)
    rows = np.concatenate([np.asarray(test) for _, test in splits])
    order = np.argsort(rows, kind="stable")
    return np.concatenate(said)[order], rows[order]


def taken(params: dict[str, Any], rows: NDArray[np.intp], total: int) -> dict[str, Any]:
    """Of what there is for each row, the part for these rows; other metadata as they are."""
    return {
        name: _safe_indexing(value, rows) if hasattr(value, "__len__") and length(value) == total else value
        for name, value in params.items()
    }


def length(rows: Any) -> int:
    """How many rows there are."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
