"""The money table: every case by every method. ``aftermax bench --peers``.

A case is a network (or several alike), a world and a number of labelled rows. Every method is fitted on the same rows,
chooses its settings within them, and answers the same test rows. Results are kept trial by trial, so an interrupted run
goes on where it stopped; after a change to the score files, start with ``--again``.

SPHClassifierCV is left out where there are more than 20 classes: its time grows with their square.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from aftermax import SPHClassifierCV
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.progress import Progress
from aftermax._utils.text import percent, signed
from aftermax._utils.threads import one_thread
from aftermax.sph._temperature import fit_temperature
from aftermax.sph.grid import DEFAULTS, default_grid
from experiments.runs.provenance import PACKAGES, check_conditions, conditions, write_conditions
from experiments.benchmark.peers import PEERS
from experiments.networks.recipes import MAIN
from experiments.runs.csv_records import read_records, write_records
from experiments.benchmark.trials import Rows, Trial

LEAST_PROBABILITY = 1e-6  # in the log-loss, or else one row that kNN rules out costs more than all others
REPEATS, ENOUGH = 20, 0.1  # predictions are timed so often, or until so many seconds have passed
# The package's files that no number depends on, and the files of experiments that the numbers do depend on.
NO_NUMBERS = ("__init__", "audited", "auditing", "demo", "files", "progress", "words")
EXPERIMENT = ("cifar", "corruptions", "datasets", "models", "money", "networks", "peers", "recipes", "shift", "trials")


# ---- the methods -----------------------------------------------------------------------------------------------------


class Softmax:
    """What the network says as it is."""

    def fit(self, logits: NDArray[np.float64], labels: NDArray[np.int64]) -> Self:
        return self

    def predict(self, logits: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(self.predict_proba(logits).argmax(axis=1))

    def predict_proba(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        from scipy.special import softmax

        return np.asarray(softmax(logits, axis=1))


def sph(classes: int) -> Any:
    return SPHClassifierCV(classes=np.arange(classes), n_jobs=1, progress=False)


def auto(classes: int) -> Any:
    from aftermax import AutoHead

    return AutoHead(classes=np.arange(classes), n_jobs=1, progress=False)


Key = tuple[str, str, int, int]  # of a trial


def peer(make: Callable[[], Any], classes: int) -> Any:
    return make()


class Method(NamedTuple):
    """How to make one for so many classes, and what it is for."""

    make: Callable[[int], Any]
    with_features: bool = False
    most_classes: float = np.inf

    def suits(self, rows: Rows) -> bool:
        return rows.logits.shape[1] <= self.most_classes and (rows.features is not None or not self.with_features)


METHODS: dict[str, Method] = {
    "softmax": Method(lambda classes: Softmax()),
    "sph": Method(sph, most_classes=20),
    "auto": Method(auto),
    "auto_features": Method(auto, with_features=True),
    **{name: Method(partial(peer, make)) for name, make in PEERS.items()},
}


# ---- a trial ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One method in one trial. The gain is the relative reduction of softmax's error on the test rows."""

    family: str
    name: str
    network: int
    rows: int
    classes: int
    method: str
    softmax_error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    fit_seconds: float
    predict_seconds: float  # all test rows
    log_loss: float  # nan where the method has no probabilities
    softmax_log_loss: float  # of softmax with a temperature fitted on the same rows
    expected_gain: float  # nan where the method does not say
    expected_low: float
    expected_high: float
    chosen: str

    @property
    def trial(self) -> tuple[str, str, int, int]:
        """The key of the trial it is from."""
        return self.family, self.name, self.network, self.rows

    @property
    def case(self) -> tuple[str, str, int]:
        """The trial's, whatever the network."""
        return self.family, self.name, self.rows

    @property
    def significantly_better(self) -> bool:
        return self.wins > self.losses and self.p_value < 0.05

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


def measure(trial: Trial, methods: Sequence[str]) -> list[Outcome]:
    """Every method that suits the trial, on one core."""
    with alone():
        warm_up(tuple(methods))
        rows, test = map(in_double, trial.split())
        scaled = tempered_log_loss(rows, test)
        return [_outcome(trial, name, rows, test, scaled) for name in methods if METHODS[name].suits(rows)]


