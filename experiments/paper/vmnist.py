"""The paper's main experiment: SPH against softmax, and against what else could be done, on networks of every strength.

Networks on flattened MNIST are trained on 100 to 50,000 samples, nine for each size. Every method answers the same
test rows of each network. Results are kept network by network, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.paired_tests import exact_mcnemar, relative_gain, wins_and_losses
from aftermax._utils.progress import Progress
from aftermax._utils.text import percent, signed
from aftermax.data import Scores
from aftermax.sph.grid import DEFAULTS, Grid, default_grid
from experiments.runs.provenance import check_conditions, conditions, write_conditions
from experiments.data.mnist import MNIST
from experiments.paper.methods import LOOK_AT_TEST_LABELS, METHODS, Subject
from experiments.networks.mnist_networks import (
    Case,
    draw_rows,
    keep_scores,
    network_scores,
    scores_of,
    seed_of,
    train_network,
)
from experiments.paper.results import Outcome, Results
from experiments.networks.recipes import KEPT, MAIN
from experiments.runs.csv_records import read_records, write_records


@dataclass(frozen=True)
class Experiment:
    """A recipe for the networks, and the methods to be tried on them."""

    mnist: MNIST
    recipe: str = MAIN
    kept: Path = KEPT
    methods: Sequence[str] = tuple(METHODS)
    grid: Grid | None = None

    def run(self, cases: Sequence[Case], path: Path, *, again: bool = False) -> Results:
        """Every method on every network.

        Networks that ``path`` holds already are not trained again, unless it is to be done ``again``.
        """
        known = {} if again else self._known(path)
        missing = [case for case in cases if case not in known]
        self._check_conditions(path, fresh=not known, complete=not missing)
        if missing:
            print(f"Networks: {len(cases)}, of which {len(missing)} to train and try ...", flush=True)
        with Progress("networks", sum(case.effort for case in missing)) as bar:
            for done, case in enumerate(missing, start=1):
                try:
                    known[case] = self.measure(case)
                except KeyboardInterrupt:
                    print(f"\nStopped; networks kept: {len(known)}. The same command goes on there.", file=sys.stderr)
                    raise
                write_records([outcome for case in sorted(known) for outcome in known[case]], path)
                bar.step(case.effort)
                if not bar.shown:
                    print(f"[{done}/{len(missing)}] {in_words(known[case])}", flush=True)
        return Results([outcome for case in cases for outcome in known[case]])

    def _known(self, path: Path) -> dict[Case, list[Outcome]]:
        """The results that are there already."""
        known: dict[Case, list[Outcome]] = {}
        for outcome in read_records(Outcome, path):
            known.setdefault(outcome.case, []).append(outcome)
        return known

    def _check_conditions(self, path: Path, *, fresh: bool, complete: bool) -> None:
        """Begin anew and write down how; or see that results that are there already were made like this."""
        now = conditions(self.recipe, self.methods, default_grid() if self.grid is None else self.grid)
        if fresh:
            path.unlink(missing_ok=True)
            write_conditions(path.with_name("run.json"), now)
        else:
            check_conditions(path.with_name("run.json"), now, only_what_was_tried=complete)

    def measure(self, case: Case) -> list[Outcome]:
        """Train one network, keep its scores, and let every method answer its test rows."""
        begun = perf_counter()
        network = train_network(self.mnist, *case, self.recipe)
        scores = scores_of(network, self.mnist, draw_rows(self.mnist, *case))
        keep_scores(scores, *case, self.recipe, self.kept)
        subject = Subject(self.mnist, *case, self.recipe, self.grid, network, scores)
        outcomes = []
        for method in self.methods:
            answers, settings = METHODS[method](subject)
            changed = {name: value for name, value in settings.items() if value != DEFAULTS[name]}
            seconds, begun = perf_counter() - begun, perf_counter()
            outcomes.append(judged(case, method, scores, answers, json.dumps(changed), seconds))
        return outcomes

    def scores(self, outcome: Outcome) -> Scores:
        """What the network says that an outcome is about, from where it was kept, or else trained again."""
        scores = network_scores(self.mnist, *outcome.case, self.recipe, self.kept)
        if np.mean(scores.test_logits.argmax(axis=1) == scores.test_labels) != outcome.softmax_accuracy:
            raise ValueError(
                f"The scores of network {outcome.network} trained on {outcome.trained_on:,} in {self.kept} are not "
                "those of the results: name another folder with --kept, or start over with --again."
            )
        return scores


def judged(
    case: Case, method: str, scores: Scores, answers: NDArray[np.int64], settings: str, seconds: float
) -> Outcome:
    """A method's answers against the truth, and against softmax's."""
    before, after = scores.test_logits.argmax(axis=1) == scores.test_labels, answers == scores.test_labels
    wins, losses, errors = wins_and_losses(before, after)
    return Outcome(
        trained_on=case.size,
        network=case.number,
        seed=seed_of(*case),
        method=method,
        looks_at_test_labels=method in LOOK_AT_TEST_LABELS,
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


def in_words(outcomes: Sequence[Outcome]) -> str:
    """A line on one network."""
    first = outcomes[0]
    gains = ", ".join(
        f"{o.method.replace('_', ' ')}{' (by its labels)' if o.looks_at_test_labels else ''} {signed(o.gain)}"
        for o in outcomes
        if o.method != "softmax"
    )
    return (
        f"trained on {first.trained_on:,}, network {first.network}: softmax right in "
        f"{percent(first.softmax_accuracy)}; fewer errors by {gains}"
    )
