"""The compiled loops of the first look at samples, in single precision. Importing this module imports numba.

Samples are side by side, LANES at a time, so that every operation is one on whole vector registers: an array "block" is
of shape (dimensions, LANES). Rows of weights are taken ROWS at a time, and dimensions STEP at a time, padded with
zeros. How far the results may be from the exact ones is derived in :mod:`aftermax._residual.first_look`; the order in
which numbers are added here is part of that.
"""

from functools import partial

import numpy as np

from aftermax._utils.compiled import compiled
from aftermax._utils.softmax_kernels import top_and_lead

LANES = 192
ROWS = 8
STEP = 4
GROUPS_PER_SUM = 8  # groups of ROWS centers that are summed in single precision before the sum is added in double

DOUBLE_ERROR = 1e-12  # relative, of scores in double precision

ROUND = np.float32(1.5 * 2**23)  # with this added, the last bits of a number are the nearest integer
MIN_POWER = np.float32(-120.0)  # 2 to the power of less than this is close to underflow
EXPONENT_BITS = np.int32(23)
# The polynomial through 2^x at the Chebyshev points of [-1/2, 1/2]; it is accurate to 1.1e-7.
_POLYNOMIAL = np.polynomial.Chebyshev.interpolate(np.exp2, 5, domain=[-0.5, 0.5]).convert(kind=np.polynomial.Polynomial)
C0, C1, C2, C3, C4, C5 = _POLYNOMIAL.coef.astype(np.float32)

fused = partial(compiled, fastmath={"contract"})  # with fused multiply-add


@fused
def clip_and_center(values, depth, mean, out):
    """Set ``out`` to the values, raised to ``depth`` below the largest of their sample, less the mean."""
    for n in range(len(values)):
        largest = values[n, 0]
        for column in range(1, values.shape[1]):
            largest = values[n, column] if values[n, column] > largest else largest
        lowest = largest - depth
        for column in range(values.shape[1]):
            value = values[n, column]
            out[n, column] = (value if value > lowest else lowest) - mean[column]


@fused
def fill_block(projected, first, count, block):
    """(z, 1, |z|^2) of each sample as a column; the columns after the last sample are copies of it."""
    dimensions = projected.shape[1]
    for lane in range(LANES):
        row = first + min(lane, count - 1)
        square = 0.0
        for dimension in range(dimensions):
            value = projected[row, dimension]
            block[dimension, lane] = value
            square += value * value
        block[dimensions, lane] = 1.0
        block[dimensions + 1, lane] = square


@fused
def products(weights, first, block, tile):
    """Set tile = weights[first : first + ROWS] @ block."""
    for half in range(0, ROWS, 4):
        row = first + half
        for step in range(0, block.shape[0], STEP):
            a0, a1, a2, a3 = four(weights[row], step)
            b0, b1, b2, b3 = four(weights[row + 1], step)
            c0, c1, c2, c3 = four(weights[row + 2], step)
            d0, d1, d2, d3 = four(weights[row + 3], step)
            if step == 0:
                for lane in range(LANES):
                    z0, z1, z2, z3 = block[0, lane], block[1, lane], block[2, lane], block[3, lane]
                    tile[half, lane] = a0 * z0 + (a1 * z1 + (a2 * z2 + a3 * z3))
                    tile[half + 1, lane] = b0 * z0 + (b1 * z1 + (b2 * z2 + b3 * z3))
                    tile[half + 2, lane] = c0 * z0 + (c1 * z1 + (c2 * z2 + c3 * z3))
                    tile[half + 3, lane] = d0 * z0 + (d1 * z1 + (d2 * z2 + d3 * z3))
            else:
                for lane in range(LANES):
                    z0, z1 = block[step, lane], block[step + 1, lane]
                    z2, z3 = block[step + 2, lane], block[step + 3, lane]
                    tile[half, lane] += a0 * z0 + (a1 * z1 + (a2 * z2 + a3 * z3))
                    tile[half + 1, lane] += b0 * z0 + (b1 * z1 + (b2 * z2 + b3 * z3))
                    tile[half + 2, lane] += c0 * z0 + (c1 * z1 + (c2 * z2 + c3 * z3))
                    tile[half + 3, lane] += d0 * z0 + (d1 * z1 + (d2 * z2 + d3 * z3))


@fused
def four(row, first):
    return row[first], row[first + 1], row[first + 2], row[first + 3]


@fused
def powers_of_two(tile, cubed):
    """2 to the power of every value, in place, and the cubes of these."""
    flat, flat_cubed = tile.reshape(ROWS * LANES), cubed.reshape(ROWS * LANES)
    for index in range(ROWS * LANES):
        value = flat[index]
        value = value if value > MIN_POWER else MIN_POWER
        shifted = np.float32(value + ROUND)
        rest = value - (shifted - ROUND)
        fraction = np.float32(((((C5 * rest + C4) * rest + C3) * rest + C2) * rest + C1) * rest + C0)
        whole = np.int32(shifted.view(np.int32) << EXPONENT_BITS)
        power = np.int32(fraction.view(np.int32) + whole).view(np.float32)
        flat[index] = power
        flat_cubed[index] = power * power * power


