"""Is one answer better than another, on the same rows? Wins and losses, and what they prove."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
ROUNDING = 1e-12  # differences in log-loss that are no more than this are none
ALPHA, POWER = 0.05, 0.8  # what counts as proof, and how sure one wants to be of finding it


def wins_and_losses(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Rows that are right only after, rows that were right only before, and the errors before.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.paired_tests import wins_and_losses
    >>> wins_and_losses(np.array([True, False, False]), np.array([False, True, False]))
    (1, 1, 2)
    """
    wins, losses, errors = (int(np.count_nonzero(rows)) for rows in (after & ~before, before & ~after, ~before))
    return wins, losses, errors


def relative_gain(wins: Any, losses: Any, errors: int) -> Any:
    """The share of the baseline's errors that is gone, of numbers or arrays; 0 where none were and none came."""
    return (wins - losses) / max(errors, 1)


def exact_mcnemar(wins: int, losses: int) -> float:
    """Two-sided p-value: how likely a difference as large as this is, if wins and losses are equally likely.

    Examples
    --------
    >>> from aftermax._utils.paired_tests import exact_mcnemar
    >>> exact_mcnemar(9, 1)
    0.021484375
    """
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def one_sided_mcnemar(wins: int, losses: int) -> float:
    """How likely at least as many wins as these are, if wins and losses are equally likely."""
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, alternative="greater").pvalue) if wins + losses else 1.0


def gain_interval(
    wins: int, losses: int, errors: int, rows: int, rng: np.random.Generator, level: float = 0.95
) -> tuple[float, float]:
    """Where :func:`relative_gain` will lie on as many new rows, by a paired bootstrap.

    A row is a win, a loss, an error of both or right by both; drawing rows anew draws these four counts, so the rows
    themselves are not needed. They are drawn twice: once for what the gain may truly be, and from that draw once more
    for what as many new rows may show of it.
    """
    kinds = np.array([wins, losses, errors - wins, rows - errors - losses])
    truth = rng.multinomial(rows, kinds / rows, size=DRAWS)
    shown = rng.multinomial(rows, truth / rows)
    gains = (shown[:, 0] - shown[:, 1]) / np.maximum(shown[:, 0] + shown[:, 2], 1)
    low, high = np.quantile(gains, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def weighted_gain(
    before: NDArray[np.bool_], after: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[float, tuple[float, float]]:
    """The share of the baseline's errors that is gone where rows count unequally, and where it will lie.

    The interval (95 %) is for as many new rows, as in :func:`gain_interval`, by the rows' own spread.
    """
    drops, errors = weights * (after.astype(float) - before), weights * ~before
    total = float(errors.sum()) or float(weights.mean())  # with no errors before, gains are in rows
    gain = float(drops.sum()) / total
    spread = float(np.sqrt(2 * np.square(drops - gain * errors).sum())) / total
    return gain, (gain - 1.96 * spread, gain + 1.96 * spread)


def paired_p_value(
    fewer_errors: NDArray[np.float64], less_loss: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """How likely rows would improve as much as this by chance (one-sided), in errors and in log-loss together.

    Few rows change sides, but all of them change their log-loss: where errors alone are too few to tell, both together
    may not be. Each is measured in its own standard deviations, and their sum is put to a paired t-test.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.paired_tests import paired_p_value
    >>> drops = np.tile([1.0, 0.0, 0.0, 0.0], 25)
    >>> paired_p_value(drops, drops + 0.1, np.ones(100)) < 0.001
    True
    >>> paired_p_value(np.zeros(100), np.zeros(100), np.ones(100))
    1.0
    """
    from scipy.stats import t

    improvements = np.zeros(len(weights))
    for drops in (fewer_errors * weights, less_loss * weights):
        deviation = drops.std()
        if deviation > ROUNDING:
            improvements += drops / deviation
    error = improvements.std(ddof=1) / np.sqrt(len(improvements))
    return float(t.sf(improvements.mean() / error, len(improvements) - 1)) if error > 0 else 1.0


def samples_to_prove(wins: int, losses: int, rows: int) -> int | None:
    """How many rows it takes to prove a gain by McNemar's test at 5 %, four times out of five; None for no gain.

    Rows are taken to win and to lose as often as these did. A head that learns from more rows may gain more, and then
    fewer will do.

    Examples
    --------
    >>> from aftermax._utils.paired_tests import samples_to_prove
    >>> samples_to_prove(wins=30, losses=20, rows=1000)
    4086
    """
    from scipy.special import ndtri

    if wins <= losses:
        return None
    # The normal approximation of Miettinen (1968). McNemar's test divides the wins less the losses, W - L, by
    # sqrt(W + L). If rows win at a rate w and lose at a rate l, with d = w - l and s = w + l, then on n rows this has a
    # mean of sqrt(n) d / sqrt(s) and, by the delta method, a variance of v / s with v = s - d^2 (3 + s) / (4 s); Connor
    # (1987) takes s - d^2, which asks for more rows than it takes. It has to be beyond z_alpha, and W - L by one more
    # for the continuity correction, as the test is exact. That comes about with the power wanted if
    #     n d = 1 + sqrt(n) (z_alpha sqrt(s) + z_power sqrt(v)),
    # which is a quadratic equation in sqrt(n).
    drop, changed = (wins - losses) / rows, (wins + losses) / rows
    variance = max(changed - drop**2 * (3 + changed) / (4 * changed), 0.0)
    z_alpha, z_power = float(ndtri(1 - ALPHA / 2)), float(ndtri(POWER))
    reach = z_alpha * math.sqrt(changed) + z_power * math.sqrt(variance)
    root = (reach + math.sqrt(reach**2 + 4 * drop)) / (2 * drop)
    return math.ceil(root**2)
