"""Cross-fitting for many classes: as :mod:`aftermax.auto._cross_fitting`, with logits read some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._many.fitting import BIASES, CLASS_MEANS, DENSE_CLASSES, DISCRIMINANTS, FittedMany, Head, fit_many
from aftermax._many.samples import ManySamples
from aftermax._utils.folds import Split, keyed_folds
from aftermax._utils.progress import Progress
from aftermax._utils.threads import in_threads, one_thread
from aftermax.auto._cross_fitting import IN_QUARTERS, CandidateKey, CrossFitted
from aftermax.auto.candidates import OutOfFold

MANY_LOGITS = 2_000_000_000  # with more than this, one fit at a time
# Seconds that one core takes for a logit, measured by benchmarks/many.py: without and with discriminants of the logits.
SECONDS_PER_LOGIT = {False: 6e-7, True: 3e-6}
TRUSTS = {BIASES: (0.5, 1.0), CLASS_MEANS: IN_QUARTERS, DISCRIMINANTS: IN_QUARTERS}
SOFTMAX = ("softmax", 1.0)
PARTS, PARTS_SALT = 10, 31  # of a fold


def cross_fit_many(
    samples: ManySamples,
    splits: Sequence[Split],
    n_jobs: int,
    progress: bool | None,
    *,
    dense: bool,
    keep_unlabelled: bool,
    random_splits: bool = False,
) -> CrossFitted:
    """Fit all candidates on the first part of each split, and on all samples; they predict the second parts.

    A sample that several splits hold out is judged by the last of them. Where the splits are random folds, and class
    means are all that there is, samples are predicted with those of nearly all others: see :func:`_heads_for`.
    """
    judged = _Judged(samples)

    def fit_on(number: int) -> tuple[FittedMany, list[_Found]]:
        with one_thread():
            if number == len(splits):
                return fit_many(samples, dense=dense, keep_unlabelled=keep_unlabelled), []
            train, test = splits[number]
            fitted = fit_many(samples.take(train), dense=dense, keep_unlabelled=keep_unlabelled)
            in_parts = random_splits and not fitted.discriminants  # or richer candidates would seem to gain less
            parts = _heads_for(samples, test, fitted) if in_parts else [(test, fitted.heads)]
            return fitted, [one for part, heads in parts for one in _predict(samples, part, fitted.temperature, heads)]

    workers = n_jobs if len(samples.codes) * samples.n_classes <= MANY_LOGITS else 1
    with Progress(_title(samples, dense, workers), len(splits) + 1, progress) as bar:
        for latest, found in in_threads(fit_on, range(len(splits) + 1), workers):
            fitted = latest  # the last one is fitted on all samples
            for one in found:
                judged.keep(one)
            bar.step()
    return CrossFitted(
        judged.held_out,
        judged.result(SOFTMAX),
        judged.unscaled,
        {(tier, trust): judged.result((tier, trust)) for tier in fitted.heads for trust in TRUSTS[tier]},
        fitted.temperature,
        fitted.heads,
        fitted.stacking_weights,
    )


def _title(samples: ManySamples, dense: bool, workers: int) -> str:
    """What is done, and how long it will take, roughly."""
    n_samples, has_dense = len(samples.codes), dense and samples.n_classes <= DENSE_CLASSES
    seconds = n_samples * samples.n_classes * SECONDS_PER_LOGIT[has_dense] / workers
    size = f"cross-fitting {n_samples:,} samples of {samples.n_classes:,} classes"
    return size if seconds < 20 else f"{size} (minutes: about {max(1, round(seconds / 60))})"


class _Found(NamedTuple):
    """Predictions and log losses of some candidates, a column for each, of some held-out samples."""

    which: NDArray[np.intp]
    keys: Sequence[CandidateKey]
    predictions: NDArray[np.int64]
    losses: NDArray[np.float64]


def _heads_for(
    samples: ManySamples, held_out: NDArray[np.intp], fitted: FittedMany
) -> Iterator[tuple[NDArray[np.intp], dict[str, Head]]]:
    """Parts of the held-out samples, each with heads that are fitted on other samples only.

    The stacking is that of the samples outside of the fold. The class means are those of all samples but the part:
    with few labels, many a class would lose its only ones with a whole fold, and what is promised would be too low.
    Samples with the same key, such as those of one group, are in the same part.
    """
    numbers = keyed_folds(samples.keys[held_out], PARTS, PARTS_SALT)
    for number in np.unique(numbers):
        part = held_out[numbers == number]
        yield part, fitted.with_means_of(samples.take(np.setdiff1d(np.arange(len(samples.codes)), part)))


def _predict(
    samples: ManySamples, held_out: NDArray[np.intp], temperature: float, heads: dict[str, Head]
) -> Iterator[_Found]:
    """Judge what was fitted on other samples."""
    some = samples.take(held_out)
    for chunk in some.chunks():
        which, codes = held_out[chunk], some.codes[chunk]
        inputs = [some.read(chunk)] if some.features is None else [some.read(chunk), some.features[chunk]]
        base = inputs[0] / temperature
        yield _Found(which, [SOFTMAX], *_judge(base, np.zeros_like(base), (0.0,), codes))
        for tier, head in heads.items():
            keys = [(tier, trust) for trust in TRUSTS[tier]]
            yield _Found(which, keys, *_judge(base, head.scores(inputs) - base, TRUSTS[tier], codes))


class _Judged:
    """Predictions and log losses of every candidate, of the samples that were held out; softmax's of the others."""

    def __init__(self, samples: ManySamples) -> None:
        self.samples = samples
        n_samples = len(samples.codes)
        self.held_out = np.zeros(n_samples, dtype=bool)
        self.unscaled = np.zeros(n_samples)
        self.argmax = np.zeros(n_samples, dtype=np.int64)
        for chunk in samples.chunks():
            logits = samples.read(chunk)
            predicted, losses = _judge(logits, np.zeros_like(logits), (0.0,), samples.codes[chunk])
            self.argmax[chunk], self.unscaled[chunk] = predicted[:, 0], losses[:, 0]
        self._known: dict[CandidateKey, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    def keep(self, found: _Found) -> None:
        """What candidates predicted of some samples."""
        self.held_out[found.which] = True
        for column, key in enumerate(found.keys):
            known = self._known.setdefault(key, (self.argmax.copy(), np.zeros(len(self.argmax))))
            known[0][found.which], known[1][found.which] = found.predictions[:, column], found.losses[:, column]

    def result(self, key: CandidateKey) -> OutOfFold:
        """Of one candidate."""
        return OutOfFold(*self._known[key])


def _judge(
    base: NDArray[np.float64], correction: NDArray[np.float64], trusts: Sequence[float], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Predictions and log losses of base + trust * correction, with a column for each trust."""
    from aftermax._many import kernels

    predictions = np.empty((len(base), len(trusts)), np.int64)
    losses = np.empty((len(base), len(trusts)))
    kernels.judge_mixtures(base, correction, np.array(trusts), codes, predictions, losses)
    return predictions, losses
