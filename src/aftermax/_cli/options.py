"""The options that several commands share."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from aftermax._scorefiles import ReadOptions


def file_option(flag: str, help_text: str) -> Any:
    """An option whose value is the name of a file."""
    return typer.Option(flag, metavar="FILE", help=help_text, show_default=False)


def text_option(flag: str, help_text: str, metavar: str = "NAME") -> Any:
    """An option whose value is any other text."""
    return typer.Option(flag, metavar=metavar, help=help_text, show_default=False)


def split_names(text: str | None) -> tuple[str, ...]:
    """Names that are separated by commas; a name that has a comma in it is in quotes.

    Examples
    --------
    >>> from aftermax._cli.options import split_names
    >>> split_names('cat,dog,"none, or both"')
    ('cat', 'dog', 'none, or both')
    """
    return () if text is None else tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


HeadFile = Annotated[
    Path, typer.Argument(metavar="HEAD", help="A head file that 'aftermax fit' wrote.", show_default=False)
]
Scores = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES",
        help="Score file: .npz with arrays logits and labels; .csv, .csv.gz or .parquet with a column of logits for "
        'each class and a column called label; .jsonl with an object on each line, {"scores": {"cat": 0.9, ...}, '
        '"label": "cat"}; or .npy with logits. A binary model may have one column. - reads standard input.',
        show_default=False,
    ),
]
Labels = Annotated[Path | None, file_option("--labels", "A separate file with the labels: .npy, .csv or .parquet.")]
Groups = Annotated[
    str | None,
    text_option(
        "--groups",
        "The column, or the array of an .npz file, that says what a sample is of, such as a patient, if samples of the "
        "same one are alike.",
        "COLUMN",
    ),
]
Weights = Annotated[
    str | None,
    text_option("--weights", "The column, or the array of an .npz file, of the samples' weights.", "COLUMN"),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


# ---- which head ------------------------------------------------------------------------------------------------------


class HeadName(StrEnum):
    """Which head is fitted."""

    auto = "auto"
    sph = "sph"
    softmax = "softmax"


class Budget(StrEnum):
    """How much time AutoHead's kernels may take."""

    fast = "fast"
    standard = "standard"
    thorough = "thorough"


class Metric(StrEnum):
    """What decisions are to raise, in place of accuracy."""

    balanced_accuracy = "balanced_accuracy"
    macro_f1 = "macro_f1"


@dataclass(frozen=True)
class HeadOptions:
    """Which head is fitted, and how."""

    head: Annotated[
        HeadName,
        typer.Option(
            "--head",
            help="auto: the best of several heads, or softmax (AutoHead). sph: SPHClassifierCV. softmax: the model as "
            "it is, with calibrated probabilities (SoftmaxClassifier).",
        ),
    ] = HeadName.auto
    only_proven: Annotated[
        bool,
        typer.Option("--only-proven", help="Keep softmax unless fewer errors are proven, as --head sph always does."),
    ] = False
    keep_unlabelled: Annotated[
        bool,
        typer.Option(
            "--keep-unlabelled",
            help="Classes without a labelled sample keep the chance that softmax gives them (AutoHead only).",
        ),
    ] = False
    budget: Annotated[Budget, typer.Option("--budget", help="How much time the kernels of AutoHead may take.")] = (
        Budget.standard
    )
    class_weight: Annotated[
        str | None,
        text_option(
            "--class-weight",
            "balanced: all classes count the same. Or what a sample of each class counts, as cat=5,dog=1.",
            "balanced|NAME=N,...",
        ),
    ] = None
    class_prior: Annotated[
        str | None,
        text_option(
            "--class-prior",
            "The share of each class where the head will be used, if it is another one, as cat=0.05,dog=0.95 (AutoHead "
            "only).",
            "NAME=SHARE,...",
        ),
    ] = None
    costs: Annotated[
        Path | None,
        file_option(
            "--costs",
            "Decide by what errors cost: a .csv file with a row for each true class and a column for each decision, "
            "both named after the classes (Decider).",
        ),
    ] = None
    metric: Annotated[
        Metric | None,
        typer.Option("--metric", help="Decide for a metric other than accuracy (Decider).", show_default=False),
    ] = None
    max_error: Annotated[
        str | None,
        text_option(
            "--max-error",
            "The largest error that is acceptable where the head decides alone, as 0.02; all other samples are for a "
            "person: predict says which (Decider).",
            "SHARE",
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random numbers (random_state).")
    ] = 0
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            metavar="N",
            help="Number of folds to fit in parallel. If not given: the number of CPU cores.",
            show_default=False,
        ),
    ] = None


class ScoresKind(StrEnum):
    """What the scores of a .jsonl file are."""

    probabilities = "probabilities"
    percentages = "percentages"
    log_probabilities = "log-probabilities"
    logits = "logits"


# ---- how a score file is read ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileOptions:
    """How a score file is read."""

    label_column: Annotated[
        str | None, text_option("--label-column", "The column of the labels, if it is not called label or labels.")
    ] = None
    features: Annotated[
        list[Path] | None,
        file_option(
            "--features",
            "A separate file with the model's last hidden layer, as .npy. Given several times, as for several layers, "
            "the features are put side by side. Without it, an array called features in an .npz file, or columns "
            "called feature_..., are read.",
        ),
    ] = None
    part: Annotated[
        str | None, text_option("--part", "For an .npz file with several parts: val reads val_logits, val_labels.")
    ] = None
    ignore: Annotated[
        str | None, text_option("--ignore", "Columns that are not logits, such as an id.", "NAME,...")
    ] = None
    log: Annotated[
        bool,
        typer.Option(
            "--log",
            help="The scores are probabilities: use their logarithms as logits; with one column of scores, their "
            "log-odds. A head that was fitted with --log remembers it.",
        ),
    ] = False

    scores_key: Annotated[
        str | None,
        text_option(
            "--scores-key",
            "For .jsonl: where in each line's object the scores are, if not under scores; as "
            "choices.0.logprobs.content.0.top_logprobs.",
            "KEY",
        ),
    ] = None
    scores_kind: Annotated[
        ScoresKind | None,
        typer.Option(
            "--scores-kind",
            help="For .jsonl: what the scores are, if that is told wrongly.",
            show_default=False,
        ),
    ] = None

    @property
    def feature_files(self) -> tuple[Path, ...]:
        """The files of --features, in the order given."""
        return tuple(self.features or ())

    def read_options(self, labels: Path | None = None, keep: str | None = None) -> ReadOptions:
        """The options of :mod:`aftermax._scorefiles`."""
        from aftermax._scorefiles import ReadOptions

        return ReadOptions(
            part=self.part,
            label_column=self.label_column,
            labels=labels,
            features=self.feature_files,
            ignore=split_names(self.ignore),
            keep=split_names(keep),
            log=self.log,
            scores_key=self.scores_key,
            scores_kind=None if self.scores_kind is None else self.scores_kind.value,
        )


@dataclass(frozen=True)
class LabelledFileOptions(FileOptions):
    """How a score file is read that a head is fitted on."""

    labels: Labels = None
    classes: Annotated[
        str | None,
        text_option(
            "--classes",
            "The class of each column, in order; or the columns to read, if they are called like the classes.",
            "NAME,...",
        ),
    ] = None
    positive: Annotated[
        str | None,
        text_option("--positive", "For one column of scores: the class whose log-odds they are.", "CLASS"),
    ] = None
    groups: Groups = None
    weights: Weights = None
    logits_only: Annotated[
        bool, typer.Option("--logits-only", help="Do not use features, even if the score file has them.")
    ] = False
