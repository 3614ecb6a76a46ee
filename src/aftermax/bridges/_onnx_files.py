"""Read ONNX models with all their weights, and check and write them."""

from __future__ import annotations

import math
import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, checker, helper
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from aftermax._utils.files import checked_output_path, write_atomically

MAX_BYTES = 2**31 - 1  # of a model in a single file, a limit of protobuf

Model = ModelProto | str | os.PathLike[str]


def read_model(model: Model) -> ModelProto:
    """Return a copy of a model, or the model in a file, with all its weights."""
    if isinstance(model, ModelProto):
        copy = ModelProto()
        copy.CopyFrom(model)
        if any(uses_external_data(tensor) for tensor in copy.graph.initializer):
            raise ValueError(
                "The network's weights are in a separate file, and the model does not name its folder: pass the path "
                "of the .onnx file, or a model from onnx.load(path)."
            )
    elif isinstance(model, str | os.PathLike):
        path = Path(model)
        copy = _decoded(path)
        _refuse_if_too_large(copy)
        try:
            load_external_data_for_model(copy, str(path.parent))
        except (checker.ValidationError, OSError) as error:
            raise ValueError(f"The network's weights, in files next to {path}, cannot be read: {error}") from error
    else:
        raise TypeError(
            f"model must be the path of an .onnx file or a model from onnx.load, got {type(model).__name__}."
        )
    _refuse_if_too_large(copy)
    return copy


def _decoded(path: Path) -> ModelProto:
    """The model in a file, without weights that are in other files."""
    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise ValueError(f"{path} is not an ONNX model, or is truncated ({error}): export it again.") from error
    if not model.graph.output:
        raise ValueError(f"{path} is not an ONNX model, or is empty: export it again.")
    return model


def _refuse_if_too_large(model: ModelProto) -> None:
    size = model.ByteSize() + sum(_external_bytes(tensor) for tensor in model.graph.initializer)
    if size > MAX_BYTES:
        raise ValueError(
            f"The network has {size / 1e9:.1f} GB, and an ONNX model in a single file can have at most 2 GB: export "
            "the head on its own with to_onnx(head), and run it on the network's logits."
        )


def _external_bytes(tensor: TensorProto) -> int:
    """The size of a tensor's values in another file."""
    if not uses_external_data(tensor):
        return 0
    return int(math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def check_and_write(model: ModelProto, path: str | os.PathLike[str] | None, *, full_check: bool) -> ModelProto:
    """Check a model, write it to a file if a path is given, and return it."""
    _refuse_if_too_large(model)
    try:
        checker.check_model(model, full_check=full_check)
    except checker.ValidationError as error:
        raise ValueError(f"The network with the head is not a valid ONNX model: {error}") from error
    if path is not None:
        with write_atomically(checked_output_path(Path(path))) as unfinished:
            unfinished.write_bytes(model.SerializeToString(deterministic=True))
    return model
