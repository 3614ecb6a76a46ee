"""Other estimators of class proportions, from quapy and abstention. Their adapted predictions need no guard's consent.

All get the same: the head's out-of-fold probabilities of the labelled samples, and its probabilities of the unlabelled
ones. quapy estimates proportions only: the probabilities are multiplied with new / old proportion, as Saerens et al.
do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Probabilities = NDArray[np.float64]
PACKAGES = ("quapy", "abstention")
TINY = 1e-12


class Adapter(NamedTuple):
    """Estimated proportions, and how probabilities become those of the new world."""

    shares: NDArray[np.float64]
    adapt: Callable[[Probabilities], Probabilities]


Peer = Callable[[Probabilities, NDArray[np.int64], Probabilities], Adapter]  # labelled, their classes, unlabelled


def emq(labelled: Probabilities, codes: NDArray[np.int64], unlabelled: Probabilities) -> Adapter:
    """quapy's EMQ (also called SLD), on the head's probabilities as they are."""
    from quapy.method.aggregative import EMQ

    assumed = _label_shares(codes, labelled.shape[1])
    shares, _ = EMQ.EM(assumed, np.maximum(unlabelled, TINY))
    return Adapter(shares, lambda some: some * shares / np.maximum(assumed, 1e-6))


def pacc(labelled: Probabilities, codes: NDArray[np.int64], unlabelled: Probabilities) -> Adapter:
    """quapy's probabilistic adjusted classify and count."""
    from quapy.method.aggregative import PACC

    quantifier = PACC(classifier=_Known(labelled.shape[1]), fit_classifier=False)
    quantifier.aggregation_fit(labelled, codes)
    shares = np.asarray(quantifier.aggregate(unlabelled))
    assumed = _label_shares(codes, labelled.shape[1])
    return Adapter(shares, lambda some: some * shares / np.maximum(assumed, 1e-6))


def bcts(labelled: Probabilities, codes: NDArray[np.int64], unlabelled: Probabilities) -> Adapter:
    """abstention's EM with bias-corrected temperature scaling (Alexandari et al., 2020).

    The calibrator is applied beforehand: in version 0.1.3.1, EMImbalanceAdapter fits one that its EM does not use.
    Where it fails, as with hardly any errors among the labelled samples, the probabilities are taken as they are.
    """
    from abstention.calibration import TempScaling
    from abstention.label_shift import EMImbalanceAdapter

    known = np.eye(labelled.shape[1])[codes]
    try:
        calibrate = TempScaling(bias_positions="all")(
            valid_preacts=np.maximum(labelled, TINY), valid_labels=known, posterior_supplied=True
        )
    except AssertionError:  # its optimiser has not converged
        calibrate = _unchanged
    before, now = calibrate(np.maximum(labelled, TINY)), calibrate(np.maximum(unlabelled, TINY))
    found = EMImbalanceAdapter()(tofit_initial_posterior_probs=now, valid_posterior_probs=before)
    shares = before.mean(axis=0) * found.multipliers
    return Adapter(shares / shares.sum(), lambda some: calibrate(np.maximum(some, TINY)) * found.multipliers)


PEERS: dict[str, Peer] = {"quapy EMQ": emq, "quapy PACC": pacc, "abstention EM with BCTS": bcts}


def _unchanged(probabilities: Probabilities) -> Probabilities:
    return probabilities


class _Known(ClassifierMixin, BaseEstimator):
    """What quapy asks of a classifier, where its predictions are known already: it is never asked for any."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X: object, y: object) -> _Known:
        return self

    def predict_proba(self, X: Probabilities) -> Probabilities:
        return X


def _label_shares(codes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(codes, minlength=n_classes) / len(codes))