def _outcome(trial: Trial, name: str, rows: Rows, test: Rows, softmax_log_loss: float) -> Outcome:
    method = METHODS[name]
    given, asked = ([part.features] if method.with_features else [] for part in (rows, test))
    begun = perf_counter()
    head = method.make(rows.logits.shape[1]).fit(rows.logits, rows.labels, *given)
    fit_seconds = perf_counter() - begun
    answers, predict_seconds = timed(partial(head.predict, test.logits, *asked))
    wins, losses, errors = wins_and_losses(test.logits.argmax(axis=1) == test.labels, answers == test.labels)
    low, high = getattr(head, "gain_interval_", (np.nan, np.nan))
    return Outcome(
        family=trial.family,
        name=trial.name,
        network=trial.network,
        rows=trial.rows,
        classes=rows.logits.shape[1],
        method=name,
        softmax_error=errors / len(test.labels),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        fit_seconds=round(fit_seconds, 4),
        predict_seconds=round(predict_seconds, 6),
        log_loss=log_loss_of(head, test, *asked),
        softmax_log_loss=softmax_log_loss,
        expected_gain=getattr(head, "gain_", np.nan),
        expected_low=low,
        expected_high=high,
        chosen=chosen(head),
    )


def in_double(rows: Rows) -> Rows:
    """The logits in double precision, as some peers would otherwise choose by rounding; the features as they are."""
    return rows._replace(logits=rows.logits.astype(np.float64))


@contextmanager
def alone() -> Iterator[None]:
    """One thread for everything, so that times compare; and no word on rare classes, which are part of the trial."""
    with threadpool_limits(1), one_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Fewer than \d+ labelled rows", UserWarning)
        yield


@cache
def warm_up(methods: tuple[str, ...]) -> None:
    """Let every method import and compile what it needs, once in each process, so that no trial's time has it."""
    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    logits = rng.normal(size=(150, 3)) + 2 * np.eye(3)[labels]
    features = rng.normal(size=(150, 4))
    rows = in_double(Rows(logits.astype(np.float32), labels, features.astype(np.float32)))
    trial = Trial("made", "made", 0, len(labels), lambda: (rows, rows))
    for name in methods:
        _outcome(trial, name, rows, rows, 0.0)


def timed(work: Callable[[], NDArray[np.int64]]) -> tuple[NDArray[np.int64], float]:
    """What it returns, and the least time it took."""
    seconds: list[float] = []
    while len(seconds) < REPEATS and sum(seconds) < ENOUGH:
        begun = perf_counter()
        out = work()
        seconds.append(perf_counter() - begun)
    return out, min(seconds)


def log_loss_of(head: Any, test: Rows, *features: Any) -> float:
    """Of the head's probabilities, none taken for smaller than one in a million; nan if it gives none."""
    if not hasattr(head, "predict_proba"):
        return float("nan")
    probabilities = np.zeros_like(test.logits)
    probabilities[:, getattr(head, "classes_", slice(None))] = head.predict_proba(test.logits, *features)
    truth = probabilities[np.arange(len(test.labels)), test.labels]
    return -float(np.mean(np.log(np.maximum(truth, LEAST_PROBABILITY))))


def tempered_log_loss(rows: Rows, test: Rows) -> float:
    """Of softmax with one temperature, the common cure."""
    temperature = fit_temperature(-rows.logits.astype(np.float64), rows.logits.argmax(axis=1), rows.labels)
    return log_loss_of(Softmax(), test._replace(logits=test.logits / temperature))


def chosen(head: Any) -> str:
    """What a method chose, in short: settings, or the name of the head; nothing where there was no choice."""
    if hasattr(head, "chosen_"):
        return str(head.chosen_)
    settings = getattr(head, "best_params_", {})
    if isinstance(head, SPHClassifierCV):
        settings = {name: value for name, value in settings.items() if value != DEFAULTS[name]}
        return "softmax" if head.fell_back_ else json.dumps(settings)
    return ", ".join(f"{name.removeprefix('head__')}={value}" for name, value in settings.items())


# ---- the run ---------------------------------------------------------------------------------------------------------


