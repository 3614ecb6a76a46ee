"""What corrections are fitted on, and constants that several of them share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.folds import Keys, keyed_folds, sample_keys

INNER_FOLDS = 5  # of out-of-fold scores, where there is no closed form for leave-one-out
INNER_SALT = 1  # so that the inner folds are not those of the cross-fitting
TINY = 1e-12
MIN_GROUPED = 0.05  # share of samples that belong together with others, from which on leave-one-out is not enough


class Samples(NamedTuple):
    """Labelled samples: logits, true classes as column numbers, weights, and features if there are any.

    Many logits may be of any precision; those that :meth:`take` has selected are float64.

    Corrections are fitted on samples that :meth:`take` has selected in content order (``_utils/folds.py``): then their
    weights have mean 1, and every k-th of them is a fair part. Each sample has a key, from which its folds follow;
    samples with the same key belong together and are held out together.
    """

    logits: NDArray[Any]
    codes: NDArray[np.int64]
    weights: NDArray[np.float64]
    features: NDArray[np.float64] | None = None
    given_keys: Keys | None = None

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Samples:
        """Some of the samples, with weights that have mean 1 again, and logits in float64."""
        weights = self.weights[which]
        features = None if self.features is None else self.features[which]
        logits = np.asarray(self.logits[which], dtype=np.float64)
        return Samples(logits, self.codes[which], weights / weights.mean(), features, self.keys[which])

    @property
    def inputs(self) -> list[NDArray[Any]]:
        """What the corrections are functions of: the logits and, if there are any, the features."""
        return [self.logits] if self.features is None else [self.logits, self.features]

    @property
    def keys(self) -> Keys:
        """A pseudorandom number for each sample, shared by samples that belong together."""
        return sample_keys(self.logits) if self.given_keys is None else self.given_keys

    @property
    def grouped(self) -> bool:
        """Whether more than a few samples belong together with others."""
        _, inverse, counts = np.unique(self.keys, return_inverse=True, return_counts=True)
        return bool(np.mean(counts[inverse] > 1) > MIN_GROUPED)

    def inner_folds(self) -> NDArray[np.int64]:
        """The fold of each sample, for out-of-fold scores within a fit."""
        return keyed_folds(self.keys, INNER_FOLDS, INNER_SALT)
