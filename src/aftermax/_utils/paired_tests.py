"""Comparing two classifiers on the same samples: wins and losses, tests of the hypothesis that nothing is gained.

A win is a sample that only the new classifier gets right, a loss one that only the baseline gets right. All tests of a
gain are one-sided. The estimate of a gain and its intervals are in :mod:`aftermax._utils.comparison`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# One-sided level of every claim that errors are fewer: the same as that of a two-sided test at 5 %, so that a gain is
# significant where its 95 % interval lies above 0.
ALPHA = 0.025
POWER = 0.8  # that a sample size is computed for
MOST_TO_ENUMERATE = 14  # changes: all 2^14 signs of them are tried
MOST_SIZES, MOST_STEPS = 200, 30_000  # different sizes of more changes, and steps of their sum, for an exact tail
LEAST_OF_STEPS = 1e-9  # below this, rounding of the Fourier transform matters
FLIPS = 5_000  # random signs, for the test of several candidates
SMALL = 1e-3  # below this, the p-value of several candidates is Bonferroni's
ROUNDING = 1e-12
WIDEST = 50  # a range of sample sizes whose ends differ by a larger factor tells nothing


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


def sign_flip_p_value(changes: NDArray[np.float64]) -> float:
    """One-sided p-value of a sign-flip test: is the sum of the changes larger than chance?

    If nothing is gained, each change is as likely to be upwards as downwards: the sum is compared with those of random
    signs (Fisher's randomisation test of paired differences). If all changes are of the same size this is McNemar's
    exact test; if they are few, all signs are tried; if they are many, they are rounded to small steps, whose sum has
    an exact distribution; if they are many of many different sizes, the tail is approximated (saddlepoint).

    Parameters
    ----------
    changes : ndarray of shape (n_groups,)
        By how much the errors of each group drop, weighted if samples have weights. A group is one sample, or several
        that are not independent of each other.

    References
    ----------
    R. A. Fisher (1935). The Design of Experiments, section 21.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.paired_tests import sign_flip_p_value
    >>> sign_flip_p_value(np.array([1.0, 1.0, 1.0, 0.0]))
    0.125
    """
    sizes = np.abs(changes[np.abs(changes) > ROUNDING])
    total = float(changes.sum())
    if not len(sizes):
        return 1.0
    if np.ptp(sizes) <= ROUNDING * sizes[0]:
        wins = int(np.count_nonzero(changes > ROUNDING))
        return one_sided_mcnemar(wins, len(sizes) - wins)
    if len(sizes) <= MOST_TO_ENUMERATE:
        signs = 1.0 - 2.0 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
        return float(np.mean(signs @ sizes >= total - 1e-9 * sizes.max()))
    tail = _tail_of_steps(changes) if len(np.unique(sizes)) <= MOST_SIZES else 0.0
    return tail if tail > LEAST_OF_STEPS else _saddlepoint_tail(sizes, total)


def _tail_of_steps(changes: NDArray[np.float64]) -> float:
    """P(sum of the changes with random signs >= their sum), with changes rounded to steps; exact for whole numbers.

    The sum of randomly signed sizes a has the characteristic function prod cos(a t): its inverse Fourier transform has
    the probability of every sum.
    """
    steps = _steps(changes)
    sizes, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    reach, total = int(sizes @ counts), int(steps.sum())
    length = 2 * reach + 2
    spectrum = np.ones(reach + 2)
    for size, count in zip(sizes, counts, strict=True):
        spectrum *= np.cos(2 * np.pi / length * (np.arange(reach + 2) * size % length)) ** count
    chances = np.fft.irfft(spectrum, length)
    return float(np.clip(chances[np.arange(total, reach + 1) % length].sum(), 0.0, 1.0))


def _steps(changes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The changes as whole numbers of steps: of their greatest common divisor, or of a small part of their sum."""
    if np.array_equal(changes, np.rint(changes)):
        whole = changes.astype(np.int64)
        whole //= np.gcd.reduce(whole)
        if np.abs(whole).sum() <= MOST_STEPS:
            return np.asarray(whole)
    return np.asarray(np.rint(changes * (MOST_STEPS / np.abs(changes).sum())), dtype=np.int64)


def _saddlepoint_tail(sizes: NDArray[np.float64], total: float) -> float:
    """P(sum of randomly signed sizes >= total), by Lugannani and Rice (1980).

    The cumulant generating function is K(t) = sum log cosh(t a). With K'(t) = total, w = sign(t) sqrt(2 (t total - K))
    and u = t sqrt(K''), the tail is 1 - Phi(w) + phi(w) (1/u - 1/w).
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtr

    if total <= 0:
        return 1.0 - _saddlepoint_tail(sizes, -total) if total < 0 else 0.5
    sizes, total = sizes / sizes.max(), total / float(sizes.max())
    if total >= sizes.sum() * (1 - 1e-9):
        return float(2.0 ** -len(sizes))
    high = 1.0
    while float(np.sum(sizes * np.tanh(high * sizes))) < total and high < 1e6:
        high *= 2
    t = brentq(lambda t: float(np.sum(sizes * np.tanh(t * sizes))) - total, 0.0, high)
    log_cosh = float(np.sum(np.logaddexp(t * sizes, -t * sizes) - math.log(2)))
    w = math.sqrt(max(2 * (t * total - log_cosh), 0.0))
    u = t * math.sqrt(float(np.sum(np.square(sizes / np.cosh(np.minimum(t * sizes, 300))))))
    if w < 1e-3 or u < 1e-3:
        return float(ndtr(-total / math.sqrt(float(np.square(sizes).sum()))))
    tail = math.exp(float(log_ndtr(-w))) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / u - 1 / w)
    return float(np.clip(tail, 2.0 ** -len(sizes), 1.0))


def adjusted_p_value(changes: NDArray[np.float64], chosen: int) -> float:
    """One-sided p-value of one of several candidates that was chosen because it looked best.

    The same random signs are given to the changes of all candidates, and the largest of their standardised sums is
    compared with that of the chosen one (Westfall and Young, 1993): so trying more candidates raises no false alarms,
    and candidates that change the same samples cost nothing. It is at least the candidate's own p-value, and at most
    Bonferroni's, that times the number of candidates.

    Parameters
    ----------
    changes : ndarray of shape (n_groups, n_candidates)
        As for :func:`sign_flip_p_value`, for each candidate.
    chosen : int
        The column of the candidate.

    References
    ----------
    P. H. Westfall, S. S. Young (1993). Resampling-based Multiple Testing. Wiley.
    """
    own = sign_flip_p_value(changes[:, chosen])
    changing = np.abs(changes).max(axis=0) > ROUNDING
    bonferroni = min(1.0, own * max(int(changing.sum()), 1))
    if not changing[chosen] or bonferroni < SMALL or changing.sum() == 1:
        return bonferroni
    standardised = changes[:, changing] / np.sqrt(np.square(changes[:, changing]).sum(axis=0))
    standardised = standardised[np.abs(standardised).max(axis=1) > ROUNDING]
    observed = changes[:, chosen].sum() / np.sqrt(np.square(changes[:, chosen]).sum())
    signs = np.random.default_rng(0).choice(np.array([-1.0, 1.0]), size=(FLIPS, len(standardised)))
    at_least = np.count_nonzero((signs @ standardised).max(axis=1) >= observed - 1e-9)
    return float(np.clip((1 + at_least) / (1 + FLIPS), own, bonferroni))


def mean_p_value(changes: NDArray[np.float64]) -> float:
    """One-sided p-value of a paired t-test: is the mean of the changes above 0?

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._utils.paired_tests import mean_p_value
    >>> mean_p_value(np.tile([0.2, 0.1, 0.0, 0.1], 25)) < 0.001
    True
    >>> mean_p_value(np.zeros(100))
    1.0
    """
    from scipy.stats import t

    # Not scipy's ttest_1samp: it warns where changes are nearly constant, and gives nan where they are constant.
    if len(changes) < 2:
        return 1.0
    error = float(changes.std(ddof=1)) / math.sqrt(len(changes))
    return float(t.sf(float(changes.mean()) / error, len(changes) - 1)) if error > ROUNDING else 1.0


def samples_to_prove(drop: float, changed: float) -> int | None:
    """Sample size at which McNemar's test finds a gain with a power of 80 %; None without a gain.

    Parameters
    ----------
    drop, changed : float
        The share of samples by which wins exceed losses, and the share that are wins or losses.

    References
    ----------
    O. S. Miettinen (1968). The matched pairs design in the case of all-or-none responses. Biometrics 24, 339-352.

    R. J. Connor (1987). Sample size for testing differences in proportions for the paired-sample design. Biometrics 43,
    207-211.

    Examples
    --------
    >>> from aftermax._utils.paired_tests import samples_to_prove
    >>> samples_to_prove(drop=0.01, changed=0.05)
    4086
    """
    from scipy.special import ndtri

    if drop <= 0:
        return None
    # The normal approximation of Miettinen (1968). McNemar's statistic is (W - L) / sqrt(W + L). Let samples be wins at
    # a rate w and losses at a rate l, with d = w - l and s = w + l. On n samples the statistic has the mean
    # sqrt(n) d / sqrt(s) and, by the delta method, the variance v / s with v = s - d^2 (3 + s) / (4 s). (Connor, 1987,
    # takes s - d^2, which gives larger sample sizes than needed.) It must exceed z_alpha; the test is exact, so the
    # continuity correction asks for W - L to be larger by one. This has the wanted power if
    #     n d = 1 + sqrt(n) (z_alpha sqrt(s) + z_power sqrt(v)),
    # a quadratic equation in sqrt(n).
    changed = max(changed, drop)
    variance = max(changed - drop**2 * (3 + changed) / (4 * changed), 0.0)
    z_alpha, z_power = float(ndtri(1 - ALPHA)), float(ndtri(POWER))
    reach = z_alpha * math.sqrt(changed) + z_power * math.sqrt(variance)
    root = (reach + math.sqrt(reach**2 + 4 * drop)) / (2 * drop)
    return math.ceil(root**2)


def samples_range(net: float, squares: float, n_samples: int) -> tuple[int, int] | None:
    """Between which numbers of samples a proof of the gain may be expected to need; None if that cannot be told.

    ``net`` is by how much the errors drop, ``squares`` the sum of the squared drops of all groups: wins minus losses and
    wins plus losses, if samples are independent and not weighted.

    The ends are for a gain that is one standard error larger, and one smaller. If the smaller one is no gain, or
    hardly one, nothing can be said.
    """
    error = math.sqrt(max(squares - net**2 / n_samples, 0.0))
    ends = [samples_to_prove((net + sign * error) / n_samples, squares / n_samples) for sign in (1, -1)]
    if ends[0] is None or ends[1] is None or ends[1] > WIDEST * ends[0]:
        return None
    return ends[0], ends[1]
