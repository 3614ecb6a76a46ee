"""Heads that start from the logits, add what labelled rows teach, and shrink towards adding nothing.

A head weighs several corrections: a linear map, kernels, and log-likelihoods with full covariances. None of them
answers by itself. All weights are shrunk towards zero, and with no evidence for any of them softmax is what remains.

The kernels (and linear maps of features, or where classes are many) are fitted by least squares to the one-hot labels.
That has a closed form, in which each row's score *without that row* costs nothing more: so a whole path of penalties
can be judged by held-out log-loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.corrections import TINY, Correction, Kernel, Linear, Space, View, bounded, held_out_gaussian
from aftermax._residual.linear import held_out_map
from aftermax._residual.stacking import Combination, Scores, combine
from aftermax._utils.softmax import softmax_certainty

PENALTIES = tuple(10.0**power for power in range(0, -8, -1))  # of least squares, the strongest first
MAPPED_CLASSES = 50  # at most, for a linear map by logistic regression; with more classes, by least squares
CENTERS = (300, 600, 600)  # of the kernels, from the widest to the narrowest
LEAST_DOUBT = 0.05  # with which a row that softmax is certain of is drawn as a center
ROWS_TO_CHOOSE_ON = 2_000  # a penalty
VALUES_TO_WEIGH_ON, ROWS_TO_WEIGH_ON = 1_000_000, 5_000  # experts: one of these numbers, whichever are more rows
CHUNK = 2_000
MASKED = 200.0  # times the typical lead over the second: what is so far below the largest is no response
DEPTH = 10.0  # typical leads below the largest, all logits look the same to the corrections


class Samples(NamedTuple):
    """Labelled rows: logits, true classes as column numbers, weights with mean 1, and features if there are any."""

    logits: NDArray[np.float64]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    features: NDArray[np.float64] | None = None

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Samples:
        """Some of the rows."""
        weights = self.weights[rows]
        features = None if self.features is None else self.features[rows]
        return Samples(self.logits[rows], self.codes[rows], weights / weights.mean(), features)

    @property
    def inputs(self) -> list[NDArray[np.float64]]:
        """What the corrections may look at."""
        return [self.logits] if self.features is None else [self.logits, self.features]


# ---- the head --------------------------------------------------------------------------------------------------------


class Look(NamedTuple):
    """A way to look at rows: at their logits (0) or their features (1), in a space of its own, from some centers."""

    source: int
    depth: float  # how far below the largest logits are told apart; infinite for features
    space: Space
    centers: NDArray[np.float64]

    def places(self, inputs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Where the rows are."""
        values = inputs[self.source]
        return self.space(values if np.isinf(self.depth) else bounded(values, self.depth))


class Expert(NamedTuple):
    """A fitted correction, what it is called, and where it looks."""

    name: str
    look: int
    correction: Correction


@dataclass(frozen=True)
class ResidualHead:
    """Logits and corrections, weighed."""

    scale: float  # logits are divided by it
    looks: Sequence[Look]
    experts: Sequence[Expert]
    combination: Combination

    def scores(self, inputs: Sequence[NDArray[np.float64]]) -> Scores:
        """A score for each row and class: softmax of them gives probabilities."""
        return self.combination.scores(self.opinions(inputs))

    def opinions(self, inputs: Sequence[NDArray[np.float64]]) -> list[Scores]:
        """What each expert says: the logits first, then the corrections."""
        views = [View(look.places(inputs), look.centers) for look in self.looks]
        return [inputs[0] / self.scale, *(expert.correction.scores(views[expert.look]) for expert in self.experts)]

    def weights_by_name(self) -> dict[str, float]:
        """The weights of the experts of each name, summed up."""
        names = ["logits", *(expert.name for expert in self.experts)]
        return {name: float(self.combination.weights[[one == name for one in names]].sum()) for name in names}


