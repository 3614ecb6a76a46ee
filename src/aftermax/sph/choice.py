"""The choice of SPH's hyperparameters by cross-validation, and nested cross-validation of the choice itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.comparison import Comparison
from aftermax._utils.folds import (
    Split,
    content_order,
    group_folds,
    keyed_folds,
    sample_keys,
    splits_of,
    stratified_folds,
)
from aftermax._utils.groups import numbered_by_appearance
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.splits import splits_among
from aftermax.sph._fit import fit_sph
from aftermax.sph._sweep_counts import SQUARES, SweepSamples
from aftermax.sph.fitted import FittedSPH
from aftermax.sph.grid import DEFAULTS, Block, departures, grid_columns
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from aftermax.sph.sweep import sweep_splits

Columns = dict[str, NDArray[Any]]  # of equal length, a row for each combination of hyperparameters


@dataclass(frozen=True)
class Choice:
    """What was chosen, what it gains out-of-fold, and the table that it was chosen from."""

    head: FittedSPH  # fitted on all samples; with certainty 0, so softmax, if the gain is not significant
    fell_back: bool
    comparison: Comparison  # of the out-of-fold predictions with softmax's
    out_of_fold: NDArray[np.int64]  # by hyperparameters chosen without the sample; softmax's if it was never held out
    held_out: NDArray[np.bool_]  # which samples were held out
    cv_results: Columns
    best_index: int


def choose_sph(
    samples: LabelledSamples,
    blocks: list[Block],
    *,
    cv: int,
    n_repeats: int,
    alpha: float,
    rng: np.random.Generator,
    n_jobs: int | None,
    progress: bool | None,
    groups: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
    splits: Sequence[Split] | None = None,
) -> Choice:
    """Choose among the combinations of a grid, of which the last must be softmax.

    The weights, if there are any, are those of :func:`~aftermax.sph._weights.positive_weights`. The ``splits`` are the
    outer ones, of the proof; if None, they are drawn.
    """
    order = content_order(samples.logits, samples.codes)  # so that the order of the samples has no effect
    ordered = SweepSamples.of(samples.logits, samples.codes, weights).take(order)
    columns = grid_columns(blocks)
    columns["departures"] = departures(columns)
    together = None if groups is None else numbered_by_appearance(groups[order])  # names have no effect either
    if splits is None:
        outer = splits_of(_outer_folds(ordered, together, cv, rng))
    else:
        outer = splits_among(splits, order, len(order))
    if not all(len(train) for train, _ in outer):
        raise ValueError(
            f"{len(order)} samples are too few to choose by, as all of them are held out at once (identical ones and "
            "those of one group are held out together): pass more, or use SPHClassifier, which chooses nothing."
        )
    parts = [*(train for train, _ in outer), np.arange(len(order))]
    inner = [_inner_splits(ordered.codes, together, part, cv, n_repeats, rng) for part in parts]
    counts = _cross_validated_counts(ordered, inner, blocks, n_jobs, progress)
    *for_folds, for_all = (columns | {name: sums / n_repeats for name, sums in part.items()} for part in counts)

    predictions, held_out = _out_of_fold(ordered, samples.classes, outer, for_folds)
    comparison = _comparison(ordered, predictions, held_out, together)
    best_index = choose(for_all, len(order))
    chosen = _hyperparameters(for_all, best_index)
    fell_back = comparison.p_value >= alpha or comparison.gain <= 0 or chosen["certainty"] == 0
    if fell_back:
        chosen = DEFAULTS | {"certainty": 0.0}
    back = np.argsort(order)
    return Choice(
        head=fit_sph(*samples, chosen, weights),
        fell_back=fell_back,
        comparison=comparison,
        out_of_fold=predictions[back],
        held_out=held_out[back],
        cv_results=_results(for_all, ordered),
        best_index=best_index,
    )


# ---- folds -----------------------------------------------------------------------------------------------------------


def _outer_folds(
    samples: SweepSamples, groups: NDArray[np.int64] | None, cv: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The folds of the proof: see :func:`~aftermax._utils.folds.keyed_folds` for why they are not stratified."""
    if groups is not None:
        return group_folds(groups, cv, rng)
    return keyed_folds(sample_keys(samples.logits), cv, int(rng.integers(2**63)))


