"""The compiled loops of hashes. Importing this module imports numba, so import it on first use only."""

import numpy as np

from aftermax._utils.compiled import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # see aftermax._utils.folds
HALF = np.uint64(32)


@compiled
def hash_rows(bits, hashed):
    """Continue the hash of each row with its values, one after the other."""
    for n in range(bits.shape[0]):
        one = hashed[n]
        for j in range(bits.shape[1]):
            one = (one ^ bits[n, j]) * GOLDEN
            one ^= one >> HALF
        hashed[n] = one
