"""Every combination of SPH's hyperparameters at once.

Distances depend on the window and the center alone; pooled predictions on these, the weights, the power and the veto;
and once the samples are counted by prediction and by certainty, every certainty and every ``min_gain`` follow from
cumulative sums. So there is one pass over the samples for each window and center, and the rest is counting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray

from aftermax._utils.labelled_samples import labelled_samples
from aftermax._utils.labels import label_codes
from aftermax._utils.large import predicted_columns
from aftermax._utils.misaligned_columns import warn_if_misaligned
from aftermax._utils.one_logit import is_one_logit
from aftermax._utils.paired_tests import relative_gain
from aftermax._utils.progress import Progress
from aftermax._utils.unpredicted_classes import warn_if_unpredicted
from aftermax._utils.validation import as_logits, compute_ready
from aftermax.sph._sweep_counts import COUNTS, OUTCOMES, SweepSamples, count_combinations
from aftermax.sph._sweep_rules import BATCH
from aftermax.sph.grid import AXES, Block, Grid, block_shape, default_grid, grid_blocks, grid_columns
from aftermax.sph.response_array import is_in_window

MAX_COUNTERS = 2**22  # of a task, which has a few arrays of them, at four or eight bytes each
MAX_WEIGHTS = 2**24  # of a task: how many numbers they and a batch's scores may take, intermediate arrays included
MAX_COMBINATIONS = 10**8  # the columns of more fill the memory of most machines


def sweep(
    logits: ArrayLike,
    labels: ArrayLike,
    grid: Grid | None = None,
    *,
    eval_logits: ArrayLike | None = None,
    eval_labels: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_jobs: int | None = -1,
    progress: bool | None = None,
) -> dict[str, NDArray[Any]]:
    """Fit :class:`~aftermax.SPHClassifier` with every combination of hyperparameters, and evaluate each.

    The results are those of fitting and evaluating one by one, thousands of times faster.

    Parameters
    ----------
    logits : array-like of shape (n_samples, n_classes), (n_samples, 1) or (n_samples,)
        The model's outputs before softmax, for the samples to fit on. One logit for each sample, of a binary model, is
        the log-odds of the second class.
    labels : array-like of shape (n_samples,)
        Their true classes.
    grid : dict or list of dicts, default=None
        Values to try for each hyperparameter: every combination of a dict's values, for each dict. Those that are not
        named keep their defaults. If None, :func:`~aftermax.default_grid`.
    eval_logits, eval_labels : array-like of shapes (n_eval_samples, n_classes) and (n_eval_samples,), default=None
        The samples to evaluate on. If None, those that were fitted on, which is optimistic.
    classes : array-like of shape (K,), default=None
        The class of each column; see :class:`~aftermax.SPHClassifier`.
    n_jobs : int, default=-1
        Number of parallel tasks, as in joblib; -1 for one on each core. They are threads, unless you choose another
        backend with ``joblib.parallel_config``.
    progress : bool, default=None
        Whether to show a progress bar. If None, on a terminal, after two seconds.

    Returns
    -------
    dict of ndarrays
        A column for each hyperparameter, and: ``accuracy``; ``gain``, the relative reduction of softmax's error (0.1 is
        one error in ten); ``wins`` and ``losses``, the samples that SPH gets right and softmax wrong, and the reverse;
        ``pooled``, the share of samples with pooling's prediction; ``trusted``, the number of trusted classes. One row
        for each combination; ``veto_count`` is not varied where the veto is off. pandas and polars accept it as it
        is.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax import sweep
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(3, size=600)
    >>> logits = rng.normal(size=(600, 3)) + np.array([[2, 1, 0], [0, 1, 0], [0, 1, 2]])[labels]
    >>> grid = {"certainty": [0.0, 0.6, 0.9], "distance_power": [1.0, 2.0]}
    >>> columns = sweep(logits[:300], labels[:300], grid, eval_logits=logits[300:], eval_labels=labels[300:])
    >>> columns["wins"] - columns["losses"]
    array([ 0,  0, 10, 11, 14, 18])
    """
    blocks = grid_blocks(default_grid() if grid is None else grid)
    checked, codes, names = labelled_samples(logits, labels, classes)
    fitted = evaluated = SweepSamples.of(checked, codes)
    if eval_logits is not None or eval_labels is not None:
        evaluated = _samples_to_evaluate(eval_logits, eval_labels, names, getattr(logits, "columns", None))
    [counts] = sweep_splits([(fitted, evaluated)], 1, len(names), blocks, n_jobs, progress)
    return grid_columns(blocks) | _scores(counts, evaluated)


def _samples_to_evaluate(
    logits: ArrayLike | None, labels: ArrayLike | None, names: NDArray[Any], headings: Iterable[Any] | None
) -> SweepSamples:
    if logits is None or labels is None:
        raise ValueError("eval_logits and eval_labels go together: pass both, or neither.")
    others = getattr(logits, "columns", None)
    if headings is not None and others is not None and [*headings] != [*others]:
        raise ValueError(
            "eval_logits have other columns than logits, or in another order: pass the same, in one order."
        )
    try:
        ready = compute_ready(as_logits(logits, stacklevel=4))
        if ready.shape[1] != len(names):
            columns = 1 if is_one_logit(logits) else ready.shape[1]
            raise ValueError(f"there are {columns} columns where logits have {len(names)}: pass the same model's.")
        codes = label_codes(labels, len(ready), names)
    except ValueError as error:
        raise ValueError(f"In eval_logits and eval_labels: {error}") from error
    predicted = predicted_columns(ready)
    if not warn_if_misaligned(predicted, codes, names, stacklevel=4):
        warn_if_unpredicted(predicted, codes, names, stacklevel=4)
    return SweepSamples.of(ready, codes)


def _scores(counts: NDArray[np.int64], evaluated: SweepSamples) -> dict[str, NDArray[Any]]:
    """The columns of results."""
    wins, losses, pooled, trusted = counts
    n_samples, errors = len(evaluated.codes), evaluated.errors
    return {
        "accuracy": (n_samples - errors + wins - losses) / n_samples,
        "gain": relative_gain(wins, losses, errors),
        "wins": wins,
        "losses": losses,
        "pooled": pooled / n_samples,
        "trusted": trusted,
    }


# ---- tasks -----------------------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """A block with one window and one center, so that all its combinations share a response array."""

    block: Block
    indices: NDArray[np.int64]  # of its combinations among all, one axis for each of AXES


def sweep_splits(
    splits: Iterable[tuple[SweepSamples, SweepSamples]],
    number: int,
    n_classes: int,
    blocks: list[Block],
    n_jobs: int | None,
    progress: bool | None,
    what: str = "sweep",
) -> Iterator[NDArray[Any]]:
    """For each of a ``number`` of splits into fitted and evaluated samples, the counts of all combinations.

    They are those of :func:`~aftermax.sph._sweep_counts.count_combinations`, with a column for each combination.
    Splits are taken only as they are needed: all of them at once may be more than memory holds.
    """
    combinations = sum(math.prod(block_shape(block)) for block in blocks)
    if combinations > MAX_COMBINATIONS:
        raise ValueError(
            f"grid has {combinations:,} combinations, more than the {MAX_COMBINATIONS:,} that fit into memory: sweep "
            "parts of it."
        )
    tasks = list(_tasks(blocks))
    calls = (
        [delayed(_count)(*split, task) for task in _cut_and_joined(tasks, split[0], n_classes)] for split in splits
    )
    with Progress(what, number * combinations, progress) as bar:
        results = _side_by_side(calls, n_jobs)
        for _ in range(number):
            counts, missing = np.empty((0, combinations)), combinations
            while missing:
                indices, part = next(results)
                if not len(counts):
                    counts = np.empty((len(part), combinations), part.dtype)
                counts[:, indices] = part
                missing -= len(indices)
                bar.step(len(indices))
            yield counts


def _count(fitted: SweepSamples, evaluated: SweepSamples, task: Task) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The numbers of the task's combinations, and their counts."""
    counts = count_combinations(fitted, evaluated, task.block)
    return task.indices.ravel(), counts.reshape(len(counts), -1)


