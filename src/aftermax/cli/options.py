"""Options that several commands share, and what they say about a score file."""

from __future__ import annotations

import csv
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from aftermax.scorefiles import Wanted


class HeadName(StrEnum):
    """Which head is fitted."""

    auto = "auto"
    sph = "sph"


class ClassWeight(StrEnum):
    """How much the classes count."""

    balanced = "balanced"


def file(flag: str, help_text: str) -> Any:
    """An option that names a file."""
    return typer.Option(flag, metavar="FILE", help=help_text, show_default=False)


def text(flag: str, help_text: str, metavar: str = "NAME") -> Any:
    """An option that names something else."""
    return typer.Option(flag, metavar=metavar, help=help_text, show_default=False)


HeadFile = Annotated[
    Path, typer.Argument(metavar="HEAD", help="A head that fit has saved.", show_default=False, exists=True)
]
Scores = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES",
        help="Score file: .npz with logits and labels; .csv, .csv.gz or .parquet with a column for each class and one "
        "called label; or .npy. - is standard input.",
        show_default=False,
    ),
]
Head = Annotated[
    HeadName, typer.Option("--head", help="auto: the best of all that is tried (AutoHead). sph: SPHClassifierCV.")
]
Weight = Annotated[
    ClassWeight | None,
    typer.Option("--class-weight", help="balanced: every class counts the same (AutoHead only).", show_default=False),
]
Classes = Annotated[
    str | None, text("--classes", "The class of each column, in order; or which columns to take.", "NAME,...")
]
LabelColumn = Annotated[str | None, text("--label-column", "The labels' column, if not label or labels.")]
Labels = Annotated[Path | None, file("--labels", "Labels in a file of their own: .npy, .csv or .parquet.")]
Features = Annotated[
    Path | None,
    file(
        "--features",
        "The model's last hidden layer, as .npy. Also taken: features in an .npz file, columns called feature_...",
    ),
]
LogitsOnly = Annotated[bool, typer.Option("--logits-only", help="Leave features out that the score file has.")]
Part = Annotated[str | None, text("--part", "Of an .npz file with parts: val takes val_logits, val_labels.")]
Ignore = Annotated[str | None, text("--ignore", "Columns that are no logits, such as an id.", "NAME,...")]
Log = Annotated[bool, typer.Option("--log", help="The scores are probabilities: take their logarithms for logits.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Fixes all that is drawn (random_state).")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        metavar="N",
        help="Folds to work on side by side. If not given: as many as there are cores.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]


def wanted(
    part: str | None,
    label_column: str | None,
    labels: Path | None,
    features: Path | None,
    classes: tuple[str, ...],
    ignore: str | None,
    *,
    keep: str | None = None,
    with_features: bool = True,
    log: bool = False,
) -> Wanted:
    """What the options say about a score file."""
    from aftermax.scorefiles import Wanted

    if features is not None and not with_features:
        raise ValueError("--features is given, but this head looks at logits only: leave it out.")
    return Wanted(
        part=part,
        label_column=label_column,
        labels=labels,
        features=features,
        classes=classes,
        ignore=names(ignore),
        keep=names(keep),
        with_features=with_features,
        log=log,
    )


def check_writable(path: Path) -> None:
    """Refuse a place where no file can be written, before the work rather than after it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: {folder} is no folder that you may write to.")


def names(given: str | None) -> tuple[str, ...]:
    """Names that are separated by commas; one that has a comma in it is put in quotes.

    Examples
    --------
    >>> from aftermax.cli.options import names
    >>> names('cat,dog,"none, or both"')
    ('cat', 'dog', 'none, or both')
    """
    return () if given is None else tuple(name.strip() for name in next(csv.reader([given], skipinitialspace=True), []))