def run(
    trials: Sequence[Trial],
    methods: Sequence[str],
    path: Path,
    *,
    again: bool = False,
    redo: Sequence[str] = (),
    jobs: int = 2,
) -> list[Outcome]:
    """The outcomes of every trial; those that ``path`` holds already are computed again only if asked for.

    That is, all of them (``again``), or those of some methods (``redo``), which may then have changed since; run.json
    says so. Trials are spread over that many processes, each of which uses one core.
    """
    known: dict[Key, list[Outcome]] = {}
    forgotten: dict[Key, list[str]] = {}
    for outcome in [] if again else read_records(Outcome, path):
        known.setdefault(outcome.trial, [])
        if outcome.method in redo:
            forgotten.setdefault(outcome.trial, []).append(outcome.method)
        else:
            known[outcome.trial].append(outcome)
    tasks = [
        (trial, forgotten.get(trial.key, methods))
        for trial in trials
        if trial.key in forgotten or trial.key not in known
    ]
    _check_conditions(path, methods, redo, fresh=not known, complete=not tasks)
    if tasks:
        print(f"Trials: {len(trials)}, of which {len(tasks)} to do ...", flush=True)
    try:
        prepare([trial for trial, _ in tasks])
        with Progress("trials", len(tasks)) as bar:
            for done, outcomes in enumerate(_measured(tasks, jobs), start=1):
                found = [*known.get(outcomes[0].trial, []), *outcomes]
                known[outcomes[0].trial] = sorted(found, key=lambda one: methods.index(one.method))
                write_records([outcome for key in sorted(known) for outcome in known[key]], path)
                bar.step()
                if not bar.shown:
                    print(f"[{done}/{len(tasks)}] {in_words(outcomes)}", flush=True)
    except KeyboardInterrupt:
        print(f"\nStopped; {len(known)} trials are kept. The same command goes on there.", file=sys.stderr)
        raise
    return [outcome for trial in trials for outcome in known[trial.key]]


def _measured(tasks: Sequence[tuple[Trial, Sequence[str]]], jobs: int) -> Iterator[list[Outcome]]:
    """The outcomes of each trial as they come; where there is one job, in this process."""
    if jobs == 1:
        yield from (measure(*task) for task in tasks)
        return
    calls = (delayed(measure)(loaded(trial), methods) for trial, methods in tasks)
    with parallel_config("loky", inner_max_num_threads=1):
        yield from Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs)(calls)


def loaded(trial: Trial) -> Trial:
    """The trial with its rows at hand, and without the data set that they were made from."""
    rows, test = trial.split()
    return replace(trial, load=partial(_pair, rows, test))


def _pair(rows: Rows, test: Rows) -> tuple[Rows, Rows]:
    return rows, test


def prepare(trials: Sequence[Trial]) -> None:
    """Train the networks that are not kept yet, one after the other, so that no two processes train the same."""
    first = {trial.key[:3]: trial for trial in trials}
    with Progress("networks", len(first)) as bar:
        for trial in first.values():
            trial.load()
            bar.step()


def _check_conditions(path: Path, methods: Sequence[str], redo: Sequence[str], *, fresh: bool, complete: bool) -> None:
    """Begin anew and write down how; or see that results that are there already were made like this.

    Where some methods are done anew, the code may be another: which one is written down, too.
    """
    packages = [*PACKAGES, *(["probmetrics"] if "sms" in methods else [])]
    now = conditions(MAIN, methods, default_grid(), packages=packages, sources=_sources())
    place = path.with_name("run.json")
    if fresh:
        path.unlink(missing_ok=True)
        write_conditions(place, now)
    elif redo:
        code = now.pop("code")
        check_conditions(place, now, only_what_was_tried=False)
        write_conditions(place, json.loads(place.read_text()) | {"redone": {"methods": list(redo), "code": code}})
    else:
        check_conditions(place, now, only_what_was_tried=complete)


def _sources() -> list[Path]:
    """The files that the numbers depend on: the heads, and those of the experiment that there are."""
    here = Path(__file__).parent
    heads = [path for path in sorted(here.parent.glob("*.py")) if path.stem not in NO_NUMBERS]
    return [*heads, *(path for name in EXPERIMENT if (path := here / f"{name}.py").is_file())]


def in_words(outcomes: Sequence[Outcome]) -> str:
    """A line on one trial."""
    first = outcomes[0]
    gains = ", ".join(f"{o.method.replace('_', ' ')} {signed(o.gain)}" for o in outcomes if o.method != "softmax")
    return (
        f"{first.family} {first.name}, network {first.network}, {first.rows:,} rows: softmax wrong in "
        f"{percent(first.softmax_error)}; fewer errors by {gains}"
    )