def _side_by_side(calls: Iterable[list[Any]], n_jobs: int | None) -> Iterator[Any]:
    """The results of lists of calls, in order, as they come."""
    try:
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    except ValueError:  # a backend that gives its results at the end only: one list at a time, then
        parallel = Parallel(n_jobs=n_jobs, prefer="threads")
        for some in calls:
            yield from parallel(some)
    else:
        yield from parallel(call for some in calls for call in some)


def _tasks(blocks: list[Block]) -> Iterator[Task]:
    first = 0
    for block in blocks:
        shape = block_shape(block)
        indices = first + np.arange(math.prod(shape)).reshape(shape)
        first += indices.size
        for task in _cut(Task(block, indices), "window"):
            yield from _cut(task, "center")


def _cut_and_joined(tasks: list[Task], fitted: SweepSamples, n_classes: int) -> Iterator[Task]:
    """The tasks for these samples: those with the same response array as one, and each as small as memory asks for.

    With few samples, most windows have the same ones, and mean and median are the same for one or two of them.
    """
    alike: dict[tuple[Any, ...], list[Task]] = {}
    for task in tasks:
        ((low, high),), (center,) = task.block["window"], task.block["center"]
        inside = is_in_window(fitted.codes, fitted.certainty, n_classes, low, high)
        if fitted.weights is None and np.bincount(fitted.codes[inside], minlength=1).max() <= 2:
            center = "mean"
        others = tuple(tuple(task.block[axis]) for axis in AXES if axis not in ("certainty", "window", "center"))
        alike.setdefault((inside.tobytes(), center, others), []).append(task)
    n_present = int(np.count_nonzero(np.bincount(fitted.codes)))
    for some in alike.values():
        certainties = [certainty for task in some for certainty in task.block["certainty"]]
        indices = np.concatenate([task.indices for task in some], axis=AXES.index("certainty"))
        yield from _small_enough(Task(some[0].block | {"certainty": certainties}, indices), n_present, n_classes)


def _cut(task: Task, axis: str, pieces: int | None = None) -> Iterator[Task]:
    """The task in pieces along an axis: that many, or one for each value."""
    values = task.block[axis]
    for part in np.array_split(np.arange(len(values)), pieces or len(values)):
        block = task.block | {axis: [values[index] for index in part]}
        yield Task(block, task.indices.take(part, axis=AXES.index(axis)))


def _small_enough(task: Task, n_present: int, n_classes: int) -> Iterator[Task]:
    """The task, halved along its longest axis until its weights, its counters and its results fit into memory."""
    lengths = {axis: len(task.block[axis]) for axis in AXES}
    gains, powers = lengths["min_gain"], lengths["distance_power"]
    sets = n_present * lengths["min_separation"] * lengths["weight_power"]
    counters = task.indices.size // gains * max(n_present * OUTCOMES, len(COUNTS) * gains)
    axes: tuple[str, ...] = ()
    if sets * (n_classes * (6 + powers) + BATCH * powers) > MAX_WEIGHTS:
        axes = ("min_separation", "weight_power", "distance_power")
    elif counters > MAX_COUNTERS:
        axes = AXES
    longest = max(axes, key=lambda axis: lengths[axis], default=None)
    if longest is None or lengths[longest] == 1:
        yield task
    else:
        for half in _cut(task, longest, 2):
            yield from _small_enough(half, n_present, n_classes)
