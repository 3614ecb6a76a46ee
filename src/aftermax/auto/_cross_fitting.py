"""Cross-fitting: every candidate predicts each sample out-of-fold, and is then fitted on all samples.

References
----------
V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters", The Econometrics
Journal 21, 2018.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.head import ManyClassesHead
from aftermax._residual.capacity import Capacity
from aftermax._residual.fitting import WITHOUT_FEATURES, fit_corrections, fit_softmax_temperature
from aftermax._residual.head import ResidualHead, compact
from aftermax._residual.samples import Samples
from aftermax._utils.folds import Split
from aftermax._utils.multinomial import Scores
from aftermax._utils.parallel import in_threads_or_dask
from aftermax._utils.progress import Progress
from aftermax._utils.softmax import log_losses, settle_argmax, softmax
from aftermax._utils.threads import one_blas_thread, one_thread
from aftermax.auto.candidates import OutOfFold

CHUNK = 2_000  # samples
MANY_SAMPLES = 20_000  # with more than this, one fit at a time: each takes some hundred megabytes
# How much of a tier's correction is added to softmax's scores: the candidates.
IN_QUARTERS = (0.25, 0.5, 0.75, 1.0)
TRUSTS = {"biases": (0.5, 1.0), "linear": (0.5, 1.0), "combination": IN_QUARTERS, WITHOUT_FEATURES: IN_QUARTERS}

CandidateKey = tuple[str, float]  # a tier, and how much of it is trusted


class CrossFitted(NamedTuple):
    """Out-of-fold results of softmax and of every candidate, and what was fitted on all samples."""

    held_out: NDArray[np.bool_]  # which samples were held out at all
    softmax: OutOfFold  # with a temperature
    unscaled_losses: NDArray[np.float64]  # softmax's, without one
    candidates: dict[CandidateKey, OutOfFold]
    temperature: float
    heads: Mapping[str, ResidualHead | ManyClassesHead]
    stacking_weights: dict[str, float]  # of the combination


class _Fitted(NamedTuple):
    temperature: float
    heads: dict[str, ResidualHead]
    stacking_weights: dict[str, float]

    def scores(self, inputs: Sequence[NDArray[np.float64]]) -> Iterator[tuple[CandidateKey, Scores]]:
        """The scores of softmax with a temperature, and those of each candidate."""
        softmax_scores = inputs[0] / self.temperature
        yield ("softmax", 1.0), softmax_scores
        for tier, head in self.heads.items():
            correction = head.scores(inputs) - softmax_scores
            for trust in TRUSTS[tier]:
                yield (tier, trust), softmax_scores + trust * correction


def cross_fit(
    samples: Samples,
    splits: Sequence[Split],
    capacity: Capacity,
    rng: np.random.Generator,
    n_jobs: int,
    progress: bool | None,
    *,
    keep_unlabelled: bool = False,
) -> CrossFitted:
    """Fit all candidates on the first part of each split, and on all samples; they predict the second parts.

    What is held out is held out of *all* of a fit: its penalties, its projection and its stacking weights included.
    Samples that are held out several times get the mean of their probabilities and of their log losses.
    """
    salts = rng.integers(2**63, size=len(splits) + 1).tolist()
    means = _Means(samples, splits)

    def fit_on(number: int) -> tuple[_Fitted, list[tuple[NDArray[np.intp], CandidateKey, Scores]]]:
        with one_thread(), one_blas_thread():
            if number == len(splits):
                return _fit(samples, salts[number], capacity, keep_unlabelled), []
            train, test = splits[number]
            fitted = _fit(samples.take(train), salts[number], capacity, keep_unlabelled)
            return fitted, list(_predict(samples, test, fitted))

    workers = n_jobs if len(samples.codes) <= MANY_SAMPLES else 1
    with Progress("cross-fitting", len(splits) + 1, progress) as bar:
        for latest, predicted in in_threads_or_dask(fit_on, range(len(splits) + 1), workers):
            fitted = latest  # the last one is fitted on all samples
            for which, key, scores in predicted:
                means.add(which, key, scores)
            bar.step()
    return CrossFitted(
        means.held_out,
        means.result(("softmax", 1.0)),
        means.unscaled(),
        {(tier, trust): means.result((tier, trust)) for tier in fitted.heads for trust in TRUSTS[tier]},
        fitted.temperature,
        fitted.heads,
        fitted.stacking_weights,
    )


def _fit(samples: Samples, salt: int, capacity: Capacity, keep_unlabelled: bool) -> _Fitted:
    stacked = fit_corrections(samples, salt, capacity, keep_unlabelled=keep_unlabelled)
    heads = {name: compact(one) for name, one in stacked.items()}
    return _Fitted(fit_softmax_temperature(samples), heads, stacked["combination"].weights_by_name())


def _predict(
    samples: Samples, held_out: NDArray[np.intp], fitted: _Fitted
) -> Iterator[tuple[NDArray[np.intp], CandidateKey, Scores]]:
    for first in range(0, len(held_out), CHUNK):
        some = held_out[first : first + CHUNK]
        for key, scores in fitted.scores([values[some] for values in samples.inputs]):
            yield some, key, scores


class _Means:
    """The mean probabilities and log losses of every candidate, over the splits that hold a sample out."""

    def __init__(self, samples: Samples, splits: Sequence[Split]) -> None:
        self.samples = samples
        self.times = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(samples.codes))
        self.held_out = self.times > 0
        self.several = bool(self.times.max() > 1)
        # They decide where there are several, and only then are logits few.
        self.precision = np.float64 if self.several else np.float32
        self.predictions: dict[CandidateKey, NDArray[np.int64]] = {}
        self.probabilities: dict[CandidateKey, NDArray[Any]] = {}
        self.losses: dict[CandidateKey, NDArray[np.float64]] = {}

    def add(self, which: NDArray[np.intp], key: CandidateKey, scores: Scores) -> None:
        shape = self.samples.logits.shape
        predictions = self.predictions.setdefault(key, self.samples.logits.argmax(axis=1))
        losses = self.losses.setdefault(key, np.zeros(len(predictions)))
        predictions[which] = scores.argmax(axis=1)
        losses[which] += log_losses(scores, self.samples.codes[which])
        self.probabilities.setdefault(key, np.zeros(shape, self.precision))[which] += softmax(scores)

    def result(self, key: CandidateKey) -> OutOfFold:
        """Predictions (softmax's for samples that are never held out), log losses and probabilities."""
        predictions, probabilities = self.predictions[key], self.probabilities.pop(key)
        if self.several and key[0] != "softmax":
            predictions = np.where(self.times > 1, probabilities.argmax(axis=1), predictions)
        probabilities /= np.maximum(self.times, 1)[:, None]
        settle_argmax(probabilities, predictions)
        return OutOfFold(predictions, self.losses[key] / np.maximum(self.times, 1), probabilities)

    def unscaled(self) -> NDArray[np.float64]:
        return log_losses(self.samples.logits.copy(), self.samples.codes)
