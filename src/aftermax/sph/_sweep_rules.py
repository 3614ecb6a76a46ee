"""The pooling rules of one task of the sweep, laid out for its kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax.sph._pooling import pooling_weights
from aftermax.sph.grid import Block
from aftermax.sph.response_array import ResponseArray

BATCH = 64  # samples that the kernels score side by side, so that the innermost loops run over them


class PoolingRules(NamedTuple):
    """Pooling rules that share a response array. A rule is a distance power, a veto and a set of weights.

    Classes without samples are never predicted and are left out: class i is the one whose column is ``present[i]``.
    There is a set of weights for each pair of a cut (``min_separation``) and a weight power, which varies fastest. The
    first block is what SPHClassifier would use; the second has the same weights in factors. The weights that a class
    keeps under a cut are those without a cut, times a scale; and with its units ranked by separation, each cut keeps
    the first ones. So one sum over the ranks passes through the scores under all cuts.
    """

    present: NDArray[np.int64]  # the column of each class that has samples
    center: NDArray[np.float64]  # class x unit
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    weights: NDArray[np.float64]  # set x class x unit
    possible: NDArray[np.bool_]  # set x class: whether the class has a weight at all
    powers: NDArray[np.float64]
    veto_counts: NDArray[np.int64]
    thresholds: NDArray[np.float64]  # the distinct distances of the vetoes, without inf
    threshold_of: NDArray[np.int64]  # the number of each veto's threshold, -1 for no veto

    cuts: NDArray[np.int64]  # the numbers of the cuts, from the highest to the lowest
    kept: NDArray[np.int64]  # class x cut: how many units
    units: NDArray[np.int64]  # class x rank
    shares: NDArray[np.float64]  # class x distance power x weight power x rank: weights without a cut, raised
    scales: NDArray[np.float64]  # class x distance power x set


def pooling_rules(array: ResponseArray, block: Block) -> PoolingRules:
    """The rules of a block with one window and one center."""
    powers = np.array(block["distance_power"], dtype=np.float64)
    cuts = np.array(block["min_separation"], dtype=np.float64)
    distances = np.array([distance for distance, _ in block["veto"]], dtype=np.float64)
    thresholds = np.unique(distances[distances < np.inf])
    present = np.flatnonzero(array.counts)
    separation = array.separation()[present]
    center, left, right = array.center[present], array.left[present], array.right[present]
    every_cut = np.append(cuts, 0.0)[:, None, None]
    by_power = [pooling_weights(separation, min_separation=every_cut, weight_power=w) for w in block["weight_power"]]
    all_weights = np.stack(by_power, axis=1)
    weights, uncut = all_weights[:-1], all_weights[-1]
    units = np.argsort(-separation, axis=1, kind="stable")
    heaviest = (..., np.arange(len(units)), units[:, 0])
    scales = np.divide(weights[heaviest], uncut[heaviest], out=np.zeros(weights.shape[:-1]), where=uncut[heaviest] > 0)
    scales = scales.reshape(-1, len(units))
    shares = np.take_along_axis(uncut, units[None], axis=2)
    with np.errstate(over="ignore"):  # by powers so large that the kernels do without these
        raised_shares, raised_scales = (np.stack([part**power for power in powers]) for part in (shares, scales))
    return PoolingRules(
        present=present,
        center=center,
        left=left,
        right=right,
        weights=weights.reshape(-1, *separation.shape),
        possible=(weights > 0).any(axis=-1).reshape(-1, len(units)),
        powers=powers,
        veto_counts=np.array([count for _, count in block["veto"]], dtype=np.int64),
        thresholds=thresholds,
        threshold_of=np.where(distances < np.inf, np.searchsorted(thresholds, distances), -1),
        cuts=np.argsort(-cuts, kind="stable"),
        kept=np.count_nonzero(separation[..., None] >= cuts, axis=1),
        units=units,
        shares=np.ascontiguousarray(raised_shares.transpose(2, 0, 1, 3)),
        scales=np.ascontiguousarray(raised_scales.transpose(2, 0, 1)),
    )
