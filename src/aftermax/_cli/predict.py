"""``aftermax predict``."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aftermax._cli.head_files import options_for_head, read_head
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.optional_address import LOCAL
from aftermax._cli.options import FileOptions, HeadFile, Json, Labels, Scores, text_option
from aftermax._cli.output import announce_compilation, check_output, check_output_folder, print_json, print_message

if TYPE_CHECKING:
    from aftermax._scorefiles import ReadOptions
    from aftermax._scorefiles.prediction_counts import PredictionCounts

STANDARD_OUTPUT = Path("-")
MOSTLY = 0.9


@with_option_groups
def predict(
    head: HeadFile,
    scores: Scores,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help=".csv, .csv.gz, .parquet, .jsonl, .npz or .npy; - is standard output. With --dask, a folder.",
        ),
    ] = STANDARD_OUTPUT,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write the probability of each class, too.")
    ] = False,
    keep: Annotated[
        str | None, text_option("--keep", "Columns to copy to the output, such as an id.", "NAME,...")
    ] = None,
    dask: Annotated[
        str | None,
        text_option(
            "--dask",
            "SCORES is a folder of score files, and predictions are written for each of them, by workers of Dask: "
            "those of the scheduler at this address or, without one, a process for each core of this machine.",
            "[SCHEDULER]",
        ),
    ] = None,
    as_json: Json = False,
    labels: Labels = None,
    file: FileOptions,
) -> None:
    """Predict the class of each row with a head.

    Rows are read and written some at a time, so files may be larger than memory. The predictions are in a column called
    predicted. With a head that was fitted with --max-error, certain is true where it decides alone. Labels are
    optional: with them, the accuracy is printed on standard error.
    """
    from aftermax._scorefiles.predict import predict_file

    if dask is not None:
        _predict_folder(head, scores, out, dask, file.read_options(labels, keep), probabilities, as_json)
        return
    if scores.is_dir():
        raise IsADirectoryError(f"{scores} is a folder: name a file in it, or predict all of them with --dask.")
    if as_json and out == STANDARD_OUTPUT:
        raise ValueError("--json and the predictions cannot both go to standard output: name a file with -o.")
    if out != STANDARD_OUTPUT:
        check_output(out, (head, scores, labels, *file.feature_files))
    fitted, fitted_on = read_head(head, scores)
    options = options_for_head(file.read_options(labels, keep), fitted, fitted_on)
    announce_compilation()
    counts = predict_file(fitted, str(scores), str(out), options, probabilities=probabilities)
    if as_json:
        print_json(_as_json(counts, out, options.log))
    else:
        print_message(_as_text(counts, out, _kind(fitted, options), exact=fitted.answer_format_ is None))


def _predict_folder(
    path: Path, scores: Path, out: Path, scheduler: str, options: ReadOptions, probabilities: bool, as_json: bool
) -> None:
    """Predict the files of a folder on Dask's workers."""
    import hashlib

    from aftermax._scorefiles.folder import predict_folder
    from aftermax.bridges.dask_workers import connect, over_workers

    if not scores.is_dir():
        raise NotADirectoryError(f"{scores} is not a folder: --dask predicts a folder of score files.")
    if out == STANDARD_OUTPUT:
        raise ValueError("--dask writes a folder of predictions: name it with -o.")
    if options.labels is not None or options.features:
        raise ValueError("--labels and --features name a single file: with --dask, put both into the score files.")
    if not out.is_dir():
        check_output_folder(out)
    head, fitted_on = read_head(path, scores)
    read = options_for_head(options, head, fitted_on)
    announce_compilation()

    def run(function: Any, work: Any, parts: Any) -> Generator[Any, None, None]:  # called if there is anything to do
        with connect(None if scheduler == LOCAL else scheduler) as client:
            yield from over_workers(client, function, work, parts)

    head_hash = hashlib.sha256(path.read_bytes()).hexdigest()
    done = predict_folder(head, scores, out, read, run, head_hash=head_hash, probabilities=probabilities)
    if as_json:
        parts = {"parts": done.parts, "parts_done_before": done.done_before}
        print_json(_as_json(done.counts, out, read.log) | parts)
        return
    earlier = f" ({done.done_before:,} of them by an earlier run)" if done.done_before else ""
    kind = f" in {done.parts:,} parts{earlier}{_kind(head, read)}"
    print_message(_as_text(done.counts, out, kind, exact=head.answer_format_ is None))


def _kind(head: Any, options: ReadOptions) -> str:
    """What the rows hold, where it is not logits."""
    logits = "log-odds" if head.n_features_in_ == 1 else "logarithms"
    return f" of probabilities (their {logits} are the logits)" * options.log


def _as_text(counts: PredictionCounts, out: Path, kind: str, *, exact: bool) -> str:
    """What was done. Answers are not ``exact``: those of few digits are often the same by chance."""
    from aftermax._heads.fingerprint import MOST_OF_THEM, NOTABLE

    text = f"{counts.rows:,} {'row' if counts.rows == 1 else 'rows'}{kind}"
    if counts.accuracy is not None:
        softmax, head = (f"{100 * share:.2f} %" for share in counts.accuracy)
        text += f", {counts.labelled:,} with labels; accuracy: softmax {softmax}, with the head {head}"
    if counts.certain is not None:
        accuracy = counts.certain_accuracy
        among = "" if accuracy is None else f" (accuracy of these: {100 * accuracy:.2f} %)"
        others = counts.rows - counts.certain
        text += f"; {counts.certain:,} are decided by the head alone{among}, {others:,} are for a person"
    if counts.unknown:
        number = f"{counts.unknown:,} labels" if counts.labelled else f"all {counts.unknown:,} labels"
        text += f"; {number} are unknown to the head, such as {', '.join(map(repr, counts.unknown_labels))}"
    notable = NOTABLE if exact else MOSTLY
    if counts.accuracy is not None and counts.fitted_on_share >= notable:
        share = counts.fitted_on_share
        which = "these" if share == 1 else "most of these" if share >= MOST_OF_THEM else "some of these"
        text += f"; {which} are samples that the head was fitted on, so its accuracy is too optimistic"
    return text if out == STANDARD_OUTPUT else f"{text}. Written to {out}"


def _as_json(counts: PredictionCounts, out: Path, log: bool) -> dict[str, object]:
    softmax, head = counts.accuracy or (None, None)
    return {
        "rows": counts.rows,
        "scores": "probabilities" if log else "logits",
        "labelled": counts.labelled,
        "accuracy_softmax": softmax,
        "accuracy_head": head,
        "certain": counts.certain,
        "accuracy_certain": counts.certain_accuracy,
        "unknown": counts.unknown,
        "unknown_labels": counts.unknown_labels,
        "fitted_on_share": counts.fitted_on_share,
        "written": str(out),
    }
