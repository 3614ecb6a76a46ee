"""What decisions are judged by: an expected cost, or a metric of the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Confusion = NDArray[np.float64]  # rows are true classes, columns decisions; weighted counts
STEP = 1e-3  # of a sample, for the slope of a metric that is any callable


@dataclass(frozen=True)
class Objective:
    """A number of the confusion matrix, larger is better, and its slope; of a cost matrix, minus the expected cost."""

    name: str  # in sentences
    value: Callable[[Confusion], float]
    slope: Callable[[Confusion], Confusion]  # by each cell
    costs: NDArray[np.float64] | None = None

    @property
    def sign(self) -> float:
        """1 if what is reported is the value, -1 if it is minus the value, a cost."""
        return 1.0 if self.costs is None else -1.0


def confusion_matrix(
    codes: NDArray[np.int64], decisions: NDArray[np.int64], weights: NDArray[np.float64], n_classes: int
) -> Confusion:
    """The confusion matrix of weighted samples: rows are true classes, columns decisions."""
    counts = np.bincount(codes * n_classes + decisions, weights, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes).astype(np.float64)


# ---- costs -----------------------------------------------------------------------------------------------------------


def cost_objective(costs: NDArray[np.float64]) -> Objective:
    """Minus the expected cost of a sample."""

    def value(confusion: Confusion) -> float:
        return -float((confusion * costs).sum() / confusion.sum())

    def slope(confusion: Confusion) -> Confusion:
        return np.asarray((-costs - value(confusion)) / confusion.sum())

    return Objective("expected cost", value, slope, costs)


# ---- metrics ---------------------------------------------------------------------------------------------------------


def balanced_accuracy(confusion: Confusion) -> float:
    """The mean recall of the classes that have samples.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.decide.objectives import balanced_accuracy
    >>> balanced_accuracy(np.array([[90.0, 10.0], [5.0, 5.0]]))
    0.7
    """
    rows = confusion.sum(axis=1)
    present = rows > 0
    return float(np.mean(np.diag(confusion)[present] / rows[present]))


def macro_f1(confusion: Confusion) -> float:
    """The mean F1 score of the classes that have samples: 2 c_kk / (samples of k + decisions for k).

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.decide.objectives import macro_f1
    >>> round(macro_f1(np.array([[90.0, 10.0], [5.0, 5.0]])), 3)
    0.662
    """
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    present = rows > 0
    return float(np.mean(2 * np.diag(confusion)[present] / (rows + columns)[present]))


def _balanced_accuracy_slope(confusion: Confusion) -> Confusion:
    rows = confusion.sum(axis=1)
    present = rows > 0
    share = np.where(present, 1 / np.where(present, rows, 1.0), 0.0) / np.count_nonzero(present)
    recalls = np.diag(confusion) / np.where(present, rows, 1.0)
    return np.asarray(np.diag(share) - (share * recalls)[:, None])


def _macro_f1_slope(confusion: Confusion) -> Confusion:
    """With D_k = samples of k + decisions for k and F_k = 2 c_kk / D_k, dF_k is 2 / D_k dc_kk - F_k / D_k dD_k."""
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    present = rows > 0
    share = np.where(present, 1 / np.where(present, rows + columns, 1.0), 0.0) / np.count_nonzero(present)
    loss = share * 2 * np.diag(confusion) / np.where(present, rows + columns, 1.0)
    return np.asarray(np.diag(2 * share) - loss[:, None] - loss[None, :])


METRICS: dict[str, Objective] = {
    "balanced_accuracy": Objective("balanced accuracy", balanced_accuracy, _balanced_accuracy_slope),
    "macro_f1": Objective("macro-F1", macro_f1, _macro_f1_slope),
}


def metric_objective(metric: str | Callable[[Any], Any]) -> Objective:
    """The objective of a known metric, or of any callable of the confusion matrix, which is asked for its value only.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.decide.objectives import metric_objective
    >>> accuracy = metric_objective(lambda confusion: np.trace(confusion) / confusion.sum())
    >>> accuracy.value(np.array([[8.0, 2.0], [1.0, 9.0]]))
    0.85
    """
    if isinstance(metric, str):
        if metric not in METRICS:
            known = ", ".join(map(repr, METRICS))
            raise ValueError(f"metric={metric!r} is not known: choose {known}, or pass a callable.")
        return METRICS[metric]
    if not callable(metric):
        raise TypeError(
            f"metric is of type {type(metric).__name__}: pass one of {', '.join(map(repr, METRICS))}, or a callable "
            "that takes the confusion matrix (rows are true classes) and returns a number, larger is better."
        )
    name = str(getattr(metric, "__name__", type(metric).__name__))

    def value(confusion: Confusion) -> float:
        return _called(metric, name, confusion)

    def slope(confusion: Confusion) -> Confusion:
        base, out = value(confusion), np.empty_like(confusion)
        for cell in np.ndindex(*confusion.shape):
            moved = confusion.copy()
            moved[cell] += STEP
            out[cell] = (value(moved) - base) / STEP
        return out

    return Objective(name if name != "<lambda>" else "metric", value, slope)


def _called(metric: Callable[[Any], Any], name: str, confusion: Confusion) -> float:
    """What the user's callable returns, if that is a number."""
    try:
        result = metric(confusion.copy())
    except Exception as error:
        raise ValueError(
            f"metric {name} failed on a confusion matrix of shape {confusion.shape} with {type(error).__name__}: "
            f"{error}. It takes the matrix of weighted counts (rows are true classes) and returns a number."
        ) from error
    try:
        number = float(result)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metric {name} returned {type(result).__name__}: it should return one number.") from error
    if not np.isfinite(number):
        raise ValueError(
            f"metric {name} returned {number} on a confusion matrix: return a finite number for every matrix, those "
            "with a class that is never predicted included (as 0 where it is not defined)."
        )
    return number
