"""What is known of the tensors of a user's network, and which of them a head can take."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, TensorProto, TypeProto, shape_inference

FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
SAME_VALUES = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze")  # operators that leave the numbers as they are
NAMES_SHOWN = 20


@dataclass(frozen=True)
class Tensor:
    """A tensor, or what else a name stands for, as far as it is known."""

    name: str
    type: TypeProto

    @property
    def shape(self) -> list[int | str | None] | None:
        """The size of each axis, or what it is called, or None for one that is not known."""
        known = self.type.tensor_type
        return (
            [size.dim_value or size.dim_param or None for size in known.shape.dim] if known.HasField("shape") else None
        )

    @property
    def is_float(self) -> bool:
        """Whether it may be a tensor of numbers with a point."""
        kind = self.type.WhichOneof("value")
        return kind is None or (kind == "tensor_type" and self.type.tensor_type.elem_type in (0, *FLOATS))

    @property
    def columns(self) -> int | None:
        """How many numbers there are for each row, if that is known."""
        sizes = [size for size in (self.shape or [None, None])[1:] if isinstance(size, int)]
        return math.prod(sizes) if self.shape is not None and len(sizes) == len(self.shape) - 1 else None

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
    """The tensors that a head could take, by name, in the order of computing."""
    inferred = shape_inference.infer_shapes(network, data_prop=True).graph
    types = {
        value.name: value.type for values in (inferred.value_info, inferred.input, inferred.output) for value in values
    }
    constants = {tensor.name for tensor in network.graph.initializer}
    names = [value.name for value in network.graph.input if value.name not in constants]
    names += [name for node in network.graph.node for name in node.output if name]
    return {name: Tensor(name, types.get(name, TypeProto())) for name in names}


def ask_for(network: ModelProto, tensors: dict[str, Tensor], widths: dict[str, int]) -> ValueError:
    """The error that asks for all names that are needed, by role with the number of columns, and says which may be."""
    outputs = [value.name for value in network.graph.output]
    why = {"logits": f"the network has {len(outputs)} outputs", "features": "this head was fitted with features"}
    which = {"logits": ", ".join(str(tensors[name]) for name in outputs if name in tensors)}
    if "features" in widths:
        fitting = [name for name, tensor in tensors.items() if tensor.is_float and tensor.columns == widths["features"]]
        known = f", as {_listed(fitting)}" if fitting else ""
        which["features"] = f"{widths['features']} columns{known}"
    reason = ", and ".join(why[role] for role in widths)
    asked = ", and ".join(f"which has the {role}, {role}=... ({which[role]})" for role in widths)
    return ValueError(f"{reason[0].upper()}{reason[1:]}: say {asked}.")


def checked(network: ModelProto, tensors: dict[str, Tensor], name: str, role: str, width: int) -> Tensor:
    """A tensor by name; one that is known not to be what the head was fitted on is refused."""
    if name not in tensors:
        outputs = ", ".join(repr(value.name) for value in network.graph.output)
        raise ValueError(
            f"The network has no tensor called {name!r} for the {role}. Its outputs are {outputs}. All its tensors, "
            f"from the last one on, are {_listed(list(tensors))}."
        )
    tensor = tensors[name]
    if not tensor.is_float:
        raise ValueError(f"{tensor}: {role} are to be a tensor of numbers with a point.")
    axes = 2 if tensor.shape is None else len(tensor.shape)
    if axes < 2 or (axes > 2 and role == "logits"):
        raise ValueError(f"{tensor}: {role} are to have rows and columns. Name a tensor with two axes.")
    if tensor.columns not in (None, width):
        raise ValueError(
            f"{tensor}: {tensor.columns} columns, but the head was fitted on {role} with {width} columns. Attach it to "
            "the network that it was fitted on."
        )
    return tensor


def warn_if_softmax(network: ModelProto, logits: str, *, named: bool) -> None:
    """Warn when the head is about to be given probabilities; refuse, unless the user has named them."""
    makers = {name: node for node in network.graph.node for name in node.output}
    node = makers.get(logits)
    while node is not None and node.op_type in SAME_VALUES:
        node = makers.get(node.input[0])
    if node is None or not _makes_probabilities(node):
        return
    instead = (
        f"name the tensor before it, logits=... ({node.input[0]!r})"
        if node.op_type == "Softmax"
        else "export the model with its scores (skl2onnx: the option raw_scores), if it has them"
    )
    told = f"{logits!r} are probabilities, for they come from a {node.op_type}, and the head takes logits: {instead}."
    if not named:
        raise ValueError(told)
    warnings.warn(told, UserWarning, stacklevel=3)


def _makes_probabilities(node: NodeProto) -> bool:
    """Whether it is a softmax, or of the operators for scikit-learn's models one that ends in probabilities."""
    texts = {attribute.name: attribute.s for attribute in node.attribute}
    return (
        node.op_type == "Softmax"
        or (node.op_type == "Normalizer" and texts.get("norm") == b"L1")
        or texts.get("post_transform", b"NONE") != b"NONE"
    )


def _listed(names: list[str]) -> str:
    """Names from the last one on, as many as can be read."""
    return ", ".join(map(repr, names[::-1][:NAMES_SHOWN])) + (", ..." if len(names) > NAMES_SHOWN else "")
