"""The benchmark: every method in every trial. ``python -m experiments money``, ``python -m experiments shift``.

Every method is fitted on the same samples, chooses its hyperparameters by cross-validation on them, and predicts the
same test samples.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from aftermax import SPHClassifierCV
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.progress import Progress
from aftermax._utils.text import percent, signed
from aftermax._utils.threads import one_thread
from aftermax.sph.grid import DEFAULTS
from aftermax.sph.pooled_temperature import fit_temperature
from experiments.benchmark.methods import METHODS, Softmax
from experiments.benchmark.trials import Trial
from experiments.networks.recipes import MAIN
from experiments.networks.samples import Samples
from experiments.runs.provenance import WHAT_TO_DO, network_settings
from experiments.runs.runner import Experiment

MIN_PROBABILITY = 1e-6  # in the log loss, or else one sample that kNN rules out costs more than all others
REPEATS, ENOUGH = 20, 0.1  # predictions are timed so often, or until so many seconds have passed


@dataclass(frozen=True)
class Outcome:
    """One method in one trial. The gain is the relative reduction of softmax's error on the test samples."""

    family: str
    name: str
    network: int
    rows: int  # the number of labelled samples
    classes: int
    method: str
    softmax_error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    fit_seconds: float
    predict_seconds: float  # all test samples
    log_loss: float  # nan where the method has no probabilities
    softmax_log_loss: float  # of softmax with a temperature fitted on the same samples
    expected_gain: float  # nan where the method has no such estimate
    expected_low: float
    expected_high: float
    chosen: str

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The key of its trial."""
        return self.family, self.name, self.network, self.rows

    @property
    def case(self) -> tuple[str, str, int]:
        """The trial's key without the network."""
        return self.family, self.name, self.rows

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


# ---- the run ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Benchmark(Experiment[Trial, Outcome]):
    """The methods, in the order in which they are measured."""

    name = "benchmark"
    record = Outcome
    seeds = "each network's seed follows from its number, see experiments/networks and experiments/benchmark"
    code = (
        "data",
        "networks",
        "benchmark/letters_trials.py",
        "benchmark/measure.py",
        "benchmark/methods.py",
        "benchmark/peers.py",
        "benchmark/peers_features.py",
        "benchmark/shifted_data.py",
        "benchmark/text_trials.py",
        "benchmark/trials.py",
    )

    methods: Sequence[str] = tuple(METHODS)

    def settings(self) -> dict[str, Any]:
        return network_settings(MAIN, self.methods)

    def packages(self) -> Sequence[str]:
        return ["probmetrics"] if "sms" in self.methods else []

    def suits(self, method: str, records: Sequence[Outcome]) -> bool:
        """By the number of classes, and by whether any method with features was measured."""
        asked, has_features = METHODS[method], any(METHODS[record.method].with_features for record in records)
        return records[0].classes <= asked.most_classes and (has_features or not asked.with_features)

    def check_same(self, known: Sequence[Outcome], new: Sequence[Outcome]) -> None:
        """Another processor rounds differently, which makes it another network."""
        before, now = known[0], new[0]
        near = np.isclose(before.softmax_log_loss, now.softmax_log_loss, rtol=1e-3)
        if before.softmax_error != now.softmax_error or not near:
            raise ValueError(
                f"Softmax is not what it was in {now.family} {now.name}, network {now.network}: it was trained again "
                f"and is another network, so its outcomes cannot be added to: {WHAT_TO_DO}."
            )

    def prepare(self, tasks: Sequence[Trial]) -> None:
        """Train the networks that are not kept yet, one after the other, so that no two processes train the same."""
        first = {trial.key[:3]: trial for trial in tasks}
        with Progress("networks", len(first)) as bar:
            for trial in first.values():
                trial.load()
                bar.step()

    def portable(self, task: Trial) -> Trial:
        """The trial with its samples, and without the data set that they were made from."""
        return replace(task, load=partial(_pair, *task.split()))

    def measure(self, task: Trial, methods: Sequence[str]) -> list[Outcome]:
        return measure(task, methods)

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(f"{o.method.replace('_', ' ')} {signed(o.gain)}" for o in records if o.method != "softmax")
        return (
            f"{first.family} {first.name}, network {first.network}, {first.rows:,} samples: softmax error "
            f"{percent(first.softmax_error)}; fewer errors by {gains}"
        )


def _pair(fit: Samples, test: Samples) -> tuple[Samples, Samples]:
    return fit, test


