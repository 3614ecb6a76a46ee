"""Training samples that softmax wastes: the paper's Figure 4.

Softmax's learning curve is a quadratic polynomial fitted to its log error against log samples. It gives the number n of
samples that softmax needs for the error that a method, such as SPH, has with m samples: n / m are the method's "virtual
training samples", as a multiple of the real ones, and the share 1 - m / n of softmax's samples is wasted.

The paper fitted quadratic polynomials to the accuracies instead. On our networks these miss the accuracies by more than
most gains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

BOOTSTRAPS = 1_000
MIN_ERROR = 1e-6  # an error of zero has no logarithm

# The errors of the networks of each size.
Errors = Mapping[int, Sequence[float]]


class Waste(NamedTuple):
    """For each size: a method's accuracy, the samples softmax needs for it, the share it wastes, that share's band."""

    sizes: NDArray[np.int64]
    accuracy: NDArray[np.float64]
    samples: NDArray[np.float64]
    wasted: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def factor(self) -> NDArray[np.float64]:
        """Virtual training samples, as a multiple of the real ones."""
        return self.samples / self.sizes


def wasted_samples(softmax: Errors, method: Errors, seed: int = 0) -> Waste:
    """The share of its training samples that softmax wastes, compared with a method.

    The 95 % band is a bootstrap over the networks of each size.

    Examples
    --------
    >>> from experiments.paper.wasted_samples import wasted_samples
    >>> waste = wasted_samples({100: [0.4], 1_000: [0.2], 10_000: [0.1]}, {100: [0.4], 1_000: [0.1], 10_000: [0.1]})
    >>> waste.wasted.round(3)
    array([0. , 0.9, 0. ])
    """
    sizes = np.array(sorted(softmax))
    before, after = (np.array([errors[size] for size in sizes]) for errors in (softmax, method))
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(BOOTSTRAPS):
        networks = rng.integers(before.shape[1], size=before.shape)
        means = (np.take_along_axis(errors, networks, axis=1).mean(axis=1) for errors in (before, after))
        drawn.append(_factor(sizes, *means))
    factor = _factor(sizes, before.mean(axis=1), after.mean(axis=1))
    low, high = np.quantile(1 - 1 / np.array(drawn), [0.025, 0.975], axis=0)
    return Waste(sizes, 1 - after.mean(axis=1), sizes * factor, 1 - 1 / factor, low, high)


def _factor(sizes: NDArray[np.int64], before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many times its samples softmax needs to reduce its error from ``before`` to ``after``.

    With the curve a x² + b x + c and its slope s at x, the step d along x solves a d² + s d = log(after / before).
    """
    x = np.log10(sizes)
    curve = Polynomial.fit(x, np.log10(np.maximum(before, MIN_ERROR)), deg=min(2, len(sizes) - 1)).convert()
    bend = curve.coef[2] if len(curve.coef) > 2 else 0.0
    slope = curve.deriv()(x)
    fall = np.log10(np.maximum(after, MIN_ERROR) / np.maximum(before, MIN_ERROR))
    root = np.sqrt(np.maximum(slope**2 + 4 * bend * fall, 0.0))
    return np.asarray(
        10 ** np.clip(2 * fall / np.minimum(slope - root, -1e-9), -6, 6)
    )  # at most a million, where the curve rises
