"""The compiled inner loops of a fit that is added up chunk by chunk. Import it on first use only: it imports numba.

``rows[n]`` is the row of sample n in the arrays that are added to; below 0, the sample is left out.
"""

import numpy as np

from aftermax._utils.compiled import compiled
from aftermax.sph._kernels import exact_ratio, two_sum

DIGITS = 256  # of numbers to this base, by which medians are found


@compiled
def add_logits(logits, rows, total, error):
    """Add each sample's logits to its row; what rounding loses goes to ``error``."""
    for n in range(logits.shape[0]):
        i = rows[n]
        if i >= 0:
            for j in range(logits.shape[1]):
                total[i, j], lost = two_sum(total[i, j], logits[n, j])
                error[i, j] += lost


@compiled
def means(total, error, counts):
    """The mean of each row; NaN in a row without samples."""
    out = np.full(total.shape, np.nan)
    for i in range(total.shape[0]):
        if counts[i] > 0:
            out[i] = exact_ratio(total[i], error[i], float(counts[i]))
    return out


@compiled
def add_squares(logits, rows, center, total, error, counts):
    """Add squares of deviations from the row's center, and count them: below it [0] and above it [1]."""
    for n in range(logits.shape[0]):
        i = rows[n]
        if i >= 0:
            for j in range(logits.shape[1]):
                gap = logits[n, j] - center[i, j]
                if gap != 0.0:
                    side = 1 if gap > 0.0 else 0
                    total[side, i, j], lost = two_sum(total[side, i, j], gap * gap)
                    error[side, i, j] += lost
                    counts[side, i, j] += 1


@compiled
def count_digits(keys, rows, known, shift, counts):
    """Of the keys that begin with ``known``, the digits above it: count how often each is the next one."""
    for n in range(keys.shape[0]):
        i = rows[n]
        if i >= 0:
            for j in range(keys.shape[1]):
                rest = keys[n, j] >> np.uint64(shift)
                if rest >> np.uint64(8) == known[i, j]:
                    counts[i, j, rest & np.uint64(DIGITS - 1)] += 1


@compiled
def next_above(logits, rows, values, up_to, above):
    """Count the logits up to ``values``, and find the least one above."""
    for n in range(logits.shape[0]):
        i = rows[n]
        if i >= 0:
            for j in range(logits.shape[1]):
                if logits[n, j] <= values[i, j]:
                    up_to[i, j] += 1
                elif logits[n, j] < above[i, j]:
                    above[i, j] = logits[n, j]
