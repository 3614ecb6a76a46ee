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
from aftermax.sph._sweep_rules import PoolingRules, pooling_rules
from aftermax.sph.grid import AXES, Block, block_shape
from aftermax.sph.response_array import fit_response_array

# What is counted for every combination, under its name in the columns; with weights, there are also the squared weights
# of wins and losses.
COUNTS = ("wins", "losses", "pooled", "trusted")
SQUARES = len(COUNTS)
OUTCOMES = 3
# The order of the axes in which the kernels count.
COUNTED_AXES = ("certainty", "distance_power", "veto", "min_separation", "weight_power", "min_gain")


class SweepSamples(NamedTuple):
    """Labelled samples with softmax's predictions and certainties. Labels and predictions are column numbers.

    The weights, if there are any, are those of :func:`~aftermax.sph._weights.positive_weights`.
    """

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    softmax: NDArray[np.int64]
    certainty: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls, logits: NDArray[np.float64], codes: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> SweepSamples:
        """Compute softmax's predictions and certainties."""
        return cls(logits, codes, logits.argmax(axis=1), softmax_certainty(logits), weights)

    @property
    def errors(self) -> int:
        """How many samples softmax gets wrong."""
        return int(np.count_nonzero(self.softmax != self.codes))

    def take(self, which: NDArray[Any]) -> SweepSamples:
        """Some of the samples."""
        arrays: list[Any] = [None if array is None else array[which] for array in self]
        return SweepSamples(*arrays)

    def writeable(self) -> SweepSamples:
        """As the kernels were compiled for: joblib gives other processes arrays that are read-only."""
        arrays: list[Any] = [None if array is None else np.require(array, requirements="W") for array in self]
        return SweepSamples(*arrays)


def count_combinations(fitted: SweepSamples, evaluated: SweepSamples, block: Block) -> NDArray[Any]:
    """Counts of every combination of a block with one window and one center: an array of 4 x the block's shape.

    If the samples have weights, these are summed in place of counts, and there is a fifth sum, of their squares.
    """
    with one_thread():
        ready = fitted.writeable()
        return _count_combinations(ready, ready if evaluated is fitted else evaluated.writeable(), block)


def _count_combinations(fitted: SweepSamples, evaluated: SweepSamples, block: Block) -> NDArray[Any]:
    from aftermax.sph import _sweep_kernels

    n_classes = fitted.logits.shape[1]
    rows, kind = (len(COUNTS), np.int64) if fitted.weights is None else (len(COUNTS) + 1, np.float64)
    if len(fitted.codes) == 0:  # a fold of a handful of samples: no class can be pooled
        return np.zeros((rows, *block_shape(block)), dtype=kind)
    ((low, high),), (center,) = block["window"], block["center"]
    array = fit_response_array(
        fitted.logits, fitted.codes, np.arange(n_classes), fitted.certainty, center, low, high, fitted.weights
    )
    rules = pooling_rules(array, block)
    gates = np.unique(block["certainty"])
    if evaluated is fitted:
        net_wins, outcomes = _tally(fitted, gates, rules)
    else:
        net_wins, _ = _tally(fitted, gates, rules, outcomes=False)
        _, outcomes = _tally(evaluated, gates, rules, net_wins=False)
    min_gains = np.array(block["min_gain"], dtype=np.float64)
    counts = np.zeros((rows, *net_wins.shape[:2], net_wins.shape[3], len(min_gains)), dtype=kind)
    uncertain = np.ascontiguousarray(_uncertain(fitted, gates)[:, rules.present])
    _sweep_kernels.sum_trusted(net_wins, outcomes, uncertain, min_gains, counts)
    asked = counts[:, np.searchsorted(gates, block["certainty"])]
    parted = asked.reshape(rows, *(len(block[axis]) for axis in COUNTED_AXES))
    order = [1 + COUNTED_AXES.index(axis) for axis in AXES if axis in COUNTED_AXES]
    return parted.transpose(0, *order).reshape(rows, *block_shape(block))


def _uncertain(samples: SweepSamples, gates: NDArray[np.float64]) -> NDArray[Any]:
    """How many samples of each class, or how much of their weight, are below each gate."""

    def below(gate: float) -> NDArray[Any]:
        some = samples.certainty < gate
        weights = None if samples.weights is None else samples.weights[some]
        return np.bincount(samples.codes[some], weights, minlength=samples.logits.shape[1])

    return np.array([below(gate) for gate in gates])


def _tally(
    samples: SweepSamples,
    gates: NDArray[np.float64],
    rules: PoolingRules,
    *,
    net_wins: bool = True,
    outcomes: bool = True,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of the samples below each gate, net wins by true class and outcomes by predicted class, for ``sum_trusted``.

    Trust needs net wins alone, which are faster to count than outcomes.
    """
    from aftermax.sph import _sweep_kernels

    bins = np.searchsorted(gates, samples.certainty, side="right")
    below = np.argsort(bins, kind="stable")[: np.count_nonzero(bins < len(gates))]
    weights = np.ones(len(below), dtype=np.int32) if samples.weights is None else samples.weights[below]
    numbers = np.full(samples.logits.shape[1], -1)
    numbers[rules.present] = np.arange(len(rules.present))
    codes, right = samples.codes[below], samples.softmax[below] == samples.codes[below]
    chosen = (samples.logits[below], numbers[codes], right, weights, bins[below])
    shape = (len(rules.powers), len(rules.veto_counts), len(rules.present), len(rules.weights))
    sums = OUTCOMES if samples.weights is None else OUTCOMES + 1
    net = np.zeros((len(gates) if net_wins else 0, *shape), dtype=weights.dtype)
    by_outcome = np.zeros((len(gates) if outcomes else 0, *shape, sums), dtype=weights.dtype)
    _sweep_kernels.tally_predictions(*chosen, rules, net, by_outcome)
    pairs = shape[0] * shape[1]
    return (
        np.cumsum(net, axis=0, out=net).reshape(len(net), pairs, *shape[2:]),
        np.cumsum(by_outcome, axis=0, out=by_outcome).reshape(len(by_outcome), pairs, *shape[2:], sums),
    )
