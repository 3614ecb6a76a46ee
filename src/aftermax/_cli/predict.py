"""``aftermax predict``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aftermax._cli import options
from aftermax._cli.audit import print_json

if TYPE_CHECKING:
    from aftermax._scorefiles.predict import Tally

STANDARD_OUTPUT = Path("-")


def predict(
    head: options.HeadFile,
    scores: options.Scores,
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="FILE", help=".csv, .csv.gz, .parquet, .npz or .npy; - is standard output."
        ),
    ] = STANDARD_OUTPUT,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Write a column for each class, too.")] = False,
    keep: Annotated[str | None, options.text("--keep", "Columns to hand on, such as an id.", "NAME,...")] = None,
    as_json: options.Json = False,
    label_column: options.LabelColumn = None,
    labels: options.Labels = None,
    features: options.Features = None,
    part: options.Part = None,
    ignore: options.Ignore = None,
    log: options.Log = False,
) -> None:
    """Answer with a head, row by row.

    Files of any length are read and written some rows at a time. The answers are in a column called predicted. Labels
    are not needed; if there are any, the accuracy is told on standard error.
    """
    from aftermax._scorefiles.predict import score_file

    if as_json and out == STANDARD_OUTPUT:
        raise ValueError("--json and the predictions cannot both go to standard output: name a file with -o.")
    if out != STANDARD_OUTPUT:
        options.check_output(out, (head, scores, labels, features))
    fitted, noted = options.read_head(head, scores)
    asked = options.for_head(
        options.wanted(part, label_column, labels, features, (), ignore, keep=keep, log=log), noted
    )
    options.tell_if_first()
    tally = score_file(fitted, str(scores), str(out), asked, probabilities=probabilities)
    if as_json:
        print_json(_plain(tally, out, asked.log))
    else:
        options.tell(_in_words(tally, out, asked.log))


def _in_words(tally: Tally, out: Path, log: bool) -> str:
    words = f"{tally.rows:,} rows" + (" of probabilities, whose logarithms were taken" if log else "")
    if tally.accuracy is not None:
        softmax, head = (f"{100 * share:.2f} %" for share in tally.accuracy)
        words += f", {tally.labelled:,} with labels; accuracy: softmax {softmax}, with the head {head}"
    if tally.unknown:
        count = f"{tally.unknown:,} labels" if tally.labelled else f"all {tally.unknown:,} labels"
        words += f"; {count} are unknown to the head, such as {', '.join(map(repr, tally.unknown_labels))}"
    return words if out == STANDARD_OUTPUT else f"{words}. Written to {out}"


def _plain(tally: Tally, out: Path, log: bool) -> dict[str, object]:
    softmax, head = tally.accuracy or (None, None)
    return {
        "rows": tally.rows,
        "scores": "probabilities" if log else "logits",
        "labelled": tally.labelled,
        "accuracy_softmax": softmax,
        "accuracy_head": head,
        "unknown": tally.unknown,
        "unknown_labels": tally.unknown_labels,
        "written": str(out),
    }
