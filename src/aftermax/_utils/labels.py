"""Labels as they come in, and which column is which class."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

# When columns are taken to belong to other classes, as shares of the rows; and the rows of each class it takes to tell.
CLEARLY_ALIGNED = 0.6
CLEARLY_BETTER = 0.3
ENOUGH_ROWS = 20
ENOUGH_FOR_CHANCE = 50  # rows in all, to tell whether answers and labels have anything to do with each other
BEYOND_CHANCE = 2.326  # standard deviations
ROUNDING = 1e-9


def encode_labels(
    labels: ArrayLike, shape: tuple[int, ...], classes: ArrayLike | None, headings: Iterable[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The class of each column, and each label as a column number.

    Without ``classes``: the ``headings`` of a data frame if they name the labels; the sorted labels if there are as
    many as columns; else whole numbers in 0 .. K - 1 are column numbers already.
    """
    rows, columns = shape
    seen, places, counts = np.unique(checked_labels(labels, rows), return_inverse=True, return_counts=True)
    if len(seen) < 2:
        raise ValueError(
            f"labels hold one class only, {listed(seen.tolist())}: at least two classes need rows. Pass a validation "
            "set drawn like the data the model will meet."
        )
    titles = _usable(headings)
    named = np.size(classes) == columns if classes is not None else bool(set(titles) & set(seen.tolist()))
    if len(seen) > columns and not named:  # else the stray ones can be told
        rarest = seen[np.argsort(counts, kind="stable")].tolist()
        raise ValueError(
            f"labels hold {len(seen)} classes but logits have {columns} columns, one for each class: drop the rows "
            f"with stray labels, or pass all columns. The rarest labels are {listed(rarest)}."
        )
    if classes is None:
        names = _columns_of(seen, columns, titles)
    else:
        names = _checked_classes(classes, columns)
        if set(names.tolist()) == set(titles) and names.tolist() != titles:
            raise ValueError(
                f"classes=({listed(names.tolist())}) contradicts the headings of the columns, ({listed(titles)}): "
                "drop classes=, or put the columns in its order."
            )
    return names, _codes(seen, places, names)


def label_codes(labels: ArrayLike, rows: int, names: NDArray[Any]) -> NDArray[np.int64]:
    """Each label as a column number, where the classes of the columns are known already."""
    seen, places = np.unique(checked_labels(labels, rows), return_inverse=True)
    return _codes(seen, places, names)


def _codes(seen: NDArray[Any], places: NDArray[np.intp], names: NDArray[Any]) -> NDArray[np.int64]:
    numbers = {name: j for j, name in enumerate(names.tolist())}
    unknown = [label for label in seen.tolist() if label not in numbers]
    if unknown:
        raise ValueError(
            f"labels hold {listed(unknown)}, not among the classes of the columns ({listed(names.tolist())}): "
            "correct the labels, or name the class of each column, in order, with classes=[...]."
        )
    return np.array([numbers[label] for label in seen.tolist()])[places]


def _usable(headings: Iterable[Any] | None) -> list[Any]:
    """The headings of a data frame, if they are names or numbers that labels could be."""
    titles = [] if headings is None else list(headings)
    return titles if all(isinstance(title, str | Integral) for title in titles) else []


def _columns_of(seen: NDArray[Any], columns: int, titles: list[Any]) -> NDArray[Any]:
    """The class of each column, worked out from the labels seen and the headings of the columns, if they have any."""
    unnamed = [label for label in seen.tolist() if label not in titles]
    if titles and not unnamed:
        return _checked_classes(titles, columns)
    if any(isinstance(label, str) and label in titles for label in seen.tolist()):
        raise ValueError(
            f"The headings of the columns ({listed(titles)}) name some of the labels but not {listed(unnamed)}: "
            "correct the labels, rename the columns after the classes, or name the class of each, in order, with "
            "classes=[...]."
        )
    if len(seen) == columns:
        return seen
    if seen.dtype.kind in "iuf" and set(seen.tolist()) <= set(range(columns)):
        return np.arange(columns, dtype=np.float64 if seen.dtype.kind == "f" else np.int64)
    raise ValueError(
        f"logits have {columns} columns but labels hold {len(seen)} classes ({listed(seen.tolist())}): one column for "
        "each class is needed. If the rows lack a class, as a fold of a cross-validation may, name the class of each "
        f"column, in order, with classes=[...] or use the column numbers 0 to {columns - 1} as labels."
    )


