"""Labels as column numbers, and which column belongs to which class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from aftermax._utils.foreign_arrays import as_plain
from aftermax._utils.text import INTEGER, listed

NAME_COLUMNS = "name the class of each column, in order: classes=[...] in Python, --classes on the command line"


def encode_labels(
    labels: ArrayLike,
    shape: tuple[int, ...],
    classes: ArrayLike | None,
    headings: Iterable[Any] | None = None,
    *,
    one_logit: bool = False,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the class of each column, and each label as a column number.

    ``shape`` is that of the logits. If ``classes`` is None, the columns belong to: the ``headings`` of a data frame, if
    they include all labels; the sorted labels, if there are as many as columns; else 0 .. n_classes - 1, if the labels
    are such integers. If the two columns were made of ``one_logit``, its heading may name the second class.
    """
    n_samples, columns = shape
    seen, inverse, counts = np.unique(checked_labels(labels, n_samples), return_inverse=True, return_counts=True)
    if len(seen) < 2:
        raise ValueError(
            f"labels hold one class only, {listed(seen.tolist())}: at least two classes need samples. Pass a "
            "validation set with the same distribution as the data that the model will predict."
        )
    if one_logit:
        _check_binary(seen, classes)
    titles = _both_classes(headings, seen) if one_logit else _as_labels(_usable(headings), seen)
    named = np.size(classes) == columns if classes is not None else bool(set(titles) & set(seen.tolist()))
    if len(seen) > columns and not named:  # if the columns are named, _codes lists the unknown labels
        rarest = seen[np.argsort(counts, kind="stable")].tolist()
        raise ValueError(
            f"labels hold {len(seen)} classes but logits have {columns} columns, one for each class: drop the samples "
            f"with invalid labels, or pass all columns. The rarest labels are {listed(rarest)}."
        )
    if classes is None:
        names = _columns_of(seen, columns, titles)
    else:
        names = _checked_classes(classes, columns)
        if set(names.tolist()) == set(titles) and names.tolist() != titles:
            raise _contradiction(names, titles, one_logit)
    return names, _codes(seen, inverse, names)


def _check_binary(seen: NDArray[Any], classes: ArrayLike | None) -> None:
    """Refuse one logit for more than two classes."""
    if classes is None and len(seen) > 2:
        raise ValueError(
            f"labels hold {len(seen)} classes ({listed(seen.tolist())}), but logits have 1 column (n_features = 1), "
            "the log-odds of the second of two classes: pass one column for each class, or drop the samples with "
            "invalid labels."
        )
    if classes is not None and np.shape(classes) != (2,):
        raise ValueError(
            f"classes has shape {np.shape(classes)}, but logits have 1 column (n_features = 1), the log-odds of the "
            "second of two classes: pass classes=[negative, positive]."
        )


def _contradiction(names: NDArray[Any], titles: list[Any], one_logit: bool) -> ValueError:
    given = f"classes=({listed(names.tolist())}) contradicts"
    if one_logit:
        return ValueError(
            f"{given} the heading of the column, {titles[1]!r}: one logit is the log-odds of the second class. Rename "
            "the column, or leave classes out."
        )
    return ValueError(
        f"{given} the headings of the columns, ({listed(titles)}): leave classes out (--classes on the command line), "
        "or put the columns in its order."
    )


def _both_classes(headings: Iterable[Any] | None, seen: NDArray[Any]) -> list[Any]:
    """The two classes, if the heading of the one logit names the second. Numbers only count columns."""
    title = next(iter(headings if headings is not None else []), None)
    names = seen.tolist()
    if not isinstance(title, str) or title.isdigit() or title not in names or len(names) != 2:
        return []
    return [next(name for name in names if name != title), title]


def label_codes(labels: ArrayLike, n_samples: int, names: NDArray[Any]) -> NDArray[np.int64]:
    """Return each label as a column number, given the class of each column."""
    seen, inverse = np.unique(checked_labels(labels, n_samples), return_inverse=True)
    return _codes(seen, inverse, names)


def _codes(seen: NDArray[Any], inverse: NDArray[np.intp], names: NDArray[Any]) -> NDArray[np.int64]:
    numbers = {name: j for j, name in enumerate(names.tolist())}
    unknown = [label for label in seen.tolist() if label not in numbers]
    if unknown:
        raise ValueError(
            f"labels hold {listed(unknown)}, not among the classes of the columns ({listed(names.tolist())}): "
            f"correct the labels, or {NAME_COLUMNS}."
        )
    return np.array([numbers[label] for label in seen.tolist()])[inverse]


def _usable(headings: Iterable[Any] | None) -> list[Any]:
    """The headings of a data frame, if all are strings or integers, as labels are."""
    titles = [] if headings is None else list(headings)
    return titles if all(isinstance(title, str | Integral) for title in titles) else []


def _as_labels(titles: list[Any], seen: NDArray[Any]) -> list[Any]:
    """Headings that are integers as text, such as the keys of JSON objects, as integers if these are the labels."""
    if seen.dtype.kind not in "iuf" or not all(isinstance(title, str) and INTEGER.fullmatch(title) for title in titles):
        return titles
    numbers = list(map(int, titles))
    return numbers if set(seen.tolist()) <= set(numbers) else titles


