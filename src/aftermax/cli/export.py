"""``aftermax export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aftermax.cli import options
from aftermax.cli.audit import print_json

if TYPE_CHECKING:
    from aftermax.bridges.onnx import Agreement
    from aftermax.scorefiles import Wanted


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
    from aftermax.storage import load

    options.check_writable(out)
    _refuse_idle(onto, check, {"--logits-from": logits_from, "--features-from": features_from}, inputs)
    fitted = load(head)

    def written(path: Path | None) -> Any:
        if onto is None:
            return to_onnx(fitted, path, precision=precision.value)
        named = {"logits": logits_from, "features": features_from}
        return attach(onto, fitted, path, **named, precision=precision.value, keep_outputs=keep_outputs)

    counted = None
    if check is not None:
        asked = options.wanted(part, label_column, None, features, (), ignore, log=log)
        # A network's answers can only be compared where its inputs are known; without them, the head is checked alone.
        model = written(None) if onto is None or inputs is not None else to_onnx(fitted, precision=precision.value)
        counted = _compared(model, fitted, str(check), asked, inputs)
    written(out)
    if as_json:
        print_json({"written": str(out), "agreement": None if counted is None else counted._asdict()})
        return
    if counted is not None:
        print(f"The head alone: {counted}" if onto is not None and inputs is None else counted)
    print(f"Written to {out}")


def _refuse_idle(onto: Path | None, check: Path | None, tensors: dict[str, str | None], inputs: Path | None) -> None:
    """Options that would do nothing are mistakes."""
    for option, value in tensors.items():
        if value is not None and onto is None:
            raise ValueError(f"{option} goes with --onto: it names a tensor of that network.")
    if inputs is not None and (onto is None or check is None):
        raise ValueError("--inputs goes with --onto and --check: it is what the network takes for the rows checked.")


def _compared(model: Any, head: Any, source: str, asked: Wanted, inputs: Path | None) -> Agreement:
    """How many rows have the same answer; if any differ beyond rounding, nothing is to be written."""
    from aftermax.bridges.onnx import agreement
    from aftermax.scorefiles.arrays import read_npy
    from aftermax.scorefiles.scoring import read_for, taking_arrays

    logits, features = read_for(head, source, asked)
    given = None if inputs is None else read_npy(inputs)
    counted = agreement(model, taking_arrays(head), logits, features, inputs=given)
    if counted.differing:
        raise ValueError(f"Nothing is written, as the graph answers otherwise: {counted} Try --precision float64.")
    return counted
