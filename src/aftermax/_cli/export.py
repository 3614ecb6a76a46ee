"""``aftermax export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aftermax._cli import options
from aftermax._cli.audit import print_json
from aftermax._utils.files import existing_file

if TYPE_CHECKING:
    from aftermax._scorefiles import Wanted
    from aftermax.bridges.onnx import Agreement


LOGARITHMS = "It takes log-probabilities, log(max(p, 1e-12)), for the head was fitted on those (--log)."


class Precision(StrEnum):
    """What the head computes with."""

    float32 = "float32"
    float64 = "float64"


Onto = Annotated[Path | None, options.file("--onto", "A network to put the head on, as .onnx: one graph for both.")]
LogitsFrom = Annotated[
    str | None, options.text("--logits-from", "Which tensor of the network has the logits, if outputs are several.")
]
FeaturesFrom = Annotated[str | None, options.text("--features-from", "Which tensor of the network has the features.")]
KeepOutputs = Annotated[bool, typer.Option("--keep-outputs", help="Keep the network's own outputs, too.")]
Check = Annotated[Path | None, options.file("--check", "A score file: are the answers the same? Run in onnxruntime.")]
Inputs = Annotated[
    Path | None, options.file("--inputs", "With --onto and --check: what the network takes for these rows, as .npy.")
]


def export(
    head: options.HeadFile,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The .onnx file to write.", show_default=False)],
    onto: Onto = None,
    logits_from: LogitsFrom = None,
    features_from: FeaturesFrom = None,
    keep_outputs: KeepOutputs = False,
    precision: Annotated[
        Precision, typer.Option("--precision", help="What the head computes with; float64 answers as Python does.")
    ] = Precision.float32,
    check: Check = None,
    inputs: Inputs = None,
    as_json: options.Json = False,
    features: options.Features = None,
    part: options.Part = None,
    label_column: options.LabelColumn = None,
    ignore: options.Ignore = None,
    log: options.Log = False,
) -> None:
    """Write a head as ONNX, alone or on a network.

    The graph has standard operators only. Its outputs are label and probabilities.
    """
    from aftermax.bridges.onnx import attach, to_onnx

    options.check_output(out, (head, onto, check, inputs, features), (".onnx",))
    _refuse_idle(onto, check, {"--logits-from": logits_from, "--features-from": features_from}, inputs)
    fitted, noted = options.read_head(head)
    if onto is not None:
        existing_file(onto)

    def written(path: Path | None) -> Any:
        if onto is None:
            return to_onnx(fitted, path, precision=precision.value)
        named = {"logits": logits_from, "features": features_from}
        return attach(onto, fitted, path, **named, precision=precision.value, keep_outputs=keep_outputs)

    counted = None
    if check is not None:
        asked = options.for_head(options.wanted(part, label_column, None, features, (), ignore, log=log), noted)
        # A network's answers can only be compared where its inputs are known; without them, the head is checked alone.
        model = written(None) if onto is None or inputs is not None else to_onnx(fitted, precision=precision.value)
        counted = _compared(model, fitted, str(check), asked, inputs)
    written(out)
    takes = "log-probabilities" if noted.probabilities else "logits"
    if as_json:
        agreed = None if counted is None else counted._asdict()
        print_json({"written": str(out), "takes": takes, "agreement": agreed})
        return
    if counted is not None:
        options.tell(f"The head alone: {counted}" if onto is not None and inputs is None else str(counted))
    options.tell(f"Written to {out}. {LOGARITHMS}" if noted.probabilities else f"Written to {out}")


def _refuse_idle(onto: Path | None, check: Path | None, tensors: dict[str, str | None], inputs: Path | None) -> None:
    """Options that would do nothing are mistakes."""
    for option, value in tensors.items():
        if value is not None and onto is None:
            raise ValueError(f"{option} goes with --onto: it names a tensor of that network.")
    if inputs is not None and (onto is None or check is None):
        raise ValueError("--inputs goes with --onto and --check: it is what the network takes for the rows checked.")


def _compared(model: Any, head: Any, source: str, asked: Wanted, inputs: Path | None) -> Agreement:
    """How many rows have the same answer; if any differ beyond rounding, nothing is to be written."""
    from aftermax._scorefiles.npy import read_npy
    from aftermax._scorefiles.predict import read_for, taking_arrays
    from aftermax.bridges.onnx import agreement

    logits, features = read_for(head, source, asked)
    given = None if inputs is None else read_npy(inputs)
    counted = agreement(model, taking_arrays(head), logits, features, inputs=given)
    if counted.differing:
        raise ValueError(f"Nothing is written, as the graph answers otherwise: {counted} Try --precision float64.")
    return counted
