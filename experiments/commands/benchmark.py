"""Commands: AutoHead and SPH against other methods, on many networks and other models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.app import app
from experiments.commands.options import (
    Again,
    Data,
    DataWithCIFAR10,
    Jobs,
    Out,
    Redo,
    ScoreFiles,
    redone_methods,
    results_folder,
)

if TYPE_CHECKING:
    from experiments.benchmark.measure import Outcome
    from experiments.benchmark.trials import Trial
    from experiments.data.cifar10 import CIFAR10
    from experiments.data.mnist import MNIST


@app.command()
def shift(
    data: DataWithCIFAR10 = None,
    out: Out = None,
    quick: Annotated[bool, typer.Option("--quick", help="One network on MNIST under two shifts only.")] = False,
    again: Again = False,
    jobs: Jobs = 2,
) -> None:
    """Every method on shifted data.

    Noise, blur, low contrast, rotation and pixelation, with few labelled samples. The money command uses the same
    trials, and keeps them in the same folder.
    """
    from experiments.benchmark import shift_report
    from experiments.benchmark.shift_examples import draw_examples
    from experiments.data.mnist import load_mnist

    folder = results_folder(out, "shift", quick)
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    outcomes = _run_shift(mnist, cifar10, folder, quick=quick, again=again, jobs=jobs)
    draw_examples(mnist, cifar10, folder / "examples")
    print(shift_report.write(outcomes, shift_report.clean_errors(mnist, cifar10, quick=quick), folder))
    print(f"Written to {folder}: report.md with its tables and figures, outcomes.csv, run.json")


@app.command()
def money(
    data: DataWithCIFAR10 = None,
    scores: ScoreFiles = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text",
            metavar="FOLDER",
            help="Folder with texts: train.csv and test.csv of BANKING77, with the columns text and category.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Folder for the results; those of the shift trials are kept in its folder shift. If not given: "
            "results/money and results/shift, which the shift command shares.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = 2,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two sizes with 400 samples and two shifts, one network each.")
    ] = False,
    redo: Redo = None,
    again: Annotated[
        bool, typer.Option("--again", help="Forget the results that are there, also those of the shift trials.")
    ] = False,
) -> None:
    """The benchmark: AutoHead and SPH against other methods.

    Gain, significance, log loss and time in every case, with and without shift, with and without features. UCI's
    letters are fetched by apt-get.
    """
    from experiments.benchmark import report
    from experiments.benchmark.measure import Benchmark
    from experiments.benchmark.methods import METHODS
    from experiments.benchmark.trials import file_trials, vmnist_trials
    from experiments.data.mnist import load_mnist

    redone = redone_methods(redo, METHODS)
    suffix = "-quick" if quick else ""
    folder = out or Path("results") / f"money{suffix}"
    shift_folder = out / "shift" if out else Path("results") / f"shift{suffix}"
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    trials = vmnist_trials(mnist, quick=quick)
    trials += _letters(quick) + _texts(text, quick)
    trials += file_trials(scores) if scores else []
    trials.sort(key=lambda trial: trial.network)  # the first networks of all families, then the second
    outcomes = Benchmark().run(trials, folder / "outcomes.csv", again=again, redo=redone, jobs=jobs)
    outcomes += _run_shift(mnist, cifar10, shift_folder, quick=quick, again=again, redo=redone, jobs=jobs)
    print(report.write(outcomes, folder))
    print(
        f"Written to {folder}: report.md with its tables and figures, outcomes.csv, run.json; "
        f"{shift_folder}: outcomes.csv, run.json"
    )


@app.command()
def models(
    data: Data = None,
    out: Out = None,
    draws: Annotated[
        int, typer.Option("--draws", min=1, metavar="N", help="How often samples are drawn and models trained.")
    ] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="One draw of scikit-learn's digits only.")] = False,
    again: Again = False,
) -> None:
    """Any model with K responses.

    SPH and AutoHead after models that are not softmax networks: an SVM, trees, neighbours, a Hebbian readout.
    """
    from experiments.other_models import data_sets, report
    from experiments.other_models.measure import OtherModels, tasks

    folder = results_folder(out, "models", quick)
    shown = [data_sets.digits()]
    if not quick:
        from experiments.data.mnist import load_mnist

        shown += [data_sets.image_segments(), data_sets.mnist_digits(load_mnist(data))]
    experiment = OtherModels({part.name: part for part in shown})
    outcomes = experiment.run(tasks(shown, 1 if quick else draws), folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its tables and figure, outcomes.csv, run.json")


@app.command("few-labels")
def few_labels(
    data: Data = None, scores: ScoreFiles = None, out: Out = None, jobs: Jobs = 2, again: Again = False
) -> None:
    """AutoHead with few labels.

    Ten draws of 100 labelled samples, and two of 500, on the networks of the benchmark.
    """
    from experiments.benchmark import few_labels_report
    from experiments.benchmark.few_labels import FewLabels, tasks
    from experiments.data.mnist import load_mnist

    folder = results_folder(out, "few-labels", quick=False)
    outcomes = FewLabels().run(tasks(load_mnist(data), scores), folder / "outcomes.csv", again=again, jobs=jobs)
    print(few_labels_report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")


@app.command()
def layers(
    data: DataWithCIFAR10 = None,
    out: Out = None,
    quick: Annotated[bool, typer.Option("--quick", help="One network on MNIST with 400 samples only.")] = False,
    again: Again = False,
) -> None:
    """Do inner layers help?

    AutoHead with the logits only, with the last hidden layer, with an earlier one, and with both side by side.
    """
    from experiments.data.mnist import load_mnist
    from experiments.layers import report
    from experiments.layers.measure import LayersExperiment, tasks
    from experiments.layers.networks import Networks

    folder = results_folder(out, "layers", quick)
    mnist, cifar10 = load_mnist(data), _load_cifar10(data, quick)
    cases = tasks(cifar=cifar10 is not None, quick=quick)
    outcomes = LayersExperiment(Networks(mnist, cifar10)).run(cases, folder / "outcomes.csv", again=again)
    print(report.write(outcomes, folder))
    print(f"Written to {folder}: report.md with its table, outcomes.csv, run.json")


def _load_cifar10(data: Path | None, quick: bool) -> CIFAR10 | None:
    """CIFAR-10 if it is there, or else a line that says how to get it; a quick run does without."""
    if quick:
        return None
    from experiments.data.cifar10 import FOLDER, load_cifar10

    cifar10 = load_cifar10(data)
    if cifar10 is None:
        place = data or os.environ.get("AFTERMAX_DATA") or "data"
        print(
            f"CIFAR-10 is left out: there is no folder {FOLDER} in {place}. To include it, get cifar-10-python.tar.gz "
            "(https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it there."
        )
    return cifar10


def _letters(quick: bool) -> list[Trial]:
    """The trials on letters, or else a line that says what they lack; a quick run does without."""
    from experiments.benchmark.letters_trials import letters_trials

    try:
        return [] if quick else letters_trials()
    except (ImportError, OSError) as error:
        print(f"UCI's letters are left out. {error}")
        return []


def _texts(folder: Path | None, quick: bool) -> list[Trial]:
    """The trials on texts, or else a line that says what they lack; none without a folder."""
    from experiments.benchmark.text_trials import text_trials

    try:
        return text_trials(folder, quick=quick) if folder else []
    except ImportError as error:
        print(f"Texts are left out. {error}")
        return []


def _run_shift(
    mnist: MNIST,
    cifar10: CIFAR10 | None,
    folder: Path,
    *,
    quick: bool,
    again: bool,
    jobs: int,
    redo: Sequence[str] = (),
) -> list[Outcome]:
    """The outcomes of the shift trials, including those that the folder holds already."""
    from experiments.benchmark import shifted_data
    from experiments.benchmark.measure import Benchmark

    shifted_data.prepare(mnist, cifar10, quick=quick)
    trials = shifted_data.trials(mnist, cifar10, quick=quick)
    return Benchmark().run(trials, folder / "outcomes.csv", again=again, redo=redo, jobs=jobs)
