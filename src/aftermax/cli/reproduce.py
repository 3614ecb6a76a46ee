"""``aftermax reproduce``: the paper's experiments, and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aftermax.experiments.recipes import KEPT, MAIN, RECIPES

app = typer.Typer(
    help="Run an experiment, from the raw data to tables and figures. Interrupted, it goes on where it stopped.",
    no_args_is_help=True,
)


def _recipe(name: str) -> str:
    if name not in RECIPES:
        raise typer.BadParameter(f"{name!r} is no recipe: choose from {', '.join(RECIPES)}.")
    return name


Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder with MNIST's four IDX files. If not given: AFTERMAX_DATA, ./data, or fetched from OpenML.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Folder for the results. If not given: one in ./results.", show_default=False),
]
Kept = Annotated[Path, typer.Option("--kept", help="Folder where the networks' scores are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two sizes and two networks only, for a taste.")]
Again = Annotated[bool, typer.Option("--again", help="Forget the results that are in the folder already.")]
RecipeName = Annotated[
    str,
    typer.Option(
        "--recipe",
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
    """The paper's main experiment: 81 networks on MNIST, every method, every figure, both protocols."""
    from aftermax.experiments import vmnist_report
    from aftermax.experiments.datasets import load_mnist
    from aftermax.experiments.networks import cases
    from aftermax.experiments.vmnist import Experiment

    folder = _folder(out, "vmnist" if recipe == MAIN else f"vmnist-{recipe}", quick)
    experiment = Experiment(load_mnist(data), recipe, kept)
    results = experiment.run(cases(quick), folder / "outcomes.csv", again=again)
    print(vmnist_report.write(results, experiment, folder))
    print(f"Written to {folder}: report.md with its tables and six figures, outcomes.csv")


@app.command()
def recipes(data: Data = None, out: Out = None, kept: Kept = KEPT, quick: Quick = False, again: Again = False) -> None:
    """How much the gains depend on how the networks were trained, and on how many settings were tried."""
    from aftermax.experiments import tried
    from aftermax.experiments.datasets import load_mnist

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
        typer.Option("--scores", help="Folder with score files of other networks (*.npz).", show_default=False),
    ] = None,
    quick: Quick = False,
    again: Again = False,
) -> None:
    """Is the honest choice of settings worth it? On 81 networks, and on score files."""
    from aftermax.experiments import choosing, choosing_report
    from aftermax.experiments.datasets import load_mnist

    folder = _folder(out, "choosing", quick)
    tried = choosing.vmnist_cases(load_mnist(data), kept, quick)
    tried += choosing.file_cases(scores) if scores else []
    print(choosing_report.write(choosing.run(tried, folder / "outcomes.csv", again=again), folder))
    choosing_report.draw_sweeps([case for case in tried if case.drawn], folder / "sweep.png")
    print(f"Written to {folder}")


def _folder(given: Path | None, name: str, quick: bool) -> Path:
    return given or Path("results") / (f"{name}-quick" if quick else name)
