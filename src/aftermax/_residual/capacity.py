"""How rich the kernel corrections may become: a budget of Nystroem centers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FIRST_CENTERS = (150, 300)  # that every kernel of the logits, and of the features, has
CENTERS_PER_CLASS = 60  # of kernels of the logits, between the fewest and the most


class Capacity(NamedTuple):
    """The most centers that a kernel may have; how many it gets is decided by its leave-one-out log loss."""

    of_logits: tuple[int, int]  # with few classes, and with many
    of_features: int

    def centers(self, source: int, n_samples: int, n_classes: int) -> int:
        """The most centers of kernels of the logits (0) or of the features (1).

        With K logits two thirds of the samples stand well for all; features have more dimensions, and need them all.
        """
        if source:
            return min(n_samples, self.of_features)
        most = int(np.clip(CENTERS_PER_CLASS * n_classes, *self.of_logits))
        return min(n_samples, most, max(FIRST_CENTERS[0], 2 * n_samples // 3))


STANDARD = Capacity((600, 1_200), 1_200)
BUDGETS = {"fast": Capacity((300, 300), 300), "standard": STANDARD, "thorough": Capacity((2_400, 2_400), 2_400)}
