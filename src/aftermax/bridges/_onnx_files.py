"""ONNX models as they come in and go out: read whole, checked, and written whole or not at all."""

from __future__ import annotations

import math
import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, checker, helper
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from aftermax._utils.files import checked_output_path, write_atomically

MOST_BYTES = 2**31 - 1  # that a model can have as one piece
TOO_LARGE = (
    "The network has {size:.1f} GB, and an ONNX model in one piece holds 2 GB at most: export the head on its own with "
    "to_onnx(head), and run it on the network's logits."
)

Model = ModelProto | str | os.PathLike[str]


def read_model(model: Model) -> ModelProto:
    """A copy of a model, or of that in a file, with all its weights."""
    copy = ModelProto()
    if isinstance(model, ModelProto):
        copy.CopyFrom(model)
        if any(uses_external_data(tensor) for tensor in copy.graph.initializer):
            raise ValueError(
                "The network's weights are in a file of their own, and the model does not say in which folder: pass "
                "the path of the .onnx file, or a model from onnx.load(path)."
            )
    elif isinstance(model, str | os.PathLike):
        path = Path(model)
        copy = _decoded(path)
        _refuse_if_too_large(copy)
        try:
            load_external_data_for_model(copy, str(path.parent))
        except (checker.ValidationError, OSError) as error:
            raise ValueError(f"The network's weights, in files beside {path}, cannot be read: {error}") from error
    else:
        raise TypeError(f"model is a {type(model).__name__}: pass the path of an .onnx file, or what onnx.load gives.")
    _refuse_if_too_large(copy)
    return copy


def _decoded(path: Path) -> ModelProto:
    """The model in a file, without what is in other files."""
    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise ValueError(f"{path} is not an ONNX model, or not a whole one ({error}): export it again.") from error
    if not model.graph.output:
        raise ValueError(f"{path} is not an ONNX model, or an empty one: export it again.")
    return model


def _refuse_if_too_large(model: ModelProto) -> None:
    size = model.ByteSize() + sum(_bytes_outside(tensor) for tensor in model.graph.initializer)
    if size > MOST_BYTES:
        raise ValueError(TOO_LARGE.format(size=size / 1e9))


def _bytes_outside(tensor: TensorProto) -> int:
    """How much of a tensor is in another file."""
    if not uses_external_data(tensor):
        return 0
    return int(math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def finished(model: ModelProto, path: str | os.PathLike[str] | None, *, full_check: bool) -> ModelProto:
    """The model, checked, and written to a file if a path is given."""
    _refuse_if_too_large(model)
    try:
        checker.check_model(model, full_check=full_check)
    except checker.ValidationError as error:
        raise ValueError(f"The network with the head is not valid ONNX: {error}") from error
    if path is not None:
        with write_atomically(checked_output_path(Path(path))) as unfinished:
            unfinished.write_bytes(model.SerializeToString(deterministic=True))
    return model