def _inner_splits(
    codes: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
    part: NDArray[np.intp],
    cv: int,
    n_repeats: int,
    rng: np.random.Generator,
) -> list[Split]:
    """The splits of the choice, on some of the samples. If all of these are of one group, it is divided."""
    some = None if groups is None else numbered_by_appearance(groups[part])
    out: list[Split] = []
    for _ in range(n_repeats):
        if some is None or some.max() == 0:
            folds = stratified_folds(codes[part], cv, rng)
        else:
            folds = group_folds(some, cv, rng)
        out += [(part[train], part[test]) for train, test in splits_of(folds)]
    return out


# ---- the table and its proof -----------------------------------------------------------------------------------------


def _cross_validated_counts(
    samples: SweepSamples,
    inner: list[list[Split]],
    blocks: list[Block],
    n_jobs: int | None,
    progress: bool | None,
) -> list[Columns]:
    """Wins and losses of every combination, summed over the splits of each list."""
    pairs = ((samples.take(train), samples.take(test)) for splits in inner for train, test in splits)
    n_classes, number = samples.logits.shape[1], sum(map(len, inner))
    counts = sweep_splits(pairs, number, n_classes, blocks, n_jobs, progress, "choosing hyperparameters")
    totals = [reduce(np.add, islice(counts, len(splits))) for splits in inner]
    return [
        {"wins": some[0], "losses": some[1]} | ({} if samples.weights is None else {"squares": some[SQUARES]})
        for some in totals
    ]


def _fit(
    samples: SweepSamples, classes: NDArray[Any], part: NDArray[np.intp], hyperparameters: dict[str, Any]
) -> FittedSPH:
    weights = None if samples.weights is None else samples.weights[part]
    return fit_sph(samples.logits[part], samples.codes[part], classes, hyperparameters, weights)


def _out_of_fold(
    samples: SweepSamples, classes: NDArray[Any], outer: list[Split], tables: list[Columns]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Each outer fold, predicted by hyperparameters that were chosen, and a head that was fitted, without it.

    A sample that is held out several times has the class with the largest mean probability.
    """
    times = np.bincount(np.concatenate([test for _, test in outer]), minlength=len(samples.codes))
    predictions = samples.softmax.copy()
    probabilities = np.zeros(samples.logits.shape) if times.max() > 1 else None
    for (train, test), table in zip(outer, tables, strict=True):
        head = _fit(samples, classes, train, _hyperparameters(table, choose(table, len(train))))
        predictions[test] = head.predict([samples.logits[test]])
        if probabilities is not None:
            probabilities[test] += head.predict_proba([samples.logits[test]])
    if probabilities is not None:
        predictions = np.where(times > 1, probabilities.argmax(axis=1), predictions)
    return predictions, times > 0


def _comparison(
    samples: SweepSamples,
    predictions: NDArray[np.int64],
    held_out: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
) -> Comparison:
    some = samples.take(held_out)
    together = None if groups is None else numbered_by_appearance(groups[held_out])
    return Comparison.of(some.softmax == some.codes, predictions[held_out] == some.codes, some.weights, together)


def _hyperparameters(table: Columns, index: int) -> dict[str, Any]:
    return {name: table[name][index].item() for name in HYPERPARAMETERS}


def _results(table: Columns, samples: SweepSamples) -> Columns:
    """The table with gains. Wins and losses are scaled so that the mean weight is 1."""
    weights = np.ones(len(samples.codes)) if samples.weights is None else samples.weights
    errors = float(weights[samples.softmax != samples.codes].sum()) or float(weights.mean())
    net, standard_error = net_wins(table, len(weights))
    scaled = {name: table[name] / weights.mean() for name in ("wins", "losses")}
    shown = {name: column for name, column in table.items() if name != "squares"}
    return shown | scaled | {"gain": net / errors, "standard_error": standard_error / errors}


def net_wins(table: Columns, n_samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wins less losses of each combination on so many samples, and their standard error.

    If samples have weights, the table has the sum of their squares over wins and losses.
    """
    net, squares = table["wins"] - table["losses"], table.get("squares", table["wins"] + table["losses"])
    return net, np.sqrt(np.maximum(squares - net**2 / n_samples, 0.0))


def choose(table: Columns, n_samples: int) -> int:
    """The one-standard-error rule: the simplest combination within one standard error of the best.

    Simplest are those with the fewest hyperparameters away from their defaults; of these the best, then the first.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and regression trees", 1984, section 3.4.3.
    """
    net, standard_error = net_wins(table, n_samples)
    best = np.argmax(net)
    near = np.flatnonzero(net >= net[best] - standard_error[best])
    order = np.lexsort((-net[near], table["departures"][near]))
    return int(near[order[0]])