def _columns_of(seen: NDArray[Any], columns: int, titles: list[Any]) -> NDArray[Any]:
    """Infer the class of each column from the labels and the headings of the columns, if there are any."""
    known = set(titles)
    unnamed = [label for label in seen.tolist() if label not in known]
    if titles and not unnamed:
        return _checked_classes(titles, columns)
    if any(isinstance(label, str) and label in known for label in seen.tolist()):
        raise ValueError(
            f"The headings of the columns ({listed(titles)}) name some of the labels but not {listed(unnamed)}: "
            f"correct the labels, rename the columns after the classes, or {NAME_COLUMNS}."
        )
    if len(seen) == columns:
        return seen
    if seen.dtype.kind in "iuf" and set(seen.tolist()) <= set(range(columns)):
        return np.arange(columns, dtype=np.float64 if seen.dtype.kind == "f" else np.int64)
    raise ValueError(
        f"logits have {columns} columns but labels hold {len(seen)} classes ({listed(seen.tolist())}): one column for "
        "each class is needed. If the samples lack a class, as in a fold of a cross-validation, use the column numbers "
        f"0 to {columns - 1} as labels, or {NAME_COLUMNS}."
    )


def label_shape_error(shape: tuple[float, ...]) -> ValueError:
    """The error for labels that are not one for each sample."""
    hint = " For one-hot labels pass labels.argmax(axis=1)." if len(shape) == 2 else ""
    return ValueError(f"y should be a 1d array, got an array of shape {shape}: pass one class per sample.{hint}")


def checked_labels(labels: ArrayLike, n_samples: int, first_row: int = 0) -> NDArray[Any]:
    """Return labels as an array of strings, integers or integral floats, one for each sample.

    ``first_row`` is the index of the chunk's first sample, so that an error names the right one.
    """
    if labels is None:
        raise ValueError("fit requires y to be passed, but the target y is None: pass the true class of each sample.")
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise label_shape_error(shape)
    values = np.asarray(column_or_1d(_without_loss(as_plain(labels, "labels"), "labels"), warn=True))
    if len(values) != n_samples:
        raise ValueError(
            f"logits have {n_samples} samples but there are {len(values)} labels: pass one label per sample."
        )
    missing = [n for n, label in enumerate(values.tolist()) if label is None or (label == label) is not True]
    if missing:
        raise ValueError(
            f"Input y contains NaN or None at row {first_row + missing[0]}: drop the samples without a label."
        )
    if values.dtype == object:
        values = _from_objects(values)
    if values.dtype.kind == "f" and not (whole := np.isfinite(values) & (values == np.floor(values))).all():
        row = int(np.argmin(whole))
        raise ValueError(
            f"Unknown label type: {values[row]} at row {first_row + row} is not a class. Labels are integers or "
            "strings; if these are probabilities, pass the index of the largest."
        )
    return values


def _without_loss(labels: Any, what: str) -> Any:
    """Labels as they are where numpy would take nullable or large integers for floats, or cut text at its end."""
    kind = getattr(getattr(labels, "dtype", None), "numpy_dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biu" and hasattr(labels, "isna"):  # of pandas, nullable
        return labels.to_numpy(dtype=object if labels.isna().any() else kind)
    values = labels
    if isinstance(labels, list | tuple) and any(isinstance(one, int) and abs(one) >= 2**63 for one in labels):
        values = np.array(labels, dtype=object)
    if isinstance(labels, list | tuple) or getattr(getattr(labels, "dtype", None), "kind", "") == "O":
        ending = next((one for one in labels if isinstance(one, str) and one.endswith("\0")), None)
        if ending is not None:
            raise ValueError(f"{what} hold {ending!r}, which ends with a NUL character: numpy would cut it off.")
    return values


def _as_integers(values: NDArray[Any]) -> NDArray[Any]:
    low, high = min(values), max(values)
    if high < 2**63 and low >= -(2**63):
        return values.astype(np.int64)
    if low < 0 or high >= 2**64:
        raise ValueError(
            f"labels hold {low if low < -(2**63) else high}, which is no integer of 64 bits: make all labels strings."
        )
    return values.astype(np.uint64)


def _from_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Convert an array of Python objects to strings, integers or floats, if all labels are of one kind."""
    if all(isinstance(label, Integral) for label in values):
        return _as_integers(values)
    for kind, dtype in ((str, np.str_), (Real, np.float64)):
        if all(isinstance(label, kind) for label in values):
            return values.astype(dtype)
    kinds = ", ".join(sorted({type(label).__name__ for label in values}))
    raise ValueError(f"Unknown label type: labels mix {kinds}. Make them all strings or all integers.")


def _checked_classes(classes: ArrayLike, columns: int) -> NDArray[Any]:
    names = np.array(_without_loss(classes, "classes"))
    if names.dtype == object and all(isinstance(name, Integral) for name in names.ravel()):
        names = _as_integers(names)
    if names.ndim != 1 or len(names) != columns:
        raise ValueError(
            f"classes has shape {names.shape} but logits have {columns} columns: pass a list that names the class of "
            "each column, in order."
        )
    repeated = [name for name, times in Counter(names.tolist()).items() if times > 1]
    if repeated:
        raise ValueError(f"classes names {listed(repeated)} more than once: each column needs a class of its own.")
    return names


def check_column_order(headings: Iterable[Any] | None, classes: NDArray[Any]) -> None:
    """Refuse a data frame whose columns are named after the classes, but are in another order.

    Names are compared as text: the columns of a file with the classes 0, 1, 2 are called "0", "1", "2".
    """
    titles, names = ([str(name) for name in some] for some in (headings if headings is not None else [], classes))
    if titles != names and sorted(titles) == sorted(names):
        raise ValueError(
            f"The columns of X are ({listed(titles)}) and the head's classes ({listed(names)}): put the columns in the "
            "order of classes_, as X[head.classes_]."
        )
