"""The paper's main experiment: SPH against softmax, AutoHead and other methods, on networks of every strength.

Networks on flattened MNIST are trained on 100 to 50,000 samples, nine for each size. Every method predicts the same
test samples of each network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.text import percent, signed
from aftermax.data import Scores
from aftermax.sph.grid import DEFAULTS, Grid
from experiments.data.mnist import MNIST
from experiments.networks.mnist_networks import (
    Case,
    draw_samples,
    keep_scores,
    network_scores,
    scores_of,
    seed_of,
    train_network,
)
from experiments.networks.recipes import MAIN, SCORES_FOLDER
from experiments.paper.methods import METHODS, USE_TEST_LABELS, TrainedNetwork
from experiments.paper.results import Outcome
from experiments.runs.provenance import network_settings
from experiments.runs.runner import Experiment


@dataclass(frozen=True)
class VmnistExperiment(Experiment[Case, Outcome]):
    """A recipe for the networks, and the methods that are measured on them."""

    name = "vmnist"
    record = Outcome
    seeds = "each network's seed is in outcomes.csv"
    code = (
        "data/mnist.py",
        "networks",
        "paper/best_on_test.py",
        "paper/methods.py",
        "paper/results.py",
        "paper/vmnist.py",
    )

    mnist: MNIST
    recipe: str = MAIN
    kept: Path = SCORES_FOLDER
    methods: Sequence[str] = tuple(METHODS)
    grid: Grid | None = None

    def settings(self) -> dict[str, Any]:
        return network_settings(self.recipe, self.methods, self.grid)

    def effort(self, task: Case) -> int:
        """Training takes longer with more samples, the selection of hyperparameters does not."""
        return 5_000 + task.size

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        """Train one network, keep its scores, and let every method predict its test samples.

        Where the network was measured before, with other methods, the scores that were kept are enough.
        """
        begun = perf_counter()
        network = None
        if "softmax" in methods:
            network = train_network(self.mnist, *task, self.recipe)
            scores = scores_of(network, self.mnist, draw_samples(self.mnist, *task))
            keep_scores(scores, *task, self.recipe, self.kept)
        else:
            scores = network_scores(self.mnist, *task, self.recipe, self.kept)
        trained = TrainedNetwork(self.mnist, *task, self.recipe, self.grid, network, scores)
        outcomes = []
        for method in methods:
            predictions, chosen = METHODS[method](trained)
            changed = {name: value for name, value in chosen.items() if value != DEFAULTS.get(name)}
            seconds, begun = perf_counter() - begun, perf_counter()
            outcomes.append(outcome_of(task, method, scores, predictions, json.dumps(changed), seconds))
        return outcomes

    def check_same(self, known: Sequence[Outcome], new: Sequence[Outcome]) -> None:
        """Another processor rounds differently, which makes it another network."""
        first, second = ((o.softmax_accuracy, o.validation_accuracy) for o in (known[0], new[0]))
        if first != second:
            raise self._other_network(known[0])

    def describe(self, records: Sequence[Outcome]) -> str:
        first = records[0]
        gains = ", ".join(
            f"{o.method.replace('_', ' ')}{' (by its labels)' if o.looks_at_test_labels else ''} {signed(o.gain)}"
            for o in records
            if o.method != "softmax"
        )
        return (
            f"trained on {first.trained_on:,}, network {first.network}: softmax accuracy "
            f"{percent(first.softmax_accuracy)}; fewer errors by {gains}"
        )

    def scores(self, outcome: Outcome) -> Scores:
        """The scores of the network that an outcome is about, as they were kept, or else trained again."""
        scores = network_scores(self.mnist, *outcome.key, self.recipe, self.kept)
        if np.mean(scores.test_logits.argmax(axis=1) == scores.test_labels) != outcome.softmax_accuracy:
            raise self._other_network(outcome)
        return scores

    def _other_network(self, outcome: Outcome) -> ValueError:
        return ValueError(
            f"The scores of network {outcome.network} trained on {outcome.trained_on:,} in {self.kept} are not those "
            "of the results, or this processor rounds differently from theirs: name another folder with --kept, or "
            "start over with --again."
        )


def outcome_of(
    case: Case, method: str, scores: Scores, predictions: NDArray[np.int64], settings: str, seconds: float
) -> Outcome:
    """A method's predictions against the labels, and against those of softmax."""
    before, after = scores.test_logits.argmax(axis=1) == scores.test_labels, predictions == scores.test_labels
    wins, losses, errors = wins_and_losses(before, after)
    return Outcome(
        trained_on=case.size,
        network=case.number,
        seed=seed_of(*case),
        method=method,
        looks_at_test_labels=method in USE_TEST_LABELS,
        validation_accuracy=float(np.mean(scores.val_logits.argmax(axis=1) == scores.val_labels)),
        softmax_accuracy=float(np.mean(before)),
        accuracy=float(np.mean(after)),
        gain=relative_gain(wins, losses, errors),
        wins=wins,
        losses=losses,
        p_value=exact_mcnemar(wins, losses),
        settings=settings,
        seconds=round(seconds, 2),
    )
