"""Commands: the paper's experiments, and what it left open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.app import app
from experiments.commands.options import (
    Again,
    Data,
    Jobs,
    Kept,
    Networks,
    Out,
    Quick,
    RecipeName,
    Redo,
    ScoreFiles,
    redone_methods,
    results_folder,
)
from experiments.networks.recipes import MAIN, SCORES_FOLDER

CIFAR_SCORES = Path("results/cifar/scores")


@app.command()
def vmnist(
    data: Data = None,
    out: Out = None,
    kept: Kept = SCORES_FOLDER,
    recipe: RecipeName = MAIN,
    quick: Quick = False,
    redo: Redo = None,
    again: Again = False,
) -> None:
    """The paper's main experiment, on MNIST.

    81 networks, every method, every figure, both protocols. Methods that the results in the folder lack are added.
    """
    from experiments.data.mnist import load_mnist
    from experiments.networks.mnist_networks import cases
    from experiments.paper import report
    from experiments.paper.methods import METHODS
    from experiments.paper.results import Results
    from experiments.paper.vmnist import VmnistExperiment

    redone = redone_methods(redo, METHODS)
    folder = results_folder(out, "vmnist" if recipe == MAIN else f"vmnist-{recipe}", quick)
    experiment = VmnistExperiment(load_mnist(data), recipe, kept)
    outcomes = experiment.run(cases(quick), folder / "outcomes.csv", again=again, redo=redone)
    print(report.write(Results(outcomes), experiment, folder))
    print(f"Written to {folder}: report.md with its tables and six figures, outcomes.csv, run.json")


@app.command()
def cifar(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Folder with MNIST, cifar-10-batches-py and cifar-100-python, for what is not kept. If not given: "
            "AFTERMAX_DATA, or ./data.",
            show_default=False,
        ),
    ] = None,
    scores: ScoreFiles = None,
    out: Out = None,
    kept: Annotated[
        Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the networks' scores are kept.")
    ] = CIFAR_SCORES,
    vmnist: Annotated[
        Path, typer.Option("--vmnist", metavar="FOLDER", help="Results of the vmnist command, to compare with.")
    ] = Path("results/vmnist"),
    jobs: Jobs = 2,
    redo: Redo = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two networks on CIFAR-10 only.")] = False,
    again: Again = False,
) -> None:
    """The paper's second experiment, on CIFAR-10, 20 and 100.

    Every method on networks of every strength, and the paper's guesses why there is little to gain, one by one. The
    scores of our networks are in the repository, so that nothing is trained unless they are gone.
    """
    from experiments.cifar import report, untrained
    from experiments.cifar.behaviour import behaviours
    from experiments.cifar.cases import ALL, cases
    from experiments.cifar.controls import control_cases
    from experiments.cifar.measure import CifarExperiment, Outcome
    from experiments.networks.cifar_networks import Cifar
    from experiments.runs.csv_records import read_records

    redone, folder = redone_methods(redo, ALL), results_folder(out, "cifar", quick)
    tasks = cases(kept, scores, quick)
    if not quick:
        untrained.run(data, folder, again=again)
        tasks += control_cases(kept, scores)
    path = folder / "outcomes.csv"
    CifarExperiment(Cifar(data), kept).run(tasks, path, again=again, redo=redone, jobs=1 if quick else jobs)
    records = behaviours(tasks, folder / "behaviour.csv")
    print(report.write(read_records(Outcome, path), records, kept, vmnist / "outcomes.csv", folder))
    print(f"Written to {folder}: tables{'' if quick else ', report.md'}, figures, outcomes.csv, run.json")


@app.command()
def recipes(
    data: Data = None, out: Out = None, kept: Kept = SCORES_FOLDER, quick: Quick = False, again: Again = False
) -> None:
    """Does it matter how networks are trained?

    How much the gains depend on it, and on how many hyperparameters were tried.
    """
    from experiments.data.mnist import load_mnist
    from experiments.settings import compare_recipes

    folder = results_folder(out, "recipes", quick)
    print(compare_recipes.run(load_mnist(data), kept, folder, quick=quick, again=again))
    print(f"Written to {folder}: table.md, and for each recipe outcomes.csv and run.json")


@app.command()
def choosing(
    data: Data = None,
    out: Out = None,
    kept: Kept = SCORES_FOLDER,
    scores: ScoreFiles = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """How to choose the hyperparameters of SPH?

    By cross-validation, by the validation or by the test samples: on 81 networks, and on score files.
    """
    from experiments.data.mnist import load_mnist
    from experiments.settings import choosing_report
    from experiments.settings.choosing import ChoosingExperiment, file_cases, vmnist_cases

    folder = results_folder(out, "choosing", quick)
    cases = vmnist_cases(load_mnist(data), kept, quick)
    cases += file_cases(scores) if scores else []
    print(choosing_report.write(ChoosingExperiment().run(cases, folder / "outcomes.csv", again=again), folder))
    choosing_report.draw_sweeps([case for case in cases if case.drawn], folder / "sweep.png")
    print(f"Written to {folder}: tables, figures, outcomes.csv, run.json")


@app.command("training-samples")
def training_samples(
    data: Data = None, out: Out = None, networks: Networks = 1, quick: Quick = False, again: Again = False
) -> None:
    """Can heads be fitted on training samples?

    SPH and AutoHead on training scores, on cross-fitted training scores, and on held-out samples.
    """
    from experiments.data.mnist import load_mnist
    from experiments.training_samples import report
    from experiments.training_samples.measure import TrainingSamplesExperiment, cases

    folder = results_folder(out, "training-samples", quick)
    experiment = TrainingSamplesExperiment(load_mnist(data))
    outcomes = experiment.run(cases(quick, networks), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table and figure, outcomes.csv, run.json")


@app.command()
def loss(
    data: Data = None, out: Out = None, networks: Networks = 9, quick: Quick = False, again: Again = False
) -> None:
    """Do networks gain from a loss that uses D?

    Networks trained with the cross-entropy of pooled scores, against softmax's with and without AutoHead.
    """
    from experiments.data.mnist import load_mnist
    from experiments.loss import report
    from experiments.loss.measure import LossExperiment, cases

    folder = results_folder(out, "loss", quick)
    experiment = LossExperiment(load_mnist(data))
    outcomes = experiment.run(cases(quick, networks), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table and figure, outcomes.csv, run.json")
