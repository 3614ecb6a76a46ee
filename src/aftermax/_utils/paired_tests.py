"""Comparing two classifiers on the same samples: wins and losses, their test, their interval, their power.

A win is a sample that only the new classifier gets right, a loss one that only the baseline gets right.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
ROUNDING = 1e-12  # a standard deviation of no more than this is rounding
ALPHA, POWER = 0.05, 0.8  # significance level, and the power that a sample size is computed for


def wins_and_losses(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Count wins, losses and the baseline's errors, given which samples are right before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.paired_tests import wins_and_losses
    >>> wins_and_losses(np.array([True, False, False]), np.array([False, True, False]))
    (1, 1, 2)
    """
    wins, losses, errors = (int(np.count_nonzero(which)) for which in (after & ~before, before & ~after, ~before))
    return wins, losses, errors


def relative_gain(wins: Any, losses: Any, errors: int) -> Any:
    """Relative reduction of the baseline's errors, for numbers or arrays; if it makes none, minus the new errors."""
    return (wins - losses) / max(errors, 1)


def exact_mcnemar(wins: int, losses: int) -> float:
    """Two-sided p-value of the exact McNemar test (McNemar, 1947).

    If both classifiers are equally good, wins and losses are equally likely: their number is binomial with p = 1/2.

    References
    ----------
    Q. McNemar (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 153-157.

    Examples
    --------
    >>> from aftermax._utils.paired_tests import exact_mcnemar
    >>> exact_mcnemar(9, 1)
    0.021484375
    """
    return _mcnemar(wins, losses, "two-sided")


def one_sided_mcnemar(wins: int, losses: int) -> float:
    """One-sided p-value of the exact McNemar test: the probability of at least as many wins by chance."""
    return _mcnemar(wins, losses, "greater")


def _mcnemar(wins: int, losses: int, alternative: str) -> float:
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses, alternative=alternative).pvalue) if wins + losses else 1.0


def gain_interval(
    wins: int, losses: int, errors: int, n_samples: int, rng: np.random.Generator, level: float = 0.95
) -> tuple[float, float]:
    """Prediction interval of :func:`relative_gain` on as many new samples, by a paired bootstrap.

    Each sample is a win, a loss, an error of both classifiers, or right in both. Resampling the samples (Efron and
    Tibshirani, 1993) is drawing these four counts from a multinomial distribution, so the samples themselves are not
    needed. They are drawn twice: once for the true gain, and from that draw again for the gain on new samples.

    References
    ----------
    B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap. Chapman & Hall.
    """
    counts = np.array([wins, losses, errors - wins, n_samples - errors - losses])
    truth = rng.multinomial(n_samples, counts / n_samples, size=DRAWS)
    new = rng.multinomial(n_samples, truth / n_samples)
    gains = (new[:, 0] - new[:, 1]) / np.maximum(new[:, 0] + new[:, 2], 1)
    low, high = np.quantile(gains, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def weighted_gain(
    before: NDArray[np.bool_], after: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[float, tuple[float, float]]:
    """Relative reduction of the baseline's weighted errors, and its prediction interval (95 %) on as many new samples.

    The gain is a ratio of two weighted sums. Its variance is that of the linearised ratio (Cochran, 1977, chapter 6),
    doubled for the sampling error of the new samples, as in :func:`gain_interval`.

    References
    ----------
    W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
    """
    drops, errors = weights * (after.astype(float) - before), weights * ~before
    total = float(errors.sum()) or float(weights.mean())  # without errors before, the gain is counted in samples
    gain = float(drops.sum()) / total
    deviation = float(np.sqrt(2 * np.square(drops - gain * errors).sum())) / total
    return gain, (gain - 1.96 * deviation, gain + 1.96 * deviation)


def paired_p_value(
    fewer_errors: NDArray[np.float64], less_loss: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """One-sided p-value of a paired t-test on the drop of errors and the drop of log loss together.

    Few samples change from wrong to right, but the log loss of every sample changes. So both together can be
    significant where errors alone are too few. Each drop is divided by its standard deviation, and a paired t-test is
    done on their sum: the test of O'Brien (1984) for several endpoints.

    References
    ----------
    P. C. O'Brien (1984). Procedures for comparing samples with multiple endpoints. Biometrics 40, 1079-1087.

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
    # Not scipy's ttest_1samp: it warns where improvements are nearly constant, and gives nan where they are constant.
    error = improvements.std(ddof=1) / np.sqrt(len(improvements))
    return float(t.sf(improvements.mean() / error, len(improvements) - 1)) if error > 0 else 1.0


def samples_to_prove(wins: int, losses: int, n_samples: int) -> int | None:
    """Sample size at which McNemar's test at 5 % finds this gain with a power of 80 %; None without a gain.

    Wins and losses are assumed to be as frequent as here. A head that is fitted on more samples may gain more, and then
    fewer samples are needed.

    References
    ----------
    O. S. Miettinen (1968). The matched pairs design in the case of all-or-none responses. Biometrics 24, 339-352.

    R. J. Connor (1987). Sample size for testing differences in proportions for the paired-sample design. Biometrics 43,
    207-211.

    Examples
    --------
    >>> from aftermax._utils.paired_tests import samples_to_prove
    >>> samples_to_prove(wins=30, losses=20, n_samples=1000)
    4086
    """
    from scipy.special import ndtri

    if wins <= losses:
        return None
    # The normal approximation of Miettinen (1968). McNemar's statistic is (W - L) / sqrt(W + L). Let samples be wins at
    # a rate w and losses at a rate l, with d = w - l and s = w + l. On n samples the statistic has the mean
    # sqrt(n) d / sqrt(s) and, by the delta method, the variance v / s with v = s - d^2 (3 + s) / (4 s). (Connor, 1987,
    # takes s - d^2, which gives larger sample sizes than needed.) It must exceed z_alpha; the test is exact, so the
    # continuity correction asks for W - L to be larger by one. This has the wanted power if
    #     n d = 1 + sqrt(n) (z_alpha sqrt(s) + z_power sqrt(v)),
    # a quadratic equation in sqrt(n).
    drop, changed = (wins - losses) / n_samples, (wins + losses) / n_samples
    variance = max(changed - drop**2 * (3 + changed) / (4 * changed), 0.0)
    z_alpha, z_power = float(ndtri(1 - ALPHA / 2)), float(ndtri(POWER))
    reach = z_alpha * math.sqrt(changed) + z_power * math.sqrt(variance)
    root = (reach + math.sqrt(reach**2 + 4 * drop)) / (2 * drop)
    return math.ceil(root**2)