# ---- a trial ---------------------------------------------------------------------------------------------------------


def measure(trial: Trial, methods: Sequence[str]) -> list[Outcome]:
    """Every method that suits the trial, on one core."""
    with single_threaded():
        warm_up(tuple(methods))
        samples, test = map(in_double, trial.split())
        scaled = temperature_log_loss(samples, test)
        return [_outcome(trial, name, samples, test, scaled) for name in methods if METHODS[name].suits(samples)]


def _outcome(trial: Trial, name: str, samples: Samples, test: Samples, softmax_log_loss: float) -> Outcome:
    method, classes = METHODS[name], samples.logits.shape[1]
    first, *others = method.inputs(samples)
    begun = perf_counter()
    head = method.make(classes).fit(first, samples.labels, *others)
    fit_seconds = perf_counter() - begun
    predictions, predict_seconds = timed(partial(head.predict, *method.inputs(test)))
    wins, losses, errors = wins_and_losses(test.logits.argmax(axis=1) == test.labels, predictions == test.labels)
    low, high = getattr(head, "gain_interval_", (np.nan, np.nan))
    return Outcome(
        *trial.key,
        classes=classes,
        method=name,
        softmax_error=errors / len(test.labels),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        fit_seconds=round(fit_seconds, 4),
        predict_seconds=round(predict_seconds, 6),
        log_loss=log_loss_of(head, test, *method.inputs(test)),
        softmax_log_loss=softmax_log_loss,
        expected_gain=getattr(head, "gain_", np.nan),
        expected_low=low,
        expected_high=high,
        chosen=choice_of(head),
    )


def in_double(samples: Samples) -> Samples:
    """The logits in double precision, as some peers would otherwise choose by rounding; the features as they are."""
    return samples._replace(logits=samples.logits.astype(np.float64))


@contextmanager
def single_threaded() -> Iterator[None]:
    """One thread for everything, so that times compare; and no warning of rare classes, which are part of the trial."""
    with threadpool_limits(1), one_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Fewer than \d+ labelled samples", UserWarning)
        yield


@cache
def warm_up(methods: tuple[str, ...]) -> None:
    """Let every method import and compile what it needs, once in each process, so that no trial's time has it."""
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    logits = rng.normal(size=(150, 3)) + 2 * np.eye(3)[labels]
    features = rng.normal(size=(150, 4))
    samples = in_double(Samples(logits.astype(np.float32), labels, features.astype(np.float32)))
    trial = Trial("made", "made", 0, len(labels), lambda: (samples, samples))
    for name in methods:
        _outcome(trial, name, samples, samples, 0.0)


def timed(work: Callable[[], NDArray[np.int64]]) -> tuple[NDArray[np.int64], float]:
    """What it returns, and the least time it took."""
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        begun = perf_counter()
        out = work()
        seconds.append(perf_counter() - begun)
    return out, min(seconds)


def log_loss_of(head: Any, test: Samples, *inputs: NDArray[Any]) -> float:
    """The log loss of the head's probabilities for these inputs, clipped at one in a million; nan if it has none."""
    if not hasattr(head, "predict_proba"):
        return float("nan")
    probabilities = np.zeros_like(test.logits)
    probabilities[:, getattr(head, "classes_", slice(None))] = head.predict_proba(*inputs)
    truth = probabilities[np.arange(len(test.labels)), test.labels]
    return -float(np.mean(np.log(np.maximum(truth, MIN_PROBABILITY))))


def temperature_log_loss(samples: Samples, test: Samples) -> float:
    """The log loss of softmax after temperature scaling (Guo et al., 2017)."""
    temperature = fit_temperature(-samples.logits.astype(np.float64), samples.logits.argmax(axis=1), samples.labels)
    return log_loss_of(Softmax(), test, test.logits / temperature)


def choice_of(head: Any) -> str:
    """What a method chose, in short: hyperparameters, or the name of the head; empty where there was no choice."""
    if hasattr(head, "chosen_"):
        return str(head.chosen_)
    hyperparameters = getattr(head, "best_params_", {})
    if isinstance(head, SPHClassifierCV):
        changed = {name: value for name, value in hyperparameters.items() if value != DEFAULTS[name]}
        return "softmax" if head.fell_back_ else json.dumps(changed)
    return ", ".join(f"{name.removeprefix('head__')}={value}" for name, value in hyperparameters.items())