def fit_residual(sample: Samples, rng: np.random.Generator) -> dict[str, ResidualHead]:
    """Heads with one kind of correction each, and the one with all of them, by name.

    The corrections are the same in all of them; a head that leaves some out gives them no weight.
    """
    scale, logits = in_units(sample.logits)
    size = logits.shape[1]
    chosen = choose_centers(logits, rng)
    most = max(ROWS_TO_WEIGH_ON, VALUES_TO_WEIGH_ON // size)
    weighed = slice(None, None, -(-len(logits) // most))
    looks: list[Look] = []
    experts: list[Expert] = []
    held_out = [logits[weighed]]
    for source, values in enumerate(sample.inputs):
        depth = np.inf if source else DEPTH * scale
        space = Space.fit(values if source else logits * scale)
        places = Look(source, depth, space, values[:0]).places(sample.inputs)
        looks.append(Look(source, depth, space, places[chosen]))
        kind = " of features" if source else ""
        if not source:
            gaussian, opinions = held_out_gaussian(places, sample.codes, sample.weights, size)
            experts.append(Expert("gaussian", source, gaussian))
            held_out.append(opinions[weighed])
        if source or size > MAPPED_CLASSES:
            found = fit_least_squares(places.__getitem__, np.eye(places.shape[1]), sample, logits, weighed)
            linear, opinions = Linear(found.coefficients, found.offsets), found.held_out
        else:
            linear, opinions = held_out_map(places, sample.codes, sample.weights, logits)
            opinions = opinions[weighed]
        experts.append(Expert("linear" + kind, source, linear))
        held_out.append(opinions)
        centers = View(places[chosen], places[chosen])
        for level, count in enumerate(CENTERS):
            design = partial(_nearness, places, centers.places[:count], level)
            root = _root(centers.nearness(level, count)[:count])
            found = fit_least_squares(design, root, sample, logits, weighed)
            experts.append(Expert("kernel" + kind, source, Kernel(level, found.coefficients, found.offsets)))
            held_out.append(found.held_out)
    groups: dict[str, set[str]] = {"biases": set(), **{expert.name: {expert.name} for expert in experts}}
    groups["combination"] = {expert.name for expert in experts}
    return {
        name: ResidualHead(scale, looks, experts, _weigh(held_out, experts, used, sample, weighed))
        for name, used in groups.items()
    }


def in_units(logits: NDArray[np.float64]) -> tuple[float, Scores]:
    """A unit to measure logits in, and the logits in it, bounded."""
    scale = typical_lead(logits)
    return scale, bounded(logits, DEPTH * scale) / scale


def typical_lead(logits: NDArray[np.float64]) -> float:
    """How far the largest logit of a row lies above the middle one, in the middle of all rows: the unit of logits."""
    second, largest = np.partition(logits, -2, axis=1)[:, -2:].T
    masked = largest[:, None] - logits > MASKED * np.median(largest - second)
    if masked.any() and np.median(largest - second) > 0:  # -1e4 and the like: not responses
        leads = largest - np.nanmedian(np.where(masked, np.nan, logits), axis=1)
    else:
        leads = largest - np.median(logits, axis=1)
    return max(float(np.median(leads)), float(leads.mean()) * 1e-3, TINY)


def choose_centers(logits: Scores, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows to be centers of the kernels, drawn at random: the more uncertain, the likelier."""
    doubt = 1 - softmax_certainty(logits)
    lots = np.log(rng.random(len(doubt))) / (doubt + LEAST_DOUBT)
    return np.argsort(-lots, kind="stable")[: CENTERS[-1]]


def _nearness(
    places: NDArray[np.float64], centers: NDArray[np.float64], level: int, rows: slice
) -> NDArray[np.float64]:
    return View(places[rows], centers).nearness(level, len(centers))


def _weigh(
    held_out: list[Scores], experts: list[Expert], used: set[str], sample: Samples, weighed: slice
) -> Combination:
    """The weights of the experts, some of which may not be used, by the rows that are ``weighed``."""
    places = [0, *(place for place, expert in enumerate(experts, start=1) if expert.name in used)]
    found, _ = combine([held_out[place] for place in places], sample.codes[weighed], sample.weights[weighed])
    weights = np.zeros(len(held_out))
    weights[places] = found.weights
    return Combination(weights, found.biases)


def _root(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turns the kernel's columns into ones whose coefficients are the length of a function in the kernel's space."""
    lengths, axes = np.linalg.eigh(kernel)
    kept = lengths > 1e-10 * lengths[-1]
    return np.asarray(axes[:, kept] / np.sqrt(lengths[kept]))


# ---- least squares ---------------------------------------------------------------------------------------------------


class LeastSquares(NamedTuple):
    """What a ridge regression on the one-hot labels found: coefficients, offsets, and scores of rows without them."""

    coefficients: NDArray[np.float64]
    offsets: NDArray[np.float64]
    held_out: Scores


Design = Callable[[slice], NDArray[np.float64]]


class _Moments:
    """Weighted sums over all rows that a regression on the columns of a design is made of."""

    def __init__(self, design: Design, sample: Samples, root: NDArray[np.float64]) -> None:
        rows, size = sample.logits.shape
        self.design = design
        self.shares = sample.weights / rows
        self.codes = sample.codes
        self.mean = np.bincount(sample.codes, self.shares, minlength=size)
        self.center = np.zeros(len(root))
        gram, targets = np.zeros((len(root), len(root))), np.zeros((len(root), size))
        for some in _chunks(rows):
            columns = design(some)
            weighted = columns * self.shares[some, None]
            self.center += weighted.sum(axis=0)
            gram += columns.T @ weighted
            targets += weighted.T @ self._labels(some)
        gram -= np.outer(self.center, self.center)  # labels have mean 0, so the targets are centered already
        lengths, axes = np.linalg.eigh(root.T @ gram @ root)
        kept = lengths > TINY * lengths[-1]
        self.lengths, self.axes = lengths[kept], root @ axes[:, kept]
        self.targets = self.axes.T @ targets

    def _labels(self, rows: slice) -> Scores:
        """One-hot labels, less their mean."""
        codes = self.codes[rows]
        labels: Scores = np.tile(-self.mean, (len(codes), 1))
        labels[np.arange(len(codes)), codes] += 1.0
        return labels

    def coefficients(self, penalty: float) -> NDArray[np.float64]:
        """In the directions that the gram matrix has."""
        return np.asarray(self.targets / (self.lengths + penalty)[:, None])

    def turned(self, rows: slice) -> NDArray[np.float64]:
        """Rows of the design in these directions."""
        return np.asarray((self.design(rows) - self.center) @ self.axes)

    def without_each(self, rows: slice, turned: NDArray[np.float64], penalty: float) -> Scores:
        """The rows' scores, each by a regression without that row."""
        labels = self._labels(rows)
        own = self.shares[rows] * (np.square(turned) @ (1 / (self.lengths + penalty)) + 1)
        residuals = labels - turned @ self.coefficients(penalty)
        residuals /= np.maximum(1 - own, 1e-6)[:, None]
        return np.asarray(labels - residuals + self.mean)


def fit_least_squares(
    design: Design, root: NDArray[np.float64], sample: Samples, logits: Scores, weighed: slice
) -> LeastSquares:
    """One-hot labels on the columns of ``design``, with the penalty that helps the logits most.

    ``design`` gives the columns for some rows, and ``root`` turns them into ones whose coefficients are penalised
    alike. The penalties are tried from the strongest to the weakest, each time starting from the combination found
    before. Rows that are ``weighed`` get scores without themselves.
    """
    moments = _Moments(design, sample, root)
    some = slice(None, None, max(1, len(logits) // ROWS_TO_CHOOSE_ON))
    turned = moments.turned(some)
    best, least, start = PENALTIES[0], np.inf, None
    for penalty in PENALTIES:
        experts = [logits[some], moments.without_each(some, turned, penalty)]
        start, loss = combine(experts, sample.codes[some], sample.weights[some], biases=False, start=start)
        if loss < least:
            best, least = penalty, loss
    held_out = np.concatenate(
        [moments.without_each(part, moments.turned(part), best) for part in _chunks(len(logits), weighed.step)]
    )
    coefficients = moments.axes @ moments.coefficients(best)
    return LeastSquares(coefficients, moments.mean - moments.center @ coefficients, held_out)


def _chunks(rows: int, step: int = 1) -> list[slice]:
    """Every row, or every so many-th, some at a time."""
    return [slice(first, first + CHUNK * step, step) for first in range(0, rows, CHUNK * step)]
