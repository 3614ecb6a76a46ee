"""The choice of SPH's hyperparameters by cross-validation, and nested cross-validation of the choice itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.comparison import Comparison
from aftermax._utils.folds import content_order, group_folds, keyed_folds, sample_keys, stratified_folds
from aftermax._utils.labelled_samples import LabelledSamples
from aftermax._utils.paired_tests import relative_gain
from aftermax.sph._fit import fit_sph
from aftermax.sph._sweep_counts import SweepSamples
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
    out_of_fold: NDArray[np.int64]  # predictions by hyperparameters that were chosen without the sample
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
) -> Choice:
    """Choose among the combinations of a grid, of which the last must be softmax."""
    order = content_order(samples.logits, samples.codes)  # so that the order of the samples has no effect
    ordered = SweepSamples.of(samples.logits[order], samples.codes[order])
    columns = grid_columns(blocks)
    columns["departures"] = departures(columns)
    together = None if groups is None else groups[order]
    outer = _outer_folds(ordered, together, cv, rng)
    counts = _cross_validated_counts(ordered, together, outer, blocks, cv, n_repeats, rng, n_jobs, progress)
    *for_folds, for_all = (columns | part for part in counts)

    predictions = _out_of_fold(ordered, samples.classes, outer, for_folds)
    before, after = ordered.softmax == ordered.codes, predictions == ordered.codes
    comparison = Comparison.of(before, after, groups=together)

    best_index = choose(for_all, len(after))
    chosen = _hyperparameters(for_all, best_index)
    fell_back = comparison.p_value >= alpha or comparison.gain <= 0 or chosen["certainty"] == 0
    if fell_back:
        chosen = DEFAULTS | {"certainty": 0.0}
    out_of_fold = np.empty(len(order), dtype=np.int64)
    out_of_fold[order] = predictions
    return Choice(
        head=fit_sph(*samples, chosen),
        fell_back=fell_back,
        comparison=comparison,
        out_of_fold=out_of_fold,
        cv_results=_results(for_all, int(np.count_nonzero(~before)), len(after)),
        best_index=best_index,
    )


def _outer_folds(
    samples: SweepSamples, groups: NDArray[np.int64] | None, cv: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The folds of the proof: see :func:`~aftermax._utils.folds.keyed_folds` for why they are not stratified."""
    if groups is not None:
        return group_folds(groups, cv, rng)
    return keyed_folds(sample_keys(samples.logits), cv, int(rng.integers(2**63)))


def _inner_folds(
    codes: NDArray[np.int64], groups: NDArray[np.int64] | None, cv: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The folds of the choice."""
    if groups is None:
        return stratified_folds(codes, cv, rng)
    return group_folds(np.unique(groups, return_inverse=True)[1], cv, rng)


def _cross_validated_counts(
    samples: SweepSamples,
    groups: NDArray[np.int64] | None,
    outer: NDArray[np.int64],
    blocks: list[Block],
    cv: int,
    n_repeats: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    progress: bool | None,
) -> list[Columns]:
    """Wins and losses of every combination by cross-validation: without each of the outer folds, and on all samples."""
    parts = [np.flatnonzero(outer != fold) for fold in np.unique(outer)] + [np.arange(len(outer))]
    of_parts = [(samples.codes[part], None if groups is None else groups[part]) for part in parts]
    inner = [[_inner_folds(*of_part, cv, rng) for _ in range(n_repeats)] for of_part in of_parts]
    numbers = [sum(len(np.unique(folds)) for folds in repeats) for repeats in inner]
    splits = (
        (samples.take(part[folds != fold]), samples.take(part[folds == fold]))
        for part, repeats in zip(parts, inner, strict=True)
        for folds in repeats
        for fold in np.unique(folds)
    )
    n_classes = samples.logits.shape[1]
    counts = sweep_splits(splits, sum(numbers), n_classes, blocks, n_jobs, progress, "choosing hyperparameters")
    totals = [reduce(np.add, islice(counts, number)) / n_repeats for number in numbers]
    return [{"wins": wins, "losses": losses} for wins, losses, *_ in totals]


def _out_of_fold(
    samples: SweepSamples, classes: NDArray[Any], outer: NDArray[np.int64], tables: list[Columns]
) -> NDArray[np.int64]:
    """Each outer fold, predicted by hyperparameters that were chosen, and a head that was fitted, without it."""
    predictions = np.empty(len(outer), dtype=np.int64)
    for fold, table in zip(np.unique(outer), tables, strict=True):
        held_out, others = outer == fold, outer != fold
        chosen = choose(table, int(np.count_nonzero(others)))
        head = fit_sph(samples.logits[others], samples.codes[others], classes, _hyperparameters(table, chosen))
        predictions[held_out] = head.predict([samples.logits[held_out]])
    return predictions


def _hyperparameters(table: Columns, index: int) -> dict[str, Any]:
    return {name: table[name][index].item() for name in HYPERPARAMETERS}


def _results(table: Columns, errors: int, n_samples: int) -> Columns:
    _, standard_error = net_wins(table, n_samples)
    return table | {
        "gain": relative_gain(table["wins"], table["losses"], errors),
        "standard_error": standard_error / max(errors, 1),
    }


def net_wins(table: Columns, n_samples: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wins less losses of each combination on so many samples, and their standard error."""
    net, changed = table["wins"] - table["losses"], table["wins"] + table["losses"]
    return net, np.sqrt(changed - net**2 / n_samples)


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
