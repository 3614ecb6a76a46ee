"""From scikit-learn's ``random_state`` to numpy's generator."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state


def generator(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """A generator that an int or a RandomState fixes; None gives another one with each call."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
