"""Options that several commands have, and what follows from them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from experiments.networks.recipes import RECIPES


def _recipe(name: str) -> str:
    if name not in RECIPES:
        raise typer.BadParameter(f"{name!r} is not a recipe: choose from {', '.join(RECIPES)}.")
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
DataWithCIFAR10 = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER",
        help="Folder with MNIST's four IDX files and, optionally, CIFAR-10's cifar-10-batches-py. If not given: "
        "AFTERMAX_DATA, or ./data; MNIST is fetched from OpenML if it is in neither.",
        show_default=False,
    ),
]
ScoreFiles = Annotated[
    Path | None,
    typer.Option(
        "--scores", metavar="FOLDER", help="Folder with score files of other networks (*.npz).", show_default=False
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FOLDER", help="Folder for the results. If not given: one in ./results.", show_default=False
    ),
]
Kept = Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the networks' scores are kept.")]
Quick = Annotated[bool, typer.Option("--quick", help="Two sizes and two networks only.")]
More = Annotated[
    bool,
    typer.Option(
        "--more",
        help="Add draws with the code, versions and processor of today, even if others made those that are there.",
    ),
]
Again = Annotated[bool, typer.Option("--again", help="Forget the results that are in the folder, and start over.")]
Networks = Annotated[
    int,
    typer.Option("--networks", min=1, max=9, metavar="N", help="Networks of each size; the same command adds more."),
]
Redo = Annotated[
    list[str] | None,
    typer.Option(
        "--redo", metavar="METHOD", help="A method to measure again, with the code as it is now.", show_default=False
    ),
]
Banking77 = Annotated[
    Path | None,
    typer.Option(
        "--text",
        metavar="FOLDER",
        help="Folder with train.csv and test.csv of BANKING77. If not given: banking77 in AFTERMAX_DATA, or in ./data.",
        show_default=False,
    ),
]
Draws = Annotated[
    int, typer.Option("--draws", min=1, metavar="N", help="Draws of labelled texts; the same command adds more.")
]
Embeddings = Annotated[Path, typer.Option("--kept", metavar="FOLDER", help="Folder where the embeddings are kept.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Number of processes, each on one core.")]
RecipeName = Annotated[
    str,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help=f"How the networks are built and trained: {', '.join(RECIPES)}.",
        callback=_recipe,
    ),
]


def redone_methods(redo: Sequence[str] | None, known: Collection[str]) -> Sequence[str]:
    """The methods to measure again; an error if one is not known."""
    unknown = [name for name in redo or () if name not in known]
    if unknown:
        raise ValueError(f"--redo {unknown[0]} is not a method: choose from {', '.join(known)}.")
    return tuple(redo or ())


def results_folder(given: Path | None, name: str, quick: bool) -> Path:
    return given or Path("results") / (f"{name}-quick" if quick else name)
