"""Options that several commands share, and what they say about a score file."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aftermax._utils.files import checked_output_path, existing_file

if TYPE_CHECKING:
    from aftermax._scorefiles import Wanted
    from aftermax.storage._schema import Head as FittedHead
    from aftermax.storage.head_files import FittedOn


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


HeadFile = Annotated[Path, typer.Argument(metavar="HEAD", help="A head that fit has saved.", show_default=False)]
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
Log = Annotated[
    bool,
    typer.Option(
        "--log",
        help="The scores are probabilities: take their logarithms for logits. A head that is fitted so remembers it.",
    ),
]
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
    from aftermax._scorefiles import Wanted

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


def for_head(asked: Wanted, noted: FittedOn) -> Wanted:
    """What is wanted of a score file for a head, by what its file says of the scores that it was fitted on."""
    return replace(asked, log=asked.log or noted.probabilities, columns=(noted.columns,))


def read_head(path: Path, scores: Path | None = None) -> tuple[FittedHead, FittedOn]:
    """A head, and what its file says of its scores; ``scores`` is the other file, lest the two be swapped."""
    from aftermax.storage import head_files as storage

    try:
        return storage.read_head(existing_file(path))
    except ValueError as error:
        if scores is not None and _is_head(scores):
            raise ValueError(
                f"{path} is no head, but {scores} is: name the head first, and then the scores."
            ) from error
        raise


def _is_head(path: Path) -> bool:
    from aftermax.storage import head_files as storage

    try:
        storage.read_head(path)
    except (OSError, ValueError):
        return False
    return True


def check_output(path: Path, inputs: Sequence[Path | None], kinds: tuple[str, ...] | None = None) -> None:
    """Refuse a place where the output cannot or must not be written, before the work rather than after it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if kinds is not None and not path.name.lower().endswith(kinds):
        raise ValueError(f"{path} is no name for what is written: it should end in {' or '.join(kinds)}.")
    if any(one is not None and path.exists() and one.exists() and path.samefile(one) for one in inputs):
        raise ValueError(f"{path} is one of the inputs, and would be replaced: choose another name.")
    if not os.access(checked_output_path(path).parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: {path.parent} is no folder that you may write to.")


def tell(text: str) -> None:
    """A remark, on standard error: standard output is for what was asked for."""
    print(text, file=sys.stderr)


def tell_if_first() -> None:
    """Say that compiling takes its time, if nothing is compiled yet."""
    from aftermax._utils.softmax_kernels import certainties

    place = certainties.stats.cache_path
    if place is not None and not any(Path(place).glob("*.nbi")):
        tell("aftermax: the first run compiles, which may take a minute; later ones do not.")


def names(given: str | None) -> tuple[str, ...]:
    """Names that are separated by commas; one that has a comma in it is put in quotes.

    Examples
    --------
    >>> from aftermax._cli.options import names
    >>> names('cat,dog,"none, or both"')
    ('cat', 'dog', 'none, or both')
    """
    return () if given is None else tuple(name.strip() for name in next(csv.reader([given], skipinitialspace=True), []))
