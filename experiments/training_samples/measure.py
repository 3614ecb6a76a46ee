"""Can D, or a head, come from training samples? ``python -m experiments training-samples``.

The paper says it cannot: samples that a network was trained on behave differently. Here SPH and AutoHead are fitted on
the training scores, on their out-of-fold scores, and on held-out samples, and predict the same test samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax import AutoHead, SPHClassifier, SPHClassifierCV, default_grid
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import QUICK_NETWORKS, QUICK_SIZES, Case, seed_of
from experiments.networks.recipes import MAIN
from experiments.runs.provenance import network_settings
from experiments.runs.runner import Experiment
from experiments.training_samples.sources import FOLDS, MAX_FITTED_ON, SOURCES, Fitting, Labelled, test_scores, train

SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
NETWORKS = 1
# The part of the default grid in which D is of all samples, whatever their certainty; the whole grid takes ten times as
# long. The folds are drawn once.
GRID = default_grid()[:1]
SOFTMAX = "softmax"  # without any head; of interest where the network is another one
HEADS: dict[str, Callable[..., Any]] = {
    "pooling": partial(SPHClassifier, certainty=1.0, min_gain=-1.0),  # of every sample, and every class is trusted
    "sph": partial(SPHClassifierCV, GRID, n_repeats=1, progress=False, n_jobs=1),
    "auto": partial(AutoHead, progress=False, n_jobs=1),
}
REFERENCE = "held_out"


@dataclass(frozen=True)
class Outcome:
    """A head that was fitted on one source of scores, on one network's test samples.

    Wins, losses and the gain are against softmax of the network that was trained on all training samples; wins and
    losses "of the reference" are against the same head fitted on as many held-out samples.
    """

    trained_on: int
    network: int
    seed: int
    source: str
    head: str
    fitted_on: int
    softmax_error: float
    error: float
    gain: float
    wins: int
    losses: int
    p_value: float
    reference_wins: int
    reference_losses: int
    seconds: float

    @property
    def key(self) -> Case:
        return Case(self.trained_on, self.network)

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and self.p_value < 0.05


def cases(quick: bool = False, networks: int = NETWORKS) -> list[Case]:
    """The networks. The first of every size comes first, so that a run that is cut short has all sizes."""
    sizes, networks = (QUICK_SIZES, QUICK_NETWORKS) if quick else (SIZES, networks)
    return [Case(size, number) for number in range(networks) for size in sizes]


@dataclass(frozen=True)
class TrainingSamplesExperiment(Experiment[Case, Outcome]):
    """Every head on every source of scores."""

    name = "training-samples"
    record = Outcome
    seeds = "each network's seed is in outcomes.csv; those of other networks and draws follow from it"
    code = ("data/mnist.py", "networks", "training_samples/sources.py", "training_samples/measure.py")

    mnist: MNIST
    heads: Sequence[str] = (SOFTMAX, *HEADS)

    def settings(self) -> dict[str, Any]:
        more = {"heads": list(self.heads), "folds": FOLDS, "max_fitted_on": MAX_FITTED_ON}
        return network_settings(MAIN, (), GRID) | {"sources": list(SOURCES)} | more

    def effort(self, task: Case) -> int:
        """Six networks are trained, and two heads are fitted on each source."""
        return 10_000 + 2 * task.size

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        """Train the network and those of the folds, fit every head on every source, and predict the test samples."""
        trained = train(self.mnist, task)
        test = test_scores(trained, trained.network)
        right: dict[tuple[str, str], NDArray[np.bool_]] = {}
        spent: dict[tuple[str, str], tuple[int, float]] = {}
        for source, make in SOURCES.items():
            if (fitting := make(trained)) is None:
                continue
            scored = test if fitting.network is trained.network else test_scores(trained, fitting.network)
            for head in self.heads:
                begun = perf_counter()
                right[source, head] = predictions(head, fitting, scored) == test.labels
                spent[source, head] = len(fitting.samples.labels), perf_counter() - begun
        before = test.logits.argmax(axis=1) == test.labels
        return [
            outcome_of(task, source, head, before, after, right[REFERENCE, head], *spent[source, head])
            for (source, head), after in right.items()
        ]

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(f"{o.source} {o.head} {signed(o.gain)}" for o in records if o.head != SOFTMAX)
        error = percent(first.softmax_error)
        return f"trained on {first.trained_on:,}, network {first.network}: softmax error {error}; fewer errors: {gains}"


def predictions(head: str, fitting: Fitting, test: Labelled) -> NDArray[np.int64]:
    """The classes that a head predicts for the test samples."""
    if head == SOFTMAX:
        return np.asarray(test.logits.argmax(axis=1))
    made = HEADS[head](classes=np.arange(test.logits.shape[1]))
    with warnings.catch_warnings():  # rare classes are part of the experiment
        warnings.filterwarnings("ignore", r"Fewer than \d+ labelled samples", UserWarning)
        return np.asarray(made.fit(*fitting.samples).predict(test.logits))


def outcome_of(
    case: Case,
    source: str,
    head: str,
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    fitted_on: int,
    seconds: float,
) -> Outcome:
    """Which test samples are right after, compared with softmax before and with the reference."""
    wins, losses, errors = wins_and_losses(before, after)
    reference_wins, reference_losses, _ = wins_and_losses(reference, after)
    return Outcome(
        trained_on=case.size,
        network=case.number,
        seed=seed_of(*case),
        source=source,
        head=head,
        fitted_on=fitted_on,
        softmax_error=errors / len(before),
        error=float(np.mean(~after)),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        reference_wins=reference_wins,
        reference_losses=reference_losses,
        seconds=round(seconds, 2),
    )
