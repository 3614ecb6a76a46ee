"""Weights, veto and pooled likelihood: the paper's W, V and P."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.threads import over_ranges, samples_per_range
from aftermax.sph.response_array import ResponseArray

if TYPE_CHECKING:
    from aftermax.sph._kernels import PoolingRule


def pooling_weights(
    separation: NDArray[np.float64],
    *,
    min_separation: float | NDArray[np.float64] = 0.0,
    weight_power: float = 1.0,
) -> NDArray[np.float64]:
    """The paper's W: the weight of unit j for class i.

    Separations below ``min_separation`` are cut, the rest raised to ``weight_power``, and each row divided by its sum.
    A row with nothing left is all zero: pooling never predicts that class. Several values of ``min_separation``, in an
    array of shape (n, 1, 1), give n such arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.sph._pooling import pooling_weights
    >>> pooling_weights(np.array([[3.0, 1.0], [0.5, 0.2]]), min_separation=1.0)
    array([[0.75, 0.25],
           [0.  , 0.  ]])
    """
    kept = separation >= min_separation
    known = separation >= 0.0
    # Relative to the row's largest, which a cut keeps if it keeps any, so that no power can overflow. A class without
    # samples has NaN, and keeps none.
    largest = np.max(np.where(known, separation, 0.0), axis=-1, keepdims=True)
    relative = np.divide(separation, largest, out=np.zeros(separation.shape), where=known & (largest > 0))
    raised = np.where(kept, relative**weight_power, 0.0)
    total = raised.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(raised, total, out=np.zeros_like(raised), where=total > 0))


def pooling_rule(
    responses: ResponseArray,
    weights: NDArray[np.float64],
    *,
    distance_power: float = 2.0,
    veto_distance: float = np.inf,
    veto_count: int = 1,
) -> PoolingRule:
    """Response array, weights and veto, laid out for the kernels. Classes without samples lose their weights."""
    from aftermax.sph import _kernels

    weights = np.where(responses.counts[:, None] > 0, weights, 0.0)
    units = np.argsort(-weights, axis=1, kind="stable")
    ordered = np.take_along_axis(weights, units, axis=1)
    center, left, right = (
        np.take_along_axis(array, units, axis=1) for array in (responses.center, responses.left, responses.right)
    )
    return _kernels.PoolingRule(
        # In one order, or numba compiles its loops again for a file that has them in another.
        np.ascontiguousarray(responses.center),
        np.ascontiguousarray(responses.left),
        np.ascontiguousarray(responses.right),
        np.ascontiguousarray(weights),
        float(distance_power),
        float(veto_distance),
        int(veto_count),
        np.count_nonzero(weights, axis=1),
        np.ascontiguousarray(units.T),
        np.stack([center.T, _steps(ordered, left).T, _steps(ordered, right).T], axis=2),
    )


def _steps(weights: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """weight / side: finite, so that a logit right at the center is at distance 0 however narrow the side is."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(weights / sides, np.finfo(np.float64).max))


def pooled_scores(logits: NDArray[np.float64], rule: PoolingRule) -> NDArray[np.float64]:
    """P: every class's pooled score for every sample, the lower the likelier; inf for a class that is never pooled."""
    from aftermax.sph import _kernels

    scores = np.empty(logits.shape[::-1])

    def score(first: int, last: int) -> None:
        columns = np.ascontiguousarray(logits[first:last].T)
        out = np.empty_like(columns)
        _kernels.pooled_scores(columns, rule, out)
        scores[:, first:last] = out

    over_ranges(score, len(logits), samples_per_range(logits.shape[1]))
    return scores.T
