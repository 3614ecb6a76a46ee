"""Out-of-fold logits: each sample's logits come from a model that was fitted on the other folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    logits_of: Callable[[Any, Any], NDArray[Any]],
    classes: NDArray[Any],
    params: dict[str, Any],
    n_jobs: int | None,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the logits of all held-out samples, by clones of the estimator fitted without them, and their indices.

    ``logits_of(model, X)`` returns the logits of a fitted clone; ``params`` are passed to the estimator's ``fit``.
    Unlike scikit-learn's ``cross_val_predict``, this takes splits that do not cover all samples.
    """
    if not splits:
        raise ValueError(
            "cv gives no splits: pass folds, or a list of splits. (A generator gives its splits only once.)"
        )

    def fit_and_predict(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[Any]:
        metadata = select_metadata(params, train, len(labels))
        model = clone(estimator).fit(select_samples(X, train), labels[train], **metadata)
        fitted_on = set(np.asarray(model.classes_).tolist())
        missing = [name for name in classes.tolist() if name not in fitted_on]
        if missing:
            raise ValueError(
                f"Outside of one of the folds there are no samples of {listed(missing)}: pass at least two samples of "
                "each class, and stratified folds, such as cv=5; or fit the model on other samples first."
            )
        return logits_of(model, select_samples(X, test))

    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    folds = parallel(delayed(fit_and_predict)(train, test) for train, test in splits)
    return _in_order(folds, [np.asarray(test) for _, test in splits])


def _in_order(
    folds: Iterable[NDArray[Any]], tests: Sequence[NDArray[np.intp]]
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The logits of all folds in the order of their indices, and these. A fold is let go once it is in its place."""
    indices = np.concatenate(tests)
    order = np.argsort(indices, kind="stable")
    place, out, first = np.argsort(order, kind="stable"), np.empty((0, 0)), 0
    for logits in folds:
        if first == 0:
            out = np.empty((len(indices), logits.shape[1]), dtype=logits.dtype)
        out[place[first : first + len(logits)]] = logits
        first += len(logits)
    return out, indices[order]
