"""``aftermax reproduce``: the paper's experiments, and ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.recipes import KEPT, MAIN, RECIPES

if TYPE_CHECKING:
    from experiments.cifar import CIFAR10
    from experiments.datasets import MNIST
    from experiments.money import Outcome

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def reproduce(context: typer.Context) -> None:
    """Run an experiment, from the raw data to tables and figures.

    Interrupted, it goes on where it stopped.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def _recipe(name: str) -> str:
    if name not in RECIPES:
        raise typer.BadParameter(f"{name!r} is no recipe: choose from {', '.join(RECIPES)}.")
    return name


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Folder with MNIST's four IDX files. If not given: AFTERMAX_DATA, ./data, or fetched from OpenML.",
        show_default=False,
    ),
]
DataWithPhotos = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Folder with MNIST's four IDX files and, if CIFAR-10 is to be tried, its cifar-10-batches-py. If not "
        "given: AFTERMAX_DATA, or ./data; MNIST is fetched from OpenML if it is in neither.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FOLDER", help="Folder for the results. If not given: one in ./results.", show_default=False
    ),
]
Kept = Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the networks' scores are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two sizes and two networks only, for a taste.")]
Again = Annotated[bool, typer.Option("--again", help="Forget the results that are in the folder already.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Trials side by side, each on one core.")]
RecipeName = Annotated[
    str,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help=f"How the networks are built and trained: {', '.join(RECIPES)}.",
        callback=_recipe,
        autocompletion=lambda: list(RECIPES),
    ),
]


@app.command()
def vmnist(
    data: Data = None,
    out: Out = None,
    kept: Kept = KEPT,
    recipe: RecipeName = MAIN,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """The paper's main experiment, on MNIST.

    81 networks, every method, every figure, both protocols.
    """
    from experiments import vmnist_report
    from experiments.datasets import load_mnist
    from experiments.networks import cases
    from experiments.vmnist import Experiment

    folder = _folder(out, "vmnist" if recipe == MAIN else f"vmnist-{recipe}", quick)
    experiment = Experiment(load_mnist(data), recipe, kept)
    results = experiment.run(cases(quick), folder / "outcomes.csv", again=again)
    print(vmnist_report.write(results, experiment, folder))
    print(f"Written to {folder}: report.md with its tables and six figures, outcomes.csv")


@app.command()
def recipes(data: Data = None, out: Out = None, kept: Kept = KEPT, quick: Quick = False, again: Again = False) -> None:
    """Does it matter how networks are trained?

    How much the gains depend on it, and on how many settings were tried.
    """
    from experiments import tried
    from experiments.datasets import load_mnist

    folder = _folder(out, "recipes", quick)
    print(tried.run(load_mnist(data), kept, folder, quick=quick, again=again))
    print(f"Written to {folder}")


@app.command()
def choosing(
    data: Data = None,
    out: Out = None,
    kept: Kept = KEPT,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FOLDER",
            help="Folder with score files of other networks (*.npz).",
            show_default=False,
        ),
    ] = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """Is the honest choice of settings worth it?

    On 81 networks, and on score files.
    """
    from experiments import choosing, choosing_report
    from experiments.datasets import load_mnist

    folder = _folder(out, "choosing", quick)
    tried = choosing.vmnist_cases(load_mnist(data), kept, quick)
    tried += choosing.file_cases(scores) if scores else []
    print(choosing_report.write(choosing.run(tried, folder / "outcomes.csv", again=again), folder))
    choosing_report.draw_sweeps([case for case in tried if case.drawn], folder / "sweep.png")
    print(f"Written to {folder}")


@app.command()
def shift(
    data: DataWithPhotos = None,
    out: Out = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One network on MNIST under two shifts only, for a taste.")
    ] = False,
    again: Again = False,
    jobs: Jobs = 2,
) -> None:
    """When the world has moved: every method.

    Noise, blur, low contrast, rotation, pixelation, and few labelled rows.

    'aftermax bench --peers' takes its shift trials from here, and leaves here those that it runs.
    """
    from experiments import shift, shift_report
    from experiments.datasets import load_mnist

    folder = _folder(out, "shift", quick)
    mnist, cifar10 = load_mnist(data), load_photos(data, quick)
    outcomes = run_shift(mnist, cifar10, folder, quick=quick, again=again, jobs=jobs)
    shift.draw_examples(mnist, cifar10, folder / "examples")
    print(shift_report.write(outcomes, shift_report.clean_errors(mnist, cifar10, quick=quick), folder))
    print(f"Written to {folder}: report.md with its tables and figures, outcomes.csv")


def load_photos(data: Path | None, quick: bool) -> CIFAR10 | None:
    """CIFAR-10 where it is, or a line that says how to get it; a taste does without."""
    if quick:
        return None
    from experiments.cifar import FOLDER, load_cifar10

    cifar10 = load_cifar10(data)
    if cifar10 is None:
        place = data or os.environ.get("AFTERMAX_DATA") or "data"
        print(
            f"CIFAR-10 is left out: there is no folder {FOLDER} in {place}. To try it, get cifar-10-python.tar.gz "
            "(https://www.cs.toronto.edu/~kriz/cifar.html) and unpack it there."
        )
    return cifar10


def run_shift(
    mnist: MNIST,
    cifar10: CIFAR10 | None,
    folder: Path,
    *,
    quick: bool,
    again: bool,
    jobs: int,
    redo: tuple[str, ...] = (),
) -> list[Outcome]:
    """The outcomes of the shift trials, those that the folder holds already included."""
    from experiments import money, shift

    shift.prepare(mnist, cifar10, quick=quick)
    trials = shift.trials(mnist, cifar10, quick=quick)
    return money.run(trials, tuple(money.METHODS), folder / "outcomes.csv", again=again, redo=redo, jobs=jobs)


def _folder(given: Path | None, name: str, quick: bool) -> Path:
    return given or Path("results") / (f"{name}-quick" if quick else name)
