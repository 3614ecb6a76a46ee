"""Commands: are promises kept? Costs, the guard, abstention, and new class proportions."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from experiments.commands.app import app
from experiments.commands.options import Again, Jobs, More, Out, ScoreFiles, results_folder


@app.command()
def costs(
    out: Out = None,
    scores: ScoreFiles = None,
    jobs: Jobs = 2,
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="N", help="Draws of labelled samples; the same command adds more.")
    ] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of two score sets only.")] = False,
    again: Again = False,
) -> None:
    """Decisions by costs, and by metrics other than accuracy.

    Decider against plug-in rules and tuned thresholds, on the same labelled samples. With --scores, published networks
    are added.
    """
    from experiments.costs import report
    from experiments.costs.cases import tasks
    from experiments.costs.measure import CostsExperiment

    folder = results_folder(out, "costs", quick)
    wanted = tasks(1 if quick else draws, published=scores is not None, quick=quick)
    outcomes = CostsExperiment(scores).run(wanted, folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables, a figure, outcomes.csv, run.json")


@app.command()
def trust(
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Three draws of two worlds only.")] = False,
    again: Again = False,
) -> None:
    """Does AutoHead keep its promises?

    False alarms, harm, coverage of the true gain and its bias, in simulated worlds whose truth is known.
    """
    from experiments.trust import report
    from experiments.trust.measure import TrustExperiment, tasks

    folder = results_folder(out, "trust", quick)
    outcomes = TrustExperiment().run(tasks(quick), folder / "outcomes.csv", again=again, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables, outcomes.csv, run.json")


@app.command()
def abstention(
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Three draws of two worlds only.")] = False,
    again: Again = False,
) -> None:
    """Is the promise of max_error kept, and how much does the head decide alone?

    Decider(max_error=...) on SoftmaxClassifier and AutoHead, in simulated worlds whose truth is known.
    """
    from aftermax._utils.files import write_text
    from experiments.abstention import report
    from experiments.abstention.measure import AbstentionExperiment, tasks
    from experiments.abstention.procedures import QUICK_RUNS, RUNS, compare

    folder = results_folder(out, "abstention", quick)
    outcomes = AbstentionExperiment().run(tasks(quick), folder / "outcomes.csv", again=again, jobs=jobs)
    if again or not (folder / "procedures.md").exists():
        write_text(folder / "procedures.md", compare(QUICK_RUNS if quick else RUNS))
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command()
def priors(
    scores: ScoreFiles = None,
    out: Out = None,
    jobs: Jobs = 2,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of one case only.")] = False,
    again: Again = False,
    more: More = False,
) -> None:
    """New class proportions from unlabelled samples, against quapy and abstention.

    Needs their packages: pip install quapy abstention.
    """
    from experiments.priors import report
    from experiments.priors.measure import PriorsExperiment, tasks

    _require("quapy", "abstention")
    folder = results_folder(out, "priors", quick)
    outcomes = PriorsExperiment(scores).run(tasks(quick), folder / "outcomes.csv", again=again, more=more, jobs=jobs)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


def _require(*packages: str) -> None:
    """Refuse to begin without packages that only one experiment needs."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise ValueError(f"This experiment needs {' and '.join(missing)}: pip install {' '.join(missing)}.")
