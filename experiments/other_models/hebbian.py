"""A readout that is trained by Hebbian updates, on a sparse random expansion of the features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
MIN_NORM = 1e-12


class HebbianReadout:
    """K readout units on a sparse random expansion, without a loss function and without gradients.

    A simple stand-in for the moth olfactory network of Delahunt and Kutz (2019), from which the paper started: it has
    the same three stages, but neither spiking rates nor octopamine.

    1. Features, less their means, are projected at random: each of ``n_units`` units sums a few features,
       with random weights between 0 and 1.
    2. Only the ``n_active`` strongest units stay active (k winners take all): a_i is what unit i exceeds the others by,
       and the activity a is divided by its norm.
    3. For each training sample of class c, the weights w of the readout units are updated:
       w_c += rate * a (Hebb's rule), and w_j -= decay * a * w_j for every other class j.

    The response of class j is the sum of w_ji a_i over units i.

    Parameters
    ----------
    n_units : int, default=2000
        Units of the expansion.
    share : float, default=0.1
        How many of the features each unit sums, as a share; at least three.
    n_active : int, default=100
        How many units stay active.
    rate, decay : float, default=1.0 and 0.1
        Of the updates.
    epochs : int, default=3
        How often the training samples are presented.
    seed : int, default=0
        Determines the projection and the order of the samples.

    References
    ----------
    C. B. Delahunt, J. N. Kutz (2019). Putting a bug in ML: The moth olfactory network learns to read MNIST. Neural
    Networks 118, 54-64.
    """

    def __init__(
        self,
        n_units: int = 2_000,
        share: float = 0.1,
        n_active: int = 100,
        rate: float = 1.0,
        decay: float = 0.1,
        epochs: int = 3,
        seed: int = 0,
    ) -> None:
        self.n_units = n_units
        self.share = share
        self.n_active = n_active
        self.rate = rate
        self.decay = decay
        self.epochs = epochs
        self.seed = seed

    def fit(self, X: Array, y: NDArray[np.int64]) -> Self:
        """Draw the projection, and train the readout sample by sample."""
        rng = np.random.default_rng(self.seed)
        n_features = X.shape[1]
        inputs = min(max(3, round(self.share * n_features)), n_features)
        self.mean_ = X.mean(axis=0)
        self.projection_ = np.zeros((self.n_units, n_features))
        chosen = rng.random((self.n_units, n_features)).argpartition(inputs - 1, axis=1)[:, :inputs]
        np.put_along_axis(self.projection_, chosen, rng.random(chosen.shape), axis=1)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.weights_ = np.zeros((len(self.classes_), self.n_units))
        activity = self.activity(X)
        for _ in range(self.epochs):
            for sample in rng.permutation(len(codes)):
                self._update(activity[sample], codes[sample])
        return self

    def _update(self, activity: Array, code: int) -> None:
        own = self.weights_[code] + self.rate * activity
        self.weights_ *= 1 - self.decay * activity
        self.weights_[code] = own

    def activity(self, X: Array) -> Array:
        """The sparse activity of the expansion, a row of norm 1 for each sample."""
        sums = (X - self.mean_) @ self.projection_.T
        losing = np.partition(sums, -self.n_active - 1, axis=1)[:, [-self.n_active - 1]]
        active = np.maximum(sums - losing, 0.0)
        return np.asarray(active / np.maximum(np.linalg.norm(active, axis=1, keepdims=True), MIN_NORM))

    def decision_function(self, X: Array) -> Array:
        """The responses of the K readout units."""
        return np.asarray(self.activity(X) @ self.weights_.T)
