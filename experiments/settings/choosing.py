"""Is the honest choice of settings worth it? ``aftermax reproduce choosing``.

For every network: its settings chosen by SPHClassifierCV, which never sees the test rows; chosen by the best score on
the validation rows themselves; and chosen by looking at the test labels, as the paper did. The last is no result that
anybody could have had: it is shown as the ceiling, and labelled as such.

Results are kept row by row, so an interrupted run goes on where it stopped. After a change to the package or to the
score files, start with ``--again``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aftermax import SPHClassifierCV, sweep
from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.progress import Progress
from aftermax.data import Scores, load_scores
from experiments.networks import mnist_networks as networks
from experiments.data.mnist import MNIST
from experiments.runs.csv_records import read_records, write_records

VALIDATION_ROWS = (4_000, 400)
RECIPE = "rmsprop"
DRAWN_SIZES = (100, 1_000, 10_000)  # of these, every set of the first network is drawn


@dataclass(frozen=True)
class Outcome:
    """One network and one number of validation rows. Gains are relative reductions of the error."""

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
    luckiest_gain: float  # of the set with the best score on the validation rows
    ceiling_gain: float  # of the set with the best score on the test rows

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.name, self.trained_on, self.network, self.validation_rows

    @property
    def in_words(self) -> str:
        trained = f", trained on {self.trained_on:,}, network {self.network}" if self.trained_on else ""
        kept = "softmax kept" if self.fell_back else f"{100 * self.gain:+.1f} % fewer test errors"
        return f"{self.name}{trained}, {self.validation_rows:,} validation rows: {kept}"

    @property
    def significantly_worse(self) -> bool:
        return self.losses > self.wins and exact_mcnemar(self.wins, self.losses) < 0.05

    @property
    def as_expected(self) -> bool:
        return self.expected_low <= self.gain <= self.expected_high


def compare(case: Case) -> Outcome:
    """All ways of choosing on one network."""
    scores = case.scores()
    logits, labels = scores.val_logits[: case.validation_rows], scores.val_labels[: case.validation_rows]
    test, truth = scores.test_logits, scores.test_labels
    classes = np.arange(logits.shape[1])
    head = SPHClassifierCV(classes=classes, progress=False).fit(logits, labels)
    wins, losses, errors = wins_and_losses(test.argmax(axis=1) == truth, head.predict(test) == truth)
    on_validation = sweep(logits, labels, classes=classes, progress=False)
    on_test = sweep(logits, labels, eval_logits=test, eval_labels=truth, classes=classes, progress=False)
    return Outcome(
        name=case.name,
        trained_on=case.trained_on,
        network=case.network,
        validation_rows=case.validation_rows,
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


# ---- the cases -------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A network and a number of validation rows; the scores are loaded, or the network trained, when asked for."""

    name: str
    trained_on: int
    network: int
    validation_rows: int
    scores: Callable[[], Scores]

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self[:4]

    @property
    def drawn(self) -> bool:
        """Whether its sets are drawn: for the first network of some sizes."""
        return self.trained_on in DRAWN_SIZES and (self.network, self.validation_rows) == (0, VALIDATION_ROWS[0])


def vmnist_cases(mnist: MNIST, kept: Path, quick: bool = False) -> list[Case]:
    """Every network with every number of validation rows."""
    return [
        Case("vmnist", size, number, rows, partial(networks.network_scores, mnist, size, number, RECIPE, kept))
        for size, number in networks.cases(quick)
        for rows in VALIDATION_ROWS
    ]


def file_cases(folder: Path) -> list[Case]:
    """Every score file of a folder, with all its validation rows."""
    paths = sorted(folder.glob("*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder} holds no score files (*.npz).")
    return [Case(path.stem, 0, 0, len(load_scores(path).val_labels), partial(load_scores, path)) for path in paths]


# ---- the run ---------------------------------------------------------------------------------------------------------


def run(cases: Sequence[Case], path: Path, *, again: bool = False) -> list[Outcome]:
    """The outcome of every case; those that ``path`` holds already are computed again only if asked for."""
    known = {} if again else {outcome.key: outcome for outcome in read_records(Outcome, path)}
    outcomes = []
    with Progress("choosing", len(cases)) as bar:
        for case in cases:
            if case.key not in known:
                known[case.key] = compare(case)
                write_records([*known.values()], path)
            outcomes.append(known[case.key])
            bar.step()
            if not bar.shown:
                print(f"[{len(outcomes)}/{len(cases)}] {outcomes[-1].in_words}", flush=True)
    return outcomes
