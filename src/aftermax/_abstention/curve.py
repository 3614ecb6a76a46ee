"""The risk-coverage curve: the error of the most certain samples, for every share of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POINTS = 100  # shares of a curve: one percent apart


class RiskCoverage(NamedTuple):
    """The error of the most certain samples against their share, by softmax and by a head.

    References
    ----------
    R. El-Yaniv, Y. Wiener (2010). On the foundations of noise-free selective classification. Journal of Machine
    Learning Research 11, 1605-1641.
    """

    shares: tuple[float, ...]
    before: tuple[float, ...]  # errors, by softmax
    after: tuple[float, ...]  # by the head


def error_by_share(
    certainty: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Shares of the samples, and the error of the most certain ones of each share.

    Of samples that are equally certain, every part has the same error.

    Examples
    --------
    >>> import numpy as np
    >>> from aftermax._abstention.curve import error_by_share
    >>> shares, errors = error_by_share(np.array([0.9, 0.8, 0.7, 0.7]), np.array([True, True, False, True]))
    >>> errors[49], errors[99]
    (0.0, 0.25)
    """
    heavy = np.ones(len(certainty)) if weights is None else weights
    order = np.argsort(-certainty, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(certainty[order]) < 0, True))
    covered, wrong = (np.append(0.0, np.cumsum(values[order])[ends]) for values in (heavy, heavy * ~right))
    shares = np.arange(1, POINTS + 1) / POINTS
    errors = np.interp(shares * covered[-1], covered, wrong) / (shares * covered[-1])
    return tuple(shares.tolist()), tuple(errors.tolist())
