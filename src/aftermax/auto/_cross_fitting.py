"""Every residual head on rows that it was fitted without, and then fitted on all rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._residual.corrections import TINY
from aftermax._residual.fitting import ResidualHead, Samples, fit_residual, in_units
from aftermax._residual.stacking import combine
from aftermax._utils.progress import Progress
from aftermax._utils.softmax import log_losses
from aftermax._utils.threads import one_thread
from aftermax.auto.candidates import OutOfFold

ROWS_AT_A_TIME = 2_000
MANY_ROWS = 20_000  # with more of them than this, one fit at a time: each takes some hundred megabytes


class CrossFitted(NamedTuple):
    """What came of it: the answers to the rows kept out, and the heads."""

    held_out: dict[str, OutOfFold]
    temperature: float
    heads: dict[str, ResidualHead]


def cross_fit(
    sample: Samples, folds: NDArray[np.int64], rng: np.random.Generator, jobs: int, progress: bool | None
) -> CrossFitted:
    """Fit all heads without each of the folds, and on all rows. The first of them is softmax with a temperature."""
    kept_out = [np.flatnonzero(folds == fold) for fold in np.unique(folds)] + [np.empty(0, dtype=np.intp)]
    generators = rng.spawn(len(kept_out))

    def fit_without(number: int) -> tuple[float, dict[str, ResidualHead], dict[str, OutOfFold]]:
        with one_thread():
            kept = np.ones(len(folds), dtype=bool)
            kept[kept_out[number]] = False
            part = sample.take(kept)
            temperature, heads = temperature_of(part), fit_residual(part, generators[number])
            return temperature, heads, _held_out(sample, kept_out[number], temperature, heads)

    workers = min(jobs, len(kept_out)) if len(folds) <= MANY_ROWS else 1
    results = []
    with Progress("trying heads", len(kept_out), progress) as bar, ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(fit_without, number) for number in range(len(kept_out))]
        try:
            for future in running:
                results.append(future.result())
                bar.step()
        finally:
            for future in running:
                future.cancel()
    *parts, (temperature, heads, _) = results
    place = np.argsort(np.concatenate(kept_out))
    together = {
        name: OutOfFold(*(np.concatenate([part[2][name][column] for part in parts])[place] for column in (0, 1)))
        for name in ("softmax", *heads)
    }
    return CrossFitted(together, temperature, heads)


def _held_out(
    sample: Samples, rows: NDArray[np.intp], temperature: float, heads: dict[str, ResidualHead]
) -> dict[str, OutOfFold]:
    """What the heads say about rows, and the losses."""
    found: dict[str, OutOfFold] = {
        name: OutOfFold(np.empty(len(rows), dtype=np.int64), np.empty(len(rows))) for name in ("softmax", *heads)
    }
    for first in range(0, len(rows), ROWS_AT_A_TIME):
        some = slice(first, first + ROWS_AT_A_TIME)
        inputs, codes = [values[rows[some]] for values in sample.inputs], sample.codes[rows[some]]
        opinions = heads["combination"].opinions(inputs)
        everyone = {"softmax": inputs[0] / temperature} | {
            name: head.combination.scores(opinions) for name, head in heads.items()
        }
        for name, scores in everyone.items():
            found[name].answers[some] = scores.argmax(axis=1)
            found[name].losses[some] = log_losses(scores, codes)
    return found


def temperature_of(sample: Samples) -> float:
    """The temperature with the least log-loss, as in temperature scaling."""
    scale, logits = in_units(sample.logits)
    found, _ = combine([logits], sample.codes, sample.weights, biases=False)
    return scale / max(float(found.weights[0]), TINY)
