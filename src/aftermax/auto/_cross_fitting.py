"""Cross-fitting: every candidate predicts each sample out-of-fold, and is then fitted on all samples.

References
----------
V. Chernozhukov et al., "Double/debiased machine learning for treatment and structural parameters", The Econometrics
Journal 21, 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.fitting import StackedCorrections, fit_corrections, fit_softmax_temperature
from aftermax._residual.head import compact
from aftermax._residual.samples import Samples
from aftermax._utils.progress import Progress
from aftermax._utils.softmax import log_losses
from aftermax._utils.threads import in_threads, one_thread
from aftermax.auto.candidates import OutOfFold

CHUNK = 2_000  # samples
MANY_SAMPLES = 20_000  # with more than this, one fit at a time: each takes some hundred megabytes


class CrossFitted(NamedTuple):
    """Out-of-fold predictions of every candidate, and the temperature and corrections fitted on all samples."""

    out_of_fold: dict[str, OutOfFold]
    temperature: float
    stacked: dict[str, StackedCorrections]


def cross_fit(
    samples: Samples, folds: NDArray[np.int64], rng: np.random.Generator, n_jobs: int, progress: bool | None
) -> CrossFitted:
    """Fit all candidates without each of the folds, and on all samples. The first is softmax with a temperature.

    A fold is held out of *all* of a fit: its penalties, its projection and its stacking weights included.
    """
    held_out = [np.flatnonzero(folds == fold) for fold in np.unique(folds)] + [np.empty(0, dtype=np.intp)]
    generators = rng.spawn(len(held_out))

    def fit_without(number: int) -> tuple[float, dict[str, StackedCorrections], dict[str, OutOfFold]]:
        with one_thread():
            kept = np.ones(len(folds), dtype=bool)
            kept[held_out[number]] = False
            part = samples.take(kept)
            temperature, stacked = fit_softmax_temperature(part), fit_corrections(part, generators[number])
            return temperature, stacked, _predict(samples, held_out[number], temperature, stacked)

    workers = n_jobs if len(folds) <= MANY_SAMPLES else 1
    results = []
    with Progress("cross-fitting", len(held_out), progress) as bar:
        for result in in_threads(fit_without, range(len(held_out)), workers):
            results.append(result)
            bar.step()
    *parts, (temperature, stacked, _) = results
    order = np.argsort(np.concatenate(held_out))
    out_of_fold = {
        name: OutOfFold(*(np.concatenate([part[2][name][column] for part in parts])[order] for column in (0, 1)))
        for name in ("softmax", *stacked)
    }
    return CrossFitted(out_of_fold, temperature, stacked)


def _predict(
    samples: Samples, held_out: NDArray[np.intp], temperature: float, stacked: dict[str, StackedCorrections]
) -> dict[str, OutOfFold]:
    """The candidates' predictions of held-out samples, and their log losses."""
    heads = {name: compact(one) for name, one in stacked.items()}
    found = {
        name: OutOfFold(np.empty(len(held_out), dtype=np.int64), np.empty(len(held_out)))
        for name in ("softmax", *heads)
    }
    for first in range(0, len(held_out), CHUNK):
        some = slice(first, first + CHUNK)
        inputs, codes = [values[held_out[some]] for values in samples.inputs], samples.codes[held_out[some]]
        all_scores = {"softmax": inputs[0] / temperature} | {name: head.scores(inputs) for name, head in heads.items()}
        for name, scores in all_scores.items():
            found[name].predictions[some] = scores.argmax(axis=1)
            found[name].losses[some] = log_losses(scores, codes)
    return found
