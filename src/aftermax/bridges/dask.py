"""Heads on Dask: fits, audits and predictions of arrays that are larger than memory, on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aftermax._scorefiles.column_roles import ColumnRoles
from aftermax._scorefiles.predict import without_column_names
from aftermax._utils.threads import one_thread
from aftermax.bridges._fitted import check_fitted_head

try:
    import dask.array
    from dask.base import is_dask_collection, tokenize
    from dask.delayed import delayed
except ImportError as error:
    raise ImportError("Heads on Dask need dask: pip install 'aftermax[dask]'") from error

from aftermax.bridges._dask_audit import audit
from aftermax.bridges._dask_drift import drift
from aftermax.bridges._dask_fit import fit

if TYPE_CHECKING:
    import pandas

__all__ = ["audit", "drift", "fit", "is_certain", "predict", "predict_proba"]

PREDICTED, CERTAIN = "predicted", "certain"  # as in files


# ---- what users call -------------------------------------------------------------------------------------------------


def predict(head: Any, logits: Any, *, features: Any = None) -> Any:
    """Predict the class of each sample of a dask array or data frame, lazily.

    Parameters
    ----------
    head : AutoHead, SPHClassifier, SPHClassifierCV, SoftmaxClassifier or Decider
        Fitted. It is one task of the graph: each worker gets it once, and again if the worker that had it dies.
    logits : dask.array.Array or dask.dataframe.DataFrame
        An array as for the head's own ``predict``, in chunks of samples; the number of samples need not be known. Or a
        data frame with a column for each class, named as those that the head was fitted on, or as its classes; other
        columns are left out.
    features : dask.array.Array of shape (n_samples, n_features), default=None
        Features, if the head was fitted with features and the logits are an array. In a data frame they are the columns
        ``feature_...``.

    Returns
    -------
    dask.array.Array of shape (n_samples,) or dask.dataframe.Series
        The predictions, in the chunks or partitions of the logits. Nothing is read or predicted before you compute or
        write them. They are those of the head in memory.

    Notes
    -----
    A chunk is predicted by one thread; Dask predicts several at once. A chunk should have at least some ten thousand
    samples, as Dask takes about a millisecond for each.

    Examples
    --------
    >>> import dask.array as da
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.dask import predict
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> logits = da.from_array(scores.test_logits, chunks=(1000, 10))
    >>> predict(head, logits)
    dask.array<predict, shape=(4000,), dtype=int64, chunksize=(1000,), chunktype=numpy.ndarray>
    >>> bool((predict(head, logits).compute() == head.predict(scores.test_logits)).all())
    True
    """
    return _predict_lazily(head, logits, features, "predict")


def predict_proba(head: Any, logits: Any, *, features: Any = None) -> Any:
    """Probabilities of the classes for each sample of a dask array or data frame, lazily.

    Parameters
    ----------
    head, logits, features
        As for :func:`predict`.

    Returns
    -------
    dask.array.Array of shape (n_samples, n_classes) or dask.dataframe.DataFrame
        The probabilities; the columns of the data frame are called like the classes.
    """
    return _predict_lazily(head, logits, features, "predict_proba")


def is_certain(head: Any, logits: Any, *, features: Any = None) -> Any:
    """Whether the head may decide each sample alone, lazily.

    Parameters
    ----------
    head : Decider
        Fitted, with ``max_error``.
    logits, features
        As for :func:`predict`.

    Returns
    -------
    dask.array.Array of shape (n_samples,) or dask.dataframe.Series
        False for the samples that are for a person.
    """
    if not hasattr(head, "is_certain"):
        raise TypeError(f"{type(head).__name__} decides every sample alone: pass a Decider with max_error.")
    return _predict_lazily(head, logits, features, "is_certain")


# ---- arrays ----------------------------------------------------------------------------------------------------------


def _predict_lazily(head: Any, logits: Any, features: Any, method: str) -> Any:
    check_fitted_head(head)
    if isinstance(logits, dask.array.Array):
        return _of_array(head, logits, features, method)
    if is_dask_collection(logits) and hasattr(logits, "map_partitions") and hasattr(logits, "columns"):
        if features is not None:
            raise TypeError("Features of a data frame are its columns called feature_...: join them to the logits.")
        return _of_frame(head, logits, method)
    raise TypeError(
        f"logits are a {type(logits).__name__}: pass a dask array or a dask data frame. What fits into memory is "
        f"predicted by head.{method}(logits)."
    )


def _of_array(head: Any, logits: Any, features: Any, method: str) -> Any:
    if logits.ndim not in (1, 2):
        raise ValueError(f"logits have shape {logits.shape}: (n_samples, n_classes) is needed.")
    width = 1 if logits.ndim == 1 else logits.shape[1]
    if width != head.n_features_in_:
        raise ValueError(f"logits have {width} columns, but the head was fitted on {head.n_features_in_}.")
    column = _one_wide(logits if logits.ndim == 2 else logits[:, None])
    others = [] if features is None else [_matching(features, column)]
    by_class = method == "predict_proba"
    sent = delayed(without_column_names(head), pure=True)  # a task: what is scattered dies with its worker
    return dask.array.map_blocks(
        _predict_block,
        column,
        *others,
        head=sent,
        method=method,
        name=f"{method}-{tokenize(sent.key, column.name, *(other.name for other in others))}",
        drop_axis=None if by_class else 1,
        chunks=(column.chunks[0], (len(head.classes_),)) if by_class else None,
        meta=_nothing(head, method),
    )


def _one_wide(values: Any) -> Any:
    """The same array with all columns in each chunk."""
    return values if len(values.chunks[1]) == 1 else values.rechunk({1: -1})


def _matching(features: Any, logits: Any) -> Any:
    """Features in the chunks of the logits."""
    if not isinstance(features, dask.array.Array) or features.ndim != 2:
        raise TypeError("features must be a dask array of shape (n_samples, n_features), as the logits are one.")
    if features.shape[0] != logits.shape[0] and not np.isnan([features.shape[0], logits.shape[0]]).any():
        raise ValueError(f"There are {logits.shape[0]} samples of logits, but {features.shape[0]} of features.")
    if features.numblocks[0] != logits.numblocks[0] or features.chunks[0] != logits.chunks[0]:
        unknown = np.isnan([*features.chunks[0], *logits.chunks[0]]).any()
        if not unknown:
            features = features.rechunk({0: logits.chunks[0]})
        elif features.numblocks[0] != logits.numblocks[0]:
            raise ValueError(
                f"logits have {logits.numblocks[0]} chunks of samples and features {features.numblocks[0]}, of unknown "
                "size: call compute_chunk_sizes() on both."
            )
    return _one_wide(features)


def _nothing(head: Any, method: str) -> NDArray[Any]:
    """What a method of the head returns, of no samples."""
    if method == "predict_proba":
        return np.empty((0, len(head.classes_)))
    return np.asarray(head.classes_[:0]) if method == "predict" else np.empty(0, dtype=bool)


def _predict_block(logits: NDArray[Any], *features: NDArray[Any], head: Any, method: str) -> NDArray[Any]:
    """The task of one chunk. Several may run at once, so each uses one thread."""
    if len(logits) == 0:
        return _nothing(head, method)
    named = {"features": features[0]} if features else {}
    with one_thread():
        return np.asarray(getattr(head, method)(logits, **named))


# ---- data frames -----------------------------------------------------------------------------------------------------


def _of_frame(head: Any, frame: Any, method: str) -> Any:
    from aftermax.bridges.arrow import roles_in  # needs pyarrow, as dask's data frames do

    roles = roles_in(head, list(map(str, frame.columns)))
    return frame.map_partitions(
        _predict_partition,
        head=delayed(without_column_names(head), pure=True),
        roles=roles,
        method=method,
        meta=_as_frame(head, _nothing(head, method), method, None),
        token=method,
    )


def _predict_partition(frame: pandas.DataFrame, head: Any, roles: ColumnRoles, method: str) -> Any:
    places = {str(name): place for place, name in enumerate(frame.columns)}
    values = [
        frame.iloc[:, [places[name] for name in names]].to_numpy() for names in (roles.logits, roles.features) if names
    ]
    return _as_frame(head, _predict_block(*values, head=head, method=method), method, frame.index)


def _as_frame(head: Any, values: NDArray[Any], method: str, index: Any) -> Any:
    import pandas

    if method == "predict_proba":
        return pandas.DataFrame(values, index, list(map(str, head.classes_.tolist())))
    return pandas.Series(values, index, name=PREDICTED if method == "predict" else CERTAIN)
