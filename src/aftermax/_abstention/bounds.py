"""Proofs that an error rate is below what is acceptable: p-values, upper bounds, and the samples that they need."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

TILTS = np.geomspace(0.1, 100, 40)  # of Chernoff's bound, in units of one over the largest weight
BISECTIONS = 60


def binomial_p_values(errors: ArrayLike, n_samples: ArrayLike, rate: float) -> NDArray[np.float64]:
    """P(at most so many errors), if each sample is wrong with probability ``rate``: small if errors are rarer.

    It is the exact binomial tail, of which the upper bound of Clopper and Pearson (1934) is the inverse.

    References
    ----------
    C. J. Clopper, E. S. Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika 26, 404-413.

    Examples
    --------
    >>> from aftermax._abstention.bounds import binomial_p_values
    >>> binomial_p_values([0, 1], [149, 149], 0.02).round(4)
    array([0.0493, 0.1991])
    """
    from scipy.special import bdtr

    return np.asarray(bdtr(np.asarray(errors, dtype=float), np.asarray(n_samples, dtype=np.int64), rate))


def binomial_upper_bound(errors: int, n_samples: int, confidence: float) -> float:
    """The upper bound of Clopper and Pearson (1934) on the probability of an error.

    Examples
    --------
    >>> from aftermax._abstention.bounds import binomial_upper_bound
    >>> round(binomial_upper_bound(0, 149, 0.95), 4)
    0.0199
    """
    from scipy.special import betaincinv

    return 1.0 if errors >= n_samples else float(betaincinv(errors + 1, n_samples - errors, confidence))


def group_p_value(errors: float, weights: NDArray[np.float64], rate: float) -> float:
    """An upper bound on P(at most this weight of errors), if the share ``rate`` of the weight is wrong in the mean.

    Large groups may err more often than small ones, and the errors within a group may depend on each other in any way.
    With n groups of weights w_g up to w, and k = sum(w_g) / w, Chernoff's bound is ``min_s exp(s errors / w) (1 - rate
    k / n (1 - exp(-s))) ** n``: errors are hardest to see in groups that are wrong as a whole, and as large as the
    largest. Every s gives a bound, so those of a grid are enough. A larger group than any seen is not covered.

    Parameters
    ----------
    errors : float
        The weight of the wrong samples.
    weights : ndarray of shape (n_groups,)
        The weight of each group, w_g: the number of its samples, or the sum of their weights. A sample that stands for
        itself is a group.
    rate : float
        The probability of an error.

    References
    ----------
    W. Hoeffding (1963). Probability inequalities for sums of bounded random variables. Journal of the American
    Statistical Association 58, 13-30.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._abstention.bounds import group_p_value
    >>> round(group_p_value(0.0, np.full(149, 6.0), 0.02), 4)  # as 149 samples without an error
    0.0493
    >>> round(group_p_value(0.0, np.append(np.ones(148), 1000.0), 0.02), 2)  # most samples are of one group
    0.98
    """
    largest, n_groups = float(weights.max()), len(weights)
    seen = rate * float(weights.sum()) / largest / n_groups
    if errors <= 0:
        return float((1 - seen) ** n_groups)
    logarithms = n_groups * np.log1p(seen * np.expm1(-TILTS))
    return float(np.exp(min(0.0, float(np.min(TILTS * errors / largest + logarithms)))))


def group_upper_bound(errors: float, weights: NDArray[np.float64], confidence: float) -> float:
    """The largest rate of errors that :func:`group_p_value` does not refute, by bisection."""
    low, high = errors / float(weights.sum()), 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if group_p_value(errors, weights, middle) <= 1 - confidence else (middle, high)
    return high


def fewest_samples(max_error: float, confidence: float, errors: int = 0, *, grouped: bool = False) -> int:
    """How many samples prove that errors are rarer than ``max_error``, if so many of them are wrong.

    If ``grouped``, how many groups of equal size do, by :func:`group_p_value`.

    Examples
    --------
    >>> from aftermax._abstention.bounds import fewest_samples
    >>> fewest_samples(0.02, 0.95), fewest_samples(0.02, 0.95, errors=1), fewest_samples(0.02, 0.95, 1, grouped=True)
    (149, 236, 285)
    """
    if not errors:
        return max(1, math.ceil(math.log(1 - confidence) / math.log1p(-max_error)))

    def is_proof(size: int) -> bool:
        if grouped:
            return group_p_value(errors, np.ones(size), max_error) <= 1 - confidence
        return bool(binomial_p_values(errors, size, max_error) <= 1 - confidence)

    low, high = errors, errors + 1
    while not is_proof(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_proof(middle) else (middle, high)
    return high
