"""Training samples that softmax wastes: the paper's Figure 4.

Softmax's learning curve is a quadratic fitted to its log error against log samples. Along it one can read how many
samples softmax would need to come down to the error that SPH has with m samples: n / m are SPH's "virtual training
samples", and 1 - m / n of softmax's samples are wasted. Where SPH has softmax's error, nothing is.

The paper fitted quadratics to both accuracies. :func:`from_accuracies` does that, too: it misses the accuracies by more
than most gains, so its answer is mostly misfit. It is reported, not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

DRAWS = 1_000
LEAST = 1e-6  # an error of zero has no logarithm

# The errors of the networks of each size.
Errors = Mapping[int, Sequence[float]]


class Waste(NamedTuple):
    """For each size: SPH's accuracy, the samples softmax needs for it, the share it wastes, and that share's band."""

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


def wasted_samples(softmax: Errors, sph: Errors, seed: int = 0) -> Waste:
    """What share of its samples softmax would save if it learnt like SPH.

    The band is from drawing the networks of each size anew.

    Examples
    --------
    >>> from experiments.paper.wasted_samples import wasted_samples
    >>> waste = wasted_samples({100: [0.4], 1_000: [0.2], 10_000: [0.1]}, {100: [0.4], 1_000: [0.1], 10_000: [0.1]})
    >>> waste.wasted.round(3)
    array([0. , 0.9, 0. ])
    """
    sizes = np.array(sorted(softmax))
    before, after = (np.array([errors[size] for size in sizes]) for errors in (softmax, sph))
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(DRAWS):
        rows = rng.integers(before.shape[1], size=before.shape)
        drawn.append(_factor(sizes, *(np.take_along_axis(part, rows, axis=1).mean(axis=1) for part in (before, after))))
    factor = _factor(sizes, before.mean(axis=1), after.mean(axis=1))
    low, high = np.quantile(1 - 1 / np.array(drawn), [0.025, 0.975], axis=0)
    return Waste(sizes, 1 - after.mean(axis=1), sizes * factor, 1 - 1 / factor, low, high)


def _factor(sizes: NDArray[np.int64], before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many times its samples softmax needs to come from its own error down to the other.

    With the curve a x² + b x + c and its slope s at x, the step d along x solves a d² + s d = log(after / before).
    """
    x = np.log10(sizes)
    curve = Polynomial.fit(x, np.log10(np.maximum(before, LEAST)), deg=min(2, len(sizes) - 1)).convert()
    bend = curve.coef[2] if len(curve.coef) > 2 else 0.0
    slope = curve.deriv()(x)
    fall = np.log10(np.maximum(after, LEAST) / np.maximum(before, LEAST))
    root = np.sqrt(np.maximum(slope**2 + 4 * bend * fall, 0.0))
    return np.asarray(10 ** np.clip(2 * fall / np.minimum(slope - root, -1e-9), -6, 6))  # where it rises: no end


class Misfit(NamedTuple):
    """What comes of quadratics fitted to accuracies: how far they miss them at most, and the waste they give."""

    points: float
    low: float
    high: float


def from_accuracies(softmax: Errors, sph: Errors) -> Misfit:
    """The waste by the paper's words: both accuracies as quadratics of log samples, compared where they are equal."""
    sizes = np.array(sorted(softmax))
    x = np.log10(sizes)
    means = [np.array([1 - np.mean(errors[size]) for size in sizes]) for errors in (softmax, sph)]
    curves = [Polynomial.fit(x, accuracies, deg=min(2, len(sizes) - 1)) for accuracies in means]
    points = max(np.abs(curve(x) - accuracies).max() for curve, accuracies in zip(curves, means, strict=True))
    fine = np.linspace(x[0], x[-1], 1_000)
    reached = np.maximum.accumulate(curves[1](fine))
    needed = np.interp(curves[0](fine), reached, fine, left=np.nan, right=np.nan)
    wasted = 1 - 10 ** (needed - fine)
    return Misfit(float(points), float(np.nanmin(wasted)), float(np.nanmax(wasted)))
