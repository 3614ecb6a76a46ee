"""The outcomes of all combinations of hyperparameters that share a response array: one task of the sweep.

A sample's pooled prediction depends on the weights, the power and the veto. Counted by prediction and by certainty, the
samples then give every certainty and every ``min_gain`` as cumulative sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.softmax import softmax_certainty
from aftermax._utils.threads import one_thread
from aftermax.sph._pooling import pooling_weights
from aftermax.sph.grid import AXES, Block, block_shape
from aftermax.sph.response_array import ResponseArray, fit_response_array

# What is counted for every combination, under its name in the columns.
COUNTS = ("wins", "losses", "pooled", "trusted")
OUTCOMES = 3
LANES = 16
# The order of the axes in which the kernels count.
COUNTED_AXES = ("certainty", "distance_power", "veto", "min_separation", "weight_power", "min_gain")


class SweepSamples(NamedTuple):
    """Labelled samples with softmax's predictions and certainties. Labels and predictions are column numbers."""

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    softmax: NDArray[np.int64]
    certainty: NDArray[np.float64]

    @classmethod
    def of(cls, logits: NDArray[np.float64], codes: NDArray[np.int64]) -> SweepSamples:
        """Compute softmax's predictions and certainties."""
        return cls(logits, codes, logits.argmax(axis=1), softmax_certainty(logits))

    @property
    def errors(self) -> int:
        """How many samples softmax gets wrong."""
        return int(np.count_nonzero(self.softmax != self.codes))

    def take(self, which: NDArray[Any]) -> SweepSamples:
        """Some of the samples."""
        return SweepSamples(*(array[which] for array in self))

    def writeable(self) -> SweepSamples:
        """As the kernels were compiled for: joblib gives other processes arrays that are read-only."""
        arrays: list[NDArray[Any]] = [np.require(array, requirements="W") for array in self]
        return SweepSamples(*arrays)


def count_combinations(fitted: SweepSamples, evaluated: SweepSamples, block: Block) -> NDArray[np.int64]:
    """Counts of every combination of a block with one window and one center: an array of 4 x the block's shape."""
    with one_thread():
        return _count_combinations(fitted.writeable(), evaluated.writeable(), block)


def _count_combinations(fitted: SweepSamples, evaluated: SweepSamples, block: Block) -> NDArray[np.int64]:
    from aftermax.sph import _sweep_kernels

    n_classes = fitted.logits.shape[1]
    (window,), (center,) = block["window"], block["center"]
    array = fit_response_array(fitted.logits, fitted.codes, np.arange(n_classes), fitted.certainty, center, *window)
    weights = _weights(array, block)
    gates = np.unique(block["certainty"])
    by_class = _tally(fitted, gates, array, weights, block, by_prediction=False)
    by_prediction = _tally(evaluated, gates, array, weights, block, by_prediction=True)
    uncertain = np.array([np.bincount(fitted.codes[fitted.certainty < gate], minlength=n_classes) for gate in gates])
    min_gains = np.array(block["min_gain"], dtype=np.float64)
    counts = np.zeros((len(COUNTS), len(gates), by_class.shape[1], len(min_gains)), dtype=np.int64)
    _sweep_kernels.sum_trusted(by_class, by_prediction, uncertain, min_gains, counts)
    asked = counts[:, np.searchsorted(gates, block["certainty"])]
    parted = asked.reshape(len(COUNTS), *(len(block[axis]) for axis in COUNTED_AXES))
    order = [1 + COUNTED_AXES.index(axis) for axis in AXES if axis in COUNTED_AXES]
    return parted.transpose(0, *order).reshape(len(COUNTS), *block_shape(block))


def _weights(array: ResponseArray, block: Block) -> NDArray[np.float64]:
    """The weights of every pair of min_separation and weight_power, as the kernel wants them: class x unit x pair."""
    separation = array.separation()
    cuts = np.array(block["min_separation"], dtype=np.float64)[:, None, None]
    powers = block["weight_power"]
    weight_sets = len(cuts) * len(powers)
    weights = np.zeros((*separation.shape, padded(weight_sets)))
    for first, power in enumerate(powers):
        of_cuts = pooling_weights(separation, min_separation=cuts, weight_power=power)
        weights[..., first : weight_sets : len(powers)] = np.moveaxis(of_cuts, 0, 2)
    return weights


def padded(weight_sets: int) -> int:
    """How many sets of weights to lay out for the kernel: loops of odd lengths are several times slower."""
    return -(-weight_sets // LANES) * LANES if weight_sets > LANES // 2 else weight_sets


def _tally(
    samples: SweepSamples,
    gates: NDArray[np.float64],
    array: ResponseArray,
    weights: NDArray[np.float64],
    block: Block,
    *,
    by_prediction: bool,
) -> NDArray[np.int32]:
    """Samples below each gate: gate x rule x class x outcome, where the class is the predicted or the true one."""
    from aftermax.sph import _sweep_kernels

    powers, vetoes = (np.array(block[axis], dtype=np.float64) for axis in ("distance_power", "veto"))
    bins = np.searchsorted(gates, samples.certainty, side="right")
    below = np.argsort(bins, kind="stable")[: np.count_nonzero(bins < len(gates))]
    weight_sets = len(block["min_separation"]) * len(block["weight_power"])
    shape = (len(gates), len(powers), len(vetoes) + 1, weight_sets, weights.shape[0], OUTCOMES)
    tally = np.zeros(shape, dtype=np.int32)
    arrays = (array.center, array.left, array.right)
    chosen = (samples.logits[below], samples.codes[below], samples.softmax[below], bins[below])
    _sweep_kernels.tally_predictions(*chosen, by_prediction, arrays, weights, powers, vetoes, tally)
    np.cumsum(tally, axis=0, out=tally)
    return np.ascontiguousarray(tally[:, :, :-1]).reshape(len(gates), -1, *shape[4:])
