"""The compiled loop of the RBF kernels. Importing this module imports numba, so import it on first use only.

Samples are taken a few at a time, so that their kernel with all centers stays in a core's cache, and the GIL is
released. The exponential is written out, as a polynomial and a shift of the exponent, so that the compiler can
vectorise it; it is accurate to a few units in the last place.
"""

from functools import partial

import numpy as np

from aftermax._utils.compiled import compiled

BLOCK = 64
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # with this added, the last bits of a number are the nearest integer
MIN_EXPONENT = -700.0  # exp of less than this is close to underflow
INVERSE_FACTORIALS = tuple(1.0 / value for value in np.cumprod([1.0, 1.0, *range(2, 13)])[::-1])

fused = partial(compiled, fastmath={"contract"})  # with fused multiply-add


@fused
def exp_all(values):
    """The exponentials of values up to 0, in place."""
    for index in range(len(values)):
        value = values[index]
        value = value if value > MIN_EXPONENT else MIN_EXPONENT
        shifted = np.float64(value * LOG2_E + ROUND)
        power = shifted - ROUND
        rest = value - power * LN2_HIGH - power * LN2_LOW
        total = INVERSE_FACTORIALS[0]
        for factor in INVERSE_FACTORIALS[1:]:
            total = total * rest + factor
        scale = np.int64((shifted.view(np.int64) + 1023) << 52)
        values[index] = total * scale.view(np.float64)


@fused
def add_kernels(projected, exponents, coefficients, used, scores):
    """Add the kernel terms to ``scores``: of the widest kernel, of its cube, of the cube of that, and so on.

    For a projected sample z, (z, 1, |z|^2) @ exponents is the exponent of the widest kernel with each center.
    """
    n_samples, dimensions = projected.shape
    centers = exponents.shape[1]
    block = np.empty((BLOCK, dimensions + 2))
    kernel = np.empty((BLOCK, centers))
    part = np.empty((BLOCK, scores.shape[1]))
    flat = kernel.reshape(BLOCK * centers)
    for first in range(0, n_samples, BLOCK):
        count = min(BLOCK, n_samples - first)
        for row in range(count):
            square = 0.0
            for dimension in range(dimensions):
                value = projected[first + row, dimension]
                block[row, dimension] = value
                square += value * value
            block[row, dimensions] = 1.0
            block[row, dimensions + 1] = square
        filled = max(count, 2)  # matrix products round a single row differently
        if count == 1:
            block[1] = block[0]
        np.dot(block[:filled], exponents, kernel[:filled])
        size = filled * centers
        exp_all(flat[:size])
        for level in range(len(coefficients)):
            if level > 0:
                for index in range(size):
                    flat[index] = flat[index] * flat[index] * flat[index]
            if used[level]:
                np.dot(kernel[:filled], coefficients[level], part[:filled])
                for row in range(count):
                    for column in range(scores.shape[1]):
                        scores[first + row, column] += part[row, column]
