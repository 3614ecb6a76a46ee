"""Types and shapes of the tensors of a user's network, and which of them can be a head's inputs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, TensorProto, TypeProto, shape_inference

from aftermax.bridges._onnx_last_layer import SAME_VALUES, constant_names, without_reshaping

FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
MAX_NAMES_SHOWN = 20


@dataclass(frozen=True)
class Tensor:
    """A named tensor, sequence or other value of a network, with its type as far as it is known."""

    name: str
    type: TypeProto

    @property
    def shape(self) -> list[int | str | None] | None:
        """The size or name of each dimension, None for an unknown one; None if the shape is unknown."""
        known = self.type.tensor_type
        return (
            [size.dim_value or size.dim_param or None for size in known.shape.dim] if known.HasField("shape") else None
        )

    @property
    def may_be_float(self) -> bool:
        """Whether it is a floating-point tensor, or of unknown type."""
        kind = self.type.WhichOneof("value")
        return self.is_float or kind is None or (kind == "tensor_type" and self.type.tensor_type.elem_type == 0)

    @property
    def is_float(self) -> bool:
        """Whether it is known to be a floating-point tensor."""
        return self.type.WhichOneof("value") == "tensor_type" and self.type.tensor_type.elem_type in FLOATS

    @property
    def columns(self) -> int | None:
        """The number of values per sample, or None if it is unknown."""
        if self.shape is None:
            return None
        sizes = [size for size in self.shape[1:] if isinstance(size, int)]
        return math.prod(sizes) if len(sizes) == len(self.shape) - 1 else None

    def __str__(self) -> str:
        kind = self.type.WhichOneof("value")
        if kind is None:
            return f"{self.name!r} is of unknown type"
        if kind != "tensor_type":
            return f"{self.name!r} is a {kind.removesuffix('_type').replace('_', ' ')}"
        element = TensorProto.DataType.Name(self.type.tensor_type.elem_type).lower()
        shape = "" if self.shape is None else f" of shape ({', '.join(str(size or '?') for size in self.shape)})"
        return f"{self.name!r} is {element}{shape}"


def tensors_of(network: ModelProto) -> dict[str, Tensor]:
    """The tensors that could be a head's inputs, by name, in the order of computation. Weights are none."""
    inferred = shape_inference.infer_shapes(network, data_prop=True).graph
    types = {
        value.name: value.type for values in (inferred.value_info, inferred.input, inferred.output) for value in values
    }
    names = [value.name for value in network.graph.input]
    names += [name for node in network.graph.node for name in node.output if name]
    constants = constant_names(network.graph)
    return {name: Tensor(name, types.get(name, TypeProto())) for name in names if name not in constants}


def missing_names_error(network: ModelProto, tensors: dict[str, Tensor], missing: dict[str, int]) -> ValueError:
    """The error that asks for the names of inputs, and lists the tensors that are possible.

    ``missing`` has the number of columns of each input that has no name, "logits" and "features".
    """
    outputs = [value.name for value in network.graph.output]
    reasons, requests, options = [], [], []
    if "logits" in missing:
        candidates = ", ".join(str(tensors[name]) for name in outputs if name in tensors)
        reasons.append(f"the network has {len(outputs)} outputs")
        requests.append(f"the logits ({candidates})")
        options.append("--logits-from")
    if "features" in missing:
        n_features = missing["features"]
        names = [name for name, tensor in tensors.items() if tensor.may_be_float and tensor.columns == n_features]
        candidates = f", such as {_last_first(names)}" if names else ""
        reasons.append("this head was fitted with features")
        requests.append(f"the features ({n_features} columns{candidates})")
        options.append("--features-from")
    reason = " and ".join(reasons)
    request = " and the name of the tensor with ".join(requests)
    where = f"({' and '.join(options)} on the command line)"
    return ValueError(f"{reason[0].upper()}{reason[1:]}: pass the name of the tensor with {request} {where}.")


def named_tensor(network: ModelProto, tensors: dict[str, Tensor], name: str, role: str, width: int | None) -> Tensor:
    """The tensor of this name; raises ValueError if it cannot be the logits or features that the head was fitted on.

    ``width`` is the number of its columns; None if that is not known.
    """
    if name not in tensors:
        outputs = ", ".join(repr(value.name) for value in network.graph.output)
        raise ValueError(
            f"The network has no tensor named {name!r} for the {role}. Its outputs are {outputs}. All its tensors, "
            f"last first, are {_last_first(list(tensors))}."
        )
    tensor = tensors[name]
    if not tensor.may_be_float:
        raise ValueError(f"{tensor}: {role} must be a floating-point tensor.")
    n_dimensions = 2 if tensor.shape is None else len(tensor.shape)
    one_logit = role == "logits" and width == 1
    if n_dimensions < (1 if one_logit else 2) or (n_dimensions > 2 and role == "logits"):
        shape = f"(n_samples, {'n_features' if width is None else width})"
        raise ValueError(f"{tensor}: {role} must be of shape {shape}. Name a tensor with two dimensions.")
    if width is not None and tensor.columns not in (None, width):
        raise ValueError(
            f"{tensor}: it has {tensor.columns} columns, but the head was fitted on {role} with {width} columns. "
            "Attach the head to the network that it was fitted on."
        )
    return tensor


def warn_if_probabilities(network: ModelProto, logits: str, activation: str, *, named: bool) -> None:
    """Warn if the logits are probabilities, where the user has named them; otherwise raise ValueError.

    ``activation`` is the operator that makes probabilities of such logits: "Softmax" or, of one logit, "Sigmoid".
    """
    producers = {name: node for node in network.graph.node for name in node.output}
    node = producers.get(without_reshaping(network, logits, SAME_VALUES))
    if node is None or not _returns_probabilities(node, activation):
        return
    advice = (
        f"pass the name of the tensor before it, {node.input[0]!r} (--logits-from on the command line)"
        if node.op_type == activation
        else "export the model with its raw scores, if it has them (in skl2onnx, the option raw_scores)"
    )
    message = (
        f"{logits!r} has probabilities, because it comes from a {node.op_type}, but the head needs logits: {advice}."
    )
    if not named:
        raise ValueError(message)
    warnings.warn(message, UserWarning, stacklevel=3)


def _returns_probabilities(node: NodeProto, activation: str) -> bool:
    """Whether it is the activation, or an operator of a scikit-learn model that returns probabilities."""
    texts = {attribute.name: attribute.s for attribute in node.attribute}
    return (
        node.op_type == activation
        or (node.op_type == "Normalizer" and texts.get("norm") == b"L1")
        or texts.get("post_transform", b"NONE") != b"NONE"
    )


def _last_first(names: list[str]) -> str:
    """A list of names, the last one first, of limited length."""
    return ", ".join(map(repr, names[::-1][:MAX_NAMES_SHOWN])) + (", ..." if len(names) > MAX_NAMES_SHOWN else "")
