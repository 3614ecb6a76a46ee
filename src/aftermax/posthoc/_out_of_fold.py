"""Out-of-fold logits: each sample's logits come from a model that was fitted on the other folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils.parallel import Parallel, delayed

from aftermax._utils.indexing import select_metadata, select_samples
from aftermax._utils.text import listed


def folds_of(
    cv: Any, X: Any, labels: NDArray[Any], groups: ArrayLike | None, params: dict[str, Any]
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the splits of a splitter, of an iterable or of a number of folds; these keep groups whole, if given.

    ``params`` are passed to the splitter's ``split``.
    """
    number = 5 if cv is None else cv
    if groups is not None and isinstance(number, Integral):
        return list(StratifiedGroupKFold(int(number)).split(X, labels, np.asarray(groups)))
    return list(check_cv(number, labels, classifier=True).split(X, labels, **params))


def out_of_fold_logits(
    estimator: Any,
    X: Any,
    labels: NDArray[Any],
    splits: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    logits_of: Callable[[Any, Any], NDArray[np.float64]],
    classes: NDArray[Any],
    params: dict[str, Any],
    n_jobs: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the logits of all held-out samples, by clones of the estimator fitted without them, and their indices.

    ``logits_of(model, X)`` returns the logits of a fitted clone; ``params`` are passed to the estimator's ``fit``.
    Unlike scikit-learn's ``cross_val_predict``, this takes splits that do not cover all samples.
    """
    if not splits:
        raise ValueError(
            "cv gives no splits: pass folds, or a list of splits. (A generator gives its splits only once.)"
        )

    def fit_and_predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.float64]:
        metadata = select_metadata(params, train, len(labels))
        model = clone(estimator).fit(select_samples(X, train), labels[train], **metadata)
        missing = [name for name in classes.tolist() if name not in np.asarray(model.classes_).tolist()]
        if missing:
            raise ValueError(
                f"Outside of one of the folds there are no samples of {listed(missing)}: pass at least two samples of "
                "each class, and stratified folds, such as cv=5; or fit the model on other samples first."
            )
        return logits_of(model, select_samples(X, test))

    logits = Parallel(n_jobs=n_jobs)(delayed(fit_and_predict)(train, test) for train, test in splits)
    indices = np.concatenate([np.asarray(test) for _, test in splits])
    order = np.argsort(indices, kind="stable")
    return np.concatenate(logits)[order], indices[order]
