"""How should the hyperparameters of SPH be chosen? ``python -m experiments choosing``.

For every network, they are chosen by SPHClassifierCV, which never sees the test samples; by the best score on the
validation samples themselves; and by the test labels, as in the paper. The last cannot be done in practice: it is shown
as the ceiling, and labelled as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aftermax import SPHClassifierCV, sweep
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax.data import Scores, load_scores
from experiments.data.mnist import MNIST
from experiments.networks import mnist_networks
from experiments.runs.provenance import network_settings
from experiments.runs.runner import Experiment

VALIDATION_SAMPLES = (4_000, 400)
RECIPE = "rmsprop"
DRAWN_SIZES = (100, 1_000, 10_000)  # of these, every set of hyperparameters is drawn for the first network


@dataclass(frozen=True)
class Outcome:
    """One network and one number of validation samples. Gains are relative reductions of the error."""

    name: str
    trained_on: int  # 0 where that is not known
    network: int
    validation_rows: int
    softmax_error: float
    expected_gain: float
    expected_low: float
    expected_high: float
    p_value: float
    fell_back: bool
    gain: float
    wins: int
    losses: int
    luckiest_gain: float  # of the hyperparameters with the best score on the validation samples
    ceiling_gain: float  # of the hyperparameters with the best score on the test samples

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.name, self.trained_on, self.network, self.validation_rows

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and exact_mcnemar(self.wins, self.losses) < 0.05

    @property
    def as_expected(self) -> bool:
        return self.expected_low <= self.gain <= self.expected_high


class Case(NamedTuple):
    """A network and a number of validation samples; ``scores`` loads its scores, or trains it."""

    name: str
    trained_on: int
    network: int
    validation_samples: int
    scores: Callable[[], Scores]

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self[:4]

    @property
    def drawn(self) -> bool:
        """Whether all sets of hyperparameters are drawn: for the first network of some sizes."""
        first = self.network, self.validation_samples
        return self.trained_on in DRAWN_SIZES and first == (0, VALIDATION_SAMPLES[0])


def vmnist_cases(mnist: MNIST, kept: Path, quick: bool = False) -> list[Case]:
    """Every network with every number of validation samples."""
    return [
        Case("vmnist", size, number, count, partial(mnist_networks.network_scores, mnist, size, number, RECIPE, kept))
        for size, number in mnist_networks.cases(quick)
        for count in VALIDATION_SAMPLES
    ]


def file_cases(folder: Path) -> list[Case]:
    """Every score file of a folder, with all its validation samples."""
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no score files (*.npz).")
    return [Case(path.stem, 0, 0, len(load_scores(path).val_labels), partial(load_scores, path)) for path in paths]


class ChoosingExperiment(Experiment[Case, Outcome]):
    """All ways to choose the hyperparameters, on every network."""

    name = "choosing"
    record = Outcome
    seeds = "each network's seed follows from its size and number, see experiments/networks/mnist_networks.py"
    code = ("data/mnist.py", "networks", "settings/choosing.py")

    def settings(self) -> dict[str, Any]:
        return network_settings(RECIPE, self.methods) | {"validation_samples": list(VALIDATION_SAMPLES)}

    def measure(self, task: Case, methods: Sequence[str]) -> list[Outcome]:
        scores = task.scores()
        count = task.validation_samples
        logits, labels = scores.val_logits[:count], scores.val_labels[:count]
        test, truth = scores.test_logits, scores.test_labels
        classes = np.arange(logits.shape[1])
        head = SPHClassifierCV(classes=classes, progress=False).fit(logits, labels)
        wins, losses, errors = wins_and_losses(test.argmax(axis=1) == truth, head.predict(test) == truth)
        on_validation = sweep(logits, labels, classes=classes, progress=False)
        on_test = sweep(logits, labels, eval_logits=test, eval_labels=truth, classes=classes, progress=False)
        outcome = Outcome(
            *task.key,
            softmax_error=errors / len(truth),
            expected_gain=head.gain_,
            expected_low=head.gain_interval_[0],
            expected_high=head.gain_interval_[1],
            p_value=head.p_value_,
            fell_back=head.fell_back_,
            gain=relative_gain(wins, losses, errors),
            wins=wins,
            losses=losses,
            luckiest_gain=float(on_test["gain"][np.argmax(on_validation["accuracy"])]),
            ceiling_gain=float(on_test["gain"].max()),
        )
        return [outcome]

    def describe(self, records: Sequence[Outcome]) -> str:
        [outcome] = records
        trained = f", trained on {outcome.trained_on:,}, network {outcome.network}" if outcome.trained_on else ""
        result = "softmax kept" if outcome.fell_back else f"{100 * outcome.gain:+.1f} % fewer test errors"
        return f"{outcome.name}{trained}, {outcome.validation_rows:,} validation samples: {result}"
