"""Ways to choose the threshold, compared in worlds of their own: those in which the procedure was designed.

Certainty is calibrated here, or overconfident, and nothing is fitted: so each way is judged for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._abstention.bounds import binomial_p_values
from aftermax._abstention.threshold import CONFIDENCE, choose_threshold
from aftermax._utils.text import percent, table
from experiments.abstention.measure import MAX_ERRORS
from experiments.abstention.worlds import World, draw

WORLDS = (
    World("calibrated", 4, 15),
    World("calibrated", 6, 8),
    World("overconfident", 6, 30),
    World("wrong labels", 4, 8),
)
FLAT = "flat"  # a world in which every sample is wrong a little too often, however certain it is
SIZES = (400, 2_000)
RUNS, QUICK_RUNS = 300, 3
POOL = 100_000
LEVEL = 1 - CONFIDENCE

Passes = NDArray[np.bool_]  # whether the test passes, for each number of kept samples
Way = Callable[[NDArray[np.float64], NDArray[np.bool_], float], int]  # certainty and right, in order: how many are kept


def _fixed_sequence(certainty: NDArray[np.float64], right: NDArray[np.bool_], max_error: float) -> int:
    return choose_threshold(certainty, right, max_error).n_kept


def _p_values(right: NDArray[np.bool_], max_error: float) -> NDArray[np.float64]:
    return binomial_p_values(np.cumsum(~right), np.arange(1, len(right) + 1), max_error)


def _two_starts(certainty: NDArray[np.float64], right: NDArray[np.bool_], max_error: float) -> int:
    """Half of the level for each of two starts, the second with twice as many samples; what passes is handed on.

    This is the fallback procedure of Wiens and Dmitrienko (2005).
    """
    smallest = np.flatnonzero((1 - max_error) ** np.arange(1, len(right) + 1) <= LEVEL / 2)
    if not len(smallest):
        return 0
    p_values, kept, level = _p_values(right, max_error), 0, 0.0
    starts = {int(smallest[0]), min(2 * int(smallest[0]), len(right) - 1)}
    for place in range(int(smallest[0]), len(right)):
        level += LEVEL / len(starts) if place in starts else 0.0
        passed = p_values[place] <= level
        kept, level = (place + 1, level) if passed else (kept, 0.0)
    return kept


def _bonferroni(certainty: NDArray[np.float64], right: NDArray[np.bool_], max_error: float) -> int:
    """The level is divided by 20 shares, all of which are tested."""
    sizes = np.unique(len(right) * np.arange(1, 21) // 20)
    passed = sizes[_p_values(right, max_error)[sizes - 1] <= LEVEL / len(sizes)]
    return int(passed[-1]) if len(passed) else 0


def _sgr(certainty: NDArray[np.float64], right: NDArray[np.bool_], max_error: float) -> int:
    """Selection with guaranteed risk (Geifman and El-Yaniv, 2017): bisection, the level divided by its steps."""
    p_values, low, high, kept = _p_values(right, max_error), 1, len(right), 0
    steps = int(np.ceil(np.log2(len(right))))
    for _ in range(steps):
        middle = (low + high + 1) // 2
        passed = p_values[middle - 1] <= LEVEL / steps
        kept = max(kept, middle) if passed else kept
        low, high = (middle, high) if passed else (low, max(middle - 1, 1))
    return kept


def _uncorrected(certainty: NDArray[np.float64], right: NDArray[np.bool_], max_error: float) -> int:
    """The largest share whose own bound is low enough: no allowance for looking."""
    passed = np.flatnonzero(_p_values(right, max_error) <= LEVEL)
    return int(passed[-1]) + 1 if len(passed) else 0


WAYS: dict[str, Way] = {
    "fixed sequence (aftermax)": _fixed_sequence,
    "two starts": _two_starts,
    "Bonferroni, 20 shares": _bonferroni,
    "SGR": _sgr,
    "no correction": _uncorrected,
}


def compare(runs: int = RUNS) -> str:
    """A table: how often each way keeps the promise, also where it is hardest, and what it keeps in the mean."""
    lines = []
    for samples in SIZES:
        for max_error in MAX_ERRORS:
            found = [_world(world, samples, max_error, runs) for world in (*WORLDS, FLAT)]
            for name in WAYS:
                kept, shares = np.mean([one[name] for one in found[:-1]], axis=0)
                figures = [percent(kept), percent(found[-1][name][0]), percent(shares)]
                lines.append([name, f"{samples:,}", f"{100 * max_error:g} %", *figures])
    heads = ["procedure", "samples", "acceptable", "promise kept", "kept in the flat world", "decided alone"]
    return table(heads, lines, texts=1)


def _world(world: Any, samples: int, max_error: float, runs: int) -> dict[str, tuple[float, float]]:
    """For each way, the share of runs in which the promise is kept, and the mean share of what is kept."""
    rng = np.random.default_rng([samples, int(1000 * max_error), len(str(world))])
    certainty, wrong = _pool(world, max_error, rng)
    errors = np.cumsum(wrong) / np.arange(1, POOL + 1)
    results: dict[str, list[tuple[bool, float]]] = {name: [] for name in WAYS}
    for _ in range(runs):
        drawn = np.sort(rng.integers(POOL, size=samples))  # the most certain first
        right = rng.random(samples) >= wrong[drawn]
        for name, way in WAYS.items():
            kept = way(certainty[drawn], right, max_error)
            last = drawn[kept - 1] if kept else -1
            results[name].append((not kept or bool(errors[last] <= max_error), (last + 1) / POOL))
    means = {name: np.mean(some, axis=0) for name, some in results.items()}
    return {name: (float(kept), float(share)) for name, (kept, share) in means.items()}


def _pool(world: Any, max_error: float, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Certainty and probability of an error of many samples, the most certain first."""
    if world == FLAT:
        return np.linspace(1.0, 0.5, POOL), np.full(POOL, 1.01 * max_error)
    drawn = draw(world, POOL, rng)
    exponentials = np.exp(drawn.logits - drawn.logits.max(axis=1, keepdims=True))
    certainty = 1 / exponentials.sum(axis=1)
    wrong = 1 - drawn.truth[np.arange(POOL), drawn.logits.argmax(axis=1)]
    order = np.argsort(-certainty)
    return certainty[order], wrong[order]