def checked_labels(labels: ArrayLike, rows: int) -> NDArray[Any]:
    """Labels as an array of one kind, strings or whole numbers, one for each row."""
    if labels is None:
        raise ValueError(
            "fit requires y to be passed, but the target y is None: pass the true class of each row of logits."
        )
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape}: pass one class for each row. For one-hot labels "
            "pass labels.argmax(axis=1)."
        )
    values = np.asarray(column_or_1d(labels, warn=True))
    if len(values) != rows:
        raise ValueError(f"logits have {rows} rows but there are {len(values)} labels: pass one label for each row.")
    missing = [n for n, label in enumerate(values.tolist()) if label is None or (label == label) is not True]
    if missing:
        raise ValueError(f"Input y contains NaN or None at row {missing[0]}: drop the rows that have no label.")
    if values.dtype == object:
        values = _from_objects(values)
    if values.dtype.kind == "f" and not (whole := np.isfinite(values) & (values == np.floor(values))).all():
        row = int(np.argmin(whole))
        raise ValueError(
            f"Unknown label type: {values[row]} at row {row} is no class. Labels are whole numbers or strings; where "
            "these are probabilities, pass the index of the largest."
        )
    return values


def _from_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Python objects as one kind of label."""
    for kind, dtype in ((str, np.str_), (Integral, np.int64), (Real, np.float64)):
        if all(isinstance(label, kind) for label in values):
            return values.astype(dtype)
    kinds = ", ".join(sorted({type(label).__name__ for label in values}))
    raise ValueError(f"Unknown label type: labels mix {kinds}. Make them all strings or all whole numbers.")


def _checked_classes(classes: ArrayLike, columns: int) -> NDArray[Any]:
    names = np.array(classes)
    if names.ndim != 1 or len(names) != columns:
        raise ValueError(
            f"classes has shape {names.shape} but logits have {columns} columns: pass a list that names the class of "
            "each column, in order."
        )
    twice = [name for name, times in Counter(names.tolist()).items() if times > 1]
    if twice:
        raise ValueError(f"classes names {listed(twice)} more than once: each column needs a class of its own.")
    return names


def listed(values: list[Any]) -> str:
    """Some values in words; of many, the first five."""
    shown = ", ".join(repr(value) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}, ... {len(values)} in all"


def warn_if_misaligned(
    logits: NDArray[Any], codes: NDArray[np.int64], classes: NDArray[Any], stacklevel: int = 3
) -> bool:
    """Warn when the columns can hardly belong to the classes they are taken for, and say whether that was so.

    That is, when the largest logit is right far less often than chance, or would be right in many more rows if the
    columns were in another order.
    """
    size = len(classes)
    confusion = np.bincount(codes * size + logits.argmax(axis=1), minlength=size * size).reshape(size, size)
    rows, right = len(codes), int(np.trace(confusion))
    if right > CLEARLY_ALIGNED * rows:
        return False
    from scipy.optimize import linear_sum_assignment

    other, order = linear_sum_assignment(-confusion)
    possible = int(confusion[other, order].sum())
    chance = rows / size
    if possible - right > CLEARLY_BETTER * rows and rows >= ENOUGH_ROWS * size:
        hint = f"it would in {possible / rows:.0%} if the columns were in another order"
    elif chance - right > 6 * math.sqrt(chance):
        hint = f"chance alone would in {1 / size:.0%}"
    else:
        return False
    warnings.warn(
        f"The largest logit agrees with the label in only {right / rows:.0%} of the rows; {hint}. Are the columns the "
        f"responses to {listed(classes.tolist())}? If not, name the class of each, in order, with classes=[...].",
        UserWarning,
        stacklevel=stacklevel,
    )
    return True


def warn_if_by_chance(
    tops: NDArray[np.int64], answers: NDArray[np.int64], codes: NDArray[np.int64], classes: int
) -> None:
    """Warn when neither softmax nor a head, on rows that it has not seen, is right more often than by chance.

    Where a head is, labels and rows are in step, however bad softmax is.
    """
    rows, right = len(codes), int(np.count_nonzero(tops == codes))
    (chance, softmax_is), (_, head_is) = (_beyond_chance(some, codes, classes) for some in (tops, answers))
    if rows < ENOUGH_FOR_CHANCE or softmax_is or head_is:
        return
    warnings.warn(
        f"softmax is right in {right:,} of {rows:,} rows, as chance would be ({chance:,.0f}): check that labels and "
        "rows are in step and that columns are in the order of the classes.",
        UserWarning,
        stacklevel=3,
    )


def _beyond_chance(answers: NDArray[np.int64], codes: NDArray[np.int64], classes: int) -> tuple[float, bool]:
    """How many answers would be right if labels were dealt out at random, and whether more are: one-sided, at 1 %."""
    rows, right = len(codes), int(np.count_nonzero(answers == codes))
    answered, labelled = (np.bincount(some, minlength=classes).astype(np.float64) for some in (answers, codes))
    chance = float(answered @ labelled) / rows
    # Hoeffding (1951): the variance of such a sum is that of what is left of each pair, one where answer and label are
    # the same and zero elsewhere, once the means over labels and over answers are taken off.
    left = np.eye(classes) - labelled[:, None] / rows - answered / rows + chance / rows
    deviation = math.sqrt(answered @ np.square(left) @ labelled / (rows - 1))
    return chance, right - chance > BEYOND_CHANCE * deviation + ROUNDING
