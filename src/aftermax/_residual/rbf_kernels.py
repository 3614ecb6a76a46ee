"""The compiled loop of the kernel corrections. Importing this module imports numba, so it is imported on first use.

Rows are taken a few at a time, so that what they have with all centers stays in a core's cache, and everything is done
without the GIL. The exponential is written out, as a polynomial and a shift of the exponent, for then the compiler does
several at once; it is right to a few units in the last place.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

BLOCK = 64
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # with this added, the last bits of a number are the nearest integer
LEAST = -700.0
INVERSE_FACTORIALS = tuple(1.0 / value for value in np.cumprod([1.0, 1.0, *range(2, 13)])[::-1])


def fused(function: Callable[..., Any]) -> Any:
    """Compile, where products and sums may be rounded together; see :func:`aftermax.sph._kernels.compiled`."""
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder that numba may write to
        return njit(**options)(function)


@fused
def exp_all(values, shifted, bits):
    """The exponentials of values up to 0, in place. ``bits`` are those of ``shifted``, which are to work with."""
    for place in range(len(values)):
        value = values[place]
        value = value if value > LEAST else LEAST
        power = value * LOG2_E + ROUND
        shifted[place] = power
        power -= ROUND
        rest = value - power * LN2_HIGH - power * LN2_LOW
        total = INVERSE_FACTORIALS[0]
        for factor in INVERSE_FACTORIALS[1:]:
            total = total * rest + factor
        values[place] = total
    for place in range(len(values)):
        bits[place] = (bits[place] + 1023) << 52
    for place in range(len(values)):
        values[place] *= shifted[place]


@fused
def add_kernels(places, reach, coefficients, used, scores):
    """Add to ``scores`` what the kernels say: the widest, its cube, the cube of that, and so on.

    ``reach`` gives the exponent of the widest kernel: it is to be multiplied with a row's place, 1 and squared length.
    """
    rows, axes = places.shape
    centers = reach.shape[1]
    block = np.empty((BLOCK, axes + 2))
    near = np.empty((BLOCK, centers))
    part = np.empty((BLOCK, scores.shape[1]))
    shifted = np.empty(BLOCK * centers)
    bits = shifted.view(np.int64)
    flat = near.reshape(BLOCK * centers)
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        for row in range(count):
            square = 0.0
            for axis in range(axes):
                value = places[first + row, axis]
                block[row, axis] = value
                square += value * value
            block[row, axes] = 1.0
            block[row, axes + 1] = square
        filled = max(count, 2)  # a product with one row is rounded in another way than with more
        if count == 1:
            block[1] = block[0]
        np.dot(block[:filled], reach, near[:filled])
        size = filled * centers
        exp_all(flat[:size], shifted[:size], bits[:size])
        for level in range(len(coefficients)):
            if level > 0:
                for place in range(size):
                    flat[place] = flat[place] * flat[place] * flat[place]
            if used[level]:
                np.dot(near[:filled], coefficients[level], part[:filled])
                for row in range(count):
                    for column in range(scores.shape[1]):
                        scores[first + row, column] += part[row, column]