@fused
def cube(tile):
    """The third power of every value, in place."""
    flat = tile.reshape(ROWS * LANES)
    for index in range(ROWS * LANES):
        flat[index] = flat[index] * flat[index] * flat[index]


@fused
def add_products(coefficients, tile, sums):
    """Add coefficients @ tile to the sums, two rows at a time."""
    for row in range(0, sums.shape[0], 2):
        a0, a1, a2, a3 = four(coefficients[row], 0)
        a4, a5, a6, a7 = four(coefficients[row], 4)
        b0, b1, b2, b3 = four(coefficients[row + 1], 0)
        b4, b5, b6, b7 = four(coefficients[row + 1], 4)
        for lane in range(LANES):
            k0, k1, k2, k3 = tile[0, lane], tile[1, lane], tile[2, lane], tile[3, lane]
            k4, k5, k6, k7 = tile[4, lane], tile[5, lane], tile[6, lane], tile[7, lane]
            sums[row, lane] += a0 * k0 + (a1 * k1 + (a2 * k2 + (a3 * k3 + (a4 * k4 + (a5 * k5 + (a6 * k6 + a7 * k7))))))
            sums[row + 1, lane] += b0 * k0 + (
                b1 * k1 + (b2 * k2 + (b3 * k3 + (b4 * k4 + (b5 * k5 + (b6 * k6 + b7 * k7)))))
            )


@fused
def add_kernels(projected, exponents, coefficients, used, levels, scores, sizes):
    """Add the kernel terms to ``scores``, up to a constant for each sample, and set ``sizes``.

    ``exponents``, of shape (centers, dimensions + 2), give those of the powers of two. ``coefficients`` are of shape
    (groups of centers, levels, classes, ROWS): relative to the last class, which has those of the sizes instead.
    ``used`` says of which groups and levels any is not 0, and ``levels`` how many of them a group needs.
    """
    n_samples, n_classes = scores.shape
    block = np.zeros((exponents.shape[1], LANES), np.float32)
    tile, cubed = np.empty((ROWS, LANES), np.float32), np.empty((ROWS, LANES), np.float32)
    sums = np.empty((coefficients.shape[2], LANES), np.float32)
    totals = np.empty(sums.shape)
    for first in range(0, n_samples, LANES):
        count = min(LANES, n_samples - first)
        fill_block(projected, first, count, block)
        totals[:] = 0.0
        for start in range(0, len(coefficients), GROUPS_PER_SUM):
            sums[:] = 0.0
            for group in range(start, min(start + GROUPS_PER_SUM, len(coefficients))):
                products(exponents, group * ROWS, block, tile)
                powers_of_two(tile, cubed)
                if used[group, 0]:
                    add_products(coefficients[group, 0], tile, sums)
                for level in range(1, levels[group]):
                    if level > 1:
                        cube(cubed)
                    if used[group, level]:
                        add_products(coefficients[group, level], cubed, sums)
            totals += sums
        for lane in range(count):
            for column in range(n_classes - 1):
                scores[first + lane, column] += totals[column, lane]
            sizes[first + lane] = totals[n_classes - 1, lane]


@fused
def squared_lengths(projected, weights, out):
    """Set out[k, n] to the squared length of weights[k d : (k + 1) d] @ (z, 1, |z|^2), for sample n of d dimensions."""
    n_samples, dimensions = projected.shape
    n_classes = len(out)
    block = np.zeros((weights.shape[1], LANES), np.float32)
    tile = np.empty((ROWS, LANES), np.float32)
    sums = np.empty((n_classes, LANES), np.float32)
    for first in range(0, n_samples, LANES):
        count = min(LANES, n_samples - first)
        fill_block(projected, first, count, block)
        sums[:] = 0.0
        for start in range(0, n_classes * dimensions, ROWS):
            products(weights, start, block, tile)
            for row in range(min(ROWS, n_classes * dimensions - start)):
                k = (start + row) // dimensions
                for lane in range(LANES):
                    sums[k, lane] += tile[row, lane] * tile[row, lane]
        out[:, first : first + count] = sums[:, :count]


@fused
def decide(scores, bounds, predicted, unproven):
    """Set the predictions, and where the largest score is not ahead of the second by more than the bound."""
    for n in range(len(scores)):
        top, lead = top_and_lead(scores[n])
        in_double_precision = DOUBLE_ERROR * (2 * abs(scores[n, top]) + lead)
        predicted[n] = top
        unproven[n] = not lead > bounds[n] + in_double_precision
