"""Is one answer better than another, on the same rows? Wins and losses, and what they prove."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000


def wins_and_losses(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Rows that are right only after, rows that were right only before, and the errors before.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax.paired import wins_and_losses
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
    >>> from aftermax.paired import exact_mcnemar
    >>> exact_mcnemar(9, 1)
    0.021484375
    """
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


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
