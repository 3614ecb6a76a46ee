"""``aftermax export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aftermax._cli.head_files import options_for_head, read_head
from aftermax._cli.option_groups import with_option_groups
from aftermax._cli.options import FileOptions, HeadFile, Json, file_option, text_option
from aftermax._cli.output import check_output, print_json, print_message
from aftermax._utils.files import existing_file

if TYPE_CHECKING:
    from aftermax._scorefiles import ReadOptions
    from aftermax.bridges.onnx import Agreement

TAKES = {  # for a head that was fitted on probabilities
    "log-probabilities": "log(max(p, 1e-12))",
    "log-odds": "log(p / (1 - p)) with p clipped to 1e-12 and 1 - 1e-12",
}


class Precision(StrEnum):
    """The floating-point type in which the head computes."""

    float32 = "float32"
    float64 = "float64"


@with_option_groups
def export(
    head: HeadFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .onnx file to write.", show_default=False)],
    *,
    onto: Annotated[
        Path | None, file_option("--onto", "A network to attach the head to, as .onnx: one graph for both.")
    ] = None,
    logits_from: Annotated[
        str | None,
        text_option("--logits-from", "The network's tensor with the logits, if it has several outputs."),
    ] = None,
    features_from: Annotated[
        list[str] | None,
        text_option(
            "--features-from",
            "The network's tensor with the features; by default what the layer of the logits takes. Given several "
            "times, the tensors are put side by side.",
        ),
    ] = None,
    keep_outputs: Annotated[bool, typer.Option("--keep-outputs", help="Keep the network's own outputs, too.")] = False,
    precision: Annotated[
        Precision, typer.Option("--precision", help="The head's floating-point type; float64 predicts as Python does.")
    ] = Precision.float32,
    check: Annotated[
        Path | None, file_option("--check", "A score file on which to compare the predictions, with onnxruntime.")
    ] = None,
    inputs: Annotated[
        Path | None,
        file_option("--inputs", "With --onto and --check: the network's inputs for the rows of --check, as .npy."),
    ] = None,
    as_json: Json = False,
    file: FileOptions,
) -> None:
    """Write a head as ONNX, alone or attached to a network.

    The graph has standard operators only. Its outputs are label and probabilities.
    """
    from aftermax.bridges.onnx import attach, to_onnx

    check_output(out, (head, onto, check, inputs, *file.feature_files), (".onnx",))
    _check_options(onto, check, {"--logits-from": logits_from, "--features-from": features_from or None}, inputs)
    fitted, fitted_on = read_head(head)
    if onto is not None:
        existing_file(onto)

    def make_model(path: Path | None) -> Any:
        if onto is None:
            return to_onnx(fitted, path, precision=precision.value)
        tensors: dict[str, Any] = {"logits": logits_from, "features": features_from or None}
        return attach(onto, fitted, path, **tensors, precision=precision.value, keep_outputs=keep_outputs)

    agreement = None
    head_alone = onto is not None and inputs is None  # predictions of a network need its inputs
    if check is not None:
        options = options_for_head(file.read_options(), fitted, fitted_on)
        model = to_onnx(fitted, precision=precision.value) if head_alone else make_model(None)
        agreement = _compare(model, fitted, str(check), options, inputs)
    make_model(out)
    probabilities = "log-odds" if fitted.n_features_in_ == 1 else "log-probabilities"
    takes = probabilities if fitted_on.probabilities or _takes_logarithms(fitted) else "logits"
    if as_json:
        print_json({"written": str(out), "takes": takes, "agreement": agreement and agreement._asdict()})
        return
    if agreement is not None:
        print_message(f"The head alone: {agreement}" if head_alone else str(agreement))
    note = (
        f". It takes {takes}, {TAKES[takes]}, because the head was fitted on probabilities." if takes in TAKES else ""
    )
    print_message(f"Written to {out}{note}")


def _takes_logarithms(head: Any) -> bool:
    """Whether a head was fitted on answers that hold probabilities."""
    return head.answer_format_ is not None and head.answer_format_.kind != "logits"


def _check_options(onto: Path | None, check: Path | None, tensors: dict[str, object], inputs: Path | None) -> None:
    """Refuse options that would have no effect."""
    for option, value in tensors.items():
        if value is not None and onto is None:
            raise ValueError(f"{option} needs --onto: it names a tensor of that network.")
    if inputs is not None and (onto is None or check is None):
        raise ValueError("--inputs needs --onto and --check: it holds the network's inputs for the rows of --check.")


def _compare(model: Any, head: Any, source: str, options: ReadOptions, inputs: Path | None) -> Agreement:
    """How many predictions are the same; if any differ beyond rounding, an error, so that nothing is written."""
    from aftermax._scorefiles.npy import read_npy
    from aftermax._scorefiles.predict import read_for_head, without_column_names
    from aftermax.bridges.onnx import agreement

    logits, features = read_for_head(head, source, options)
    network_inputs = None if inputs is None else read_npy(inputs)
    result = agreement(model, without_column_names(head), logits, features, inputs=network_inputs)
    if result.differing:
        raise ValueError(f"Nothing is written, because predictions differ: {result} Try --precision float64.")
    return result
