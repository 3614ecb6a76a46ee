"""Expectation-maximisation of class shares, from how likely each class makes each unlabelled sample.

References
----------
M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities: a simple
procedure", Neural Computation 14, 2002.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST_STEPS, TOLERANCE = 1_000, 2e-5  # in shares
TOLERANCE_OF_RESAMPLES = 1e-4  # which differ by much more than this
TINY = 1e-300


def class_shares(
    likelihoods: Numbers, assumed: Numbers, counts: Numbers, movable: NDArray[np.bool_], start: Numbers | None = None
) -> Numbers:
    """The shares of the classes that make the samples most likely, for several ways to count the samples.

    A plain maximum of the likelihood: a class may have no share at all.

    Parameters
    ----------
    likelihoods : ndarray of shape (n_samples, n_classes)
        Proportional to the density of a sample given its class: probability / assumed share. Any factor of a sample
        cancels out.
    assumed : ndarray of shape (n_classes,)
        The assumed shares.
    counts : ndarray of shape (n_samples, n_ways)
        How often each sample counts, in each way to count: ones, and the resamples of a bootstrap.
    movable : ndarray of shape (n_classes,)
        The classes whose shares are estimated; those of others are as assumed, compared with each other.
    start : ndarray of shape (n_classes,), default=None
        Where to start, near the result, which then need not be as exact. If None, at the assumed shares.

    Returns
    -------
    ndarray of shape (n_classes, n_ways)
    """
    totals = counts.sum(axis=0)
    shares = np.repeat((assumed if start is None else start)[:, None], counts.shape[1], axis=1)
    tolerance = TOLERANCE if start is None else TOLERANCE_OF_RESAMPLES
    for _ in range(MOST_STEPS):
        latest = shares * (likelihoods.T @ (counts / (likelihoods @ shares + TINY))) / totals
        if not movable.all():
            fixed = ~movable
            latest[fixed] = latest[fixed].sum(axis=0) * (assumed[fixed] / assumed[fixed].sum())[:, None]
        change, shares = np.abs(latest - shares).max(), latest
        if change < tolerance:
            break
    return np.asarray(shares)
