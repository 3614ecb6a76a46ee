"""Every residual head on rows that it was fitted without, and then fitted on all rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax.candidates import HeldOut
from aftermax.combination import combine, log_losses
from aftermax.corrections import TINY
from aftermax.progress import Progress
from aftermax.residual import ResidualHead, Sample, fit_residual, in_units
from aftermax.threads import one_thread

ROWS_AT_A_TIME = 2_000
MANY_ROWS = 20_000  # with more of them than this, one fit at a time: each takes some hundred megabytes


class Tried(NamedTuple):
    """What came of it: the answers to the rows kept out, and the heads."""

    held_out: dict[str, HeldOut]
    temperature: float
    heads: dict[str, ResidualHead]


def try_out(
    sample: Sample, folds: NDArray[np.int64], rng: np.random.Generator, jobs: int, progress: bool | None
) -> Tried:
    """Fit all heads without each of the folds, and on all rows. The first of them is softmax with a temperature."""
    kept_out = [np.flatnonzero(folds == fold) for fold in np.unique(folds)] + [np.empty(0, dtype=np.intp)]
    generators = rng.spawn(len(kept_out))

    def fit_without(number: int) -> tuple[float, dict[str, ResidualHead], dict[str, HeldOut]]:
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
        name: HeldOut(*(np.concatenate([part[2][name][column] for part in parts])[place] for column in (0, 1)))
        for name in ("softmax", *heads)
    }
    return Tried(together, temperature, heads)


def _held_out(
    sample: Sample, rows: NDArray[np.intp], temperature: float, heads: dict[str, ResidualHead]
) -> dict[str, HeldOut]:
    """What the heads say about rows, and the losses."""
    found: dict[str, HeldOut] = {
        name: HeldOut(np.empty(len(rows), dtype=np.int64), np.empty(len(rows))) for name in ("softmax", *heads)
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


def temperature_of(sample: Sample) -> float:
    """The temperature with the least log-loss, as in temperature scaling."""
    scale, logits = in_units(sample.logits)
    found, _ = combine([logits], sample.codes, sample.weights, biases=False)
    return scale / max(float(found.weights[0]), TINY)
