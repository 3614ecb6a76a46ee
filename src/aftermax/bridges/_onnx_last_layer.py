"""The layer of a user's ONNX network that computes the logits: which tensor it takes, and which are constants."""

from __future__ import annotations

from collections.abc import Collection

from onnx import GraphProto, ModelProto, NodeProto

from aftermax.bridges._onnx_editing import node_inputs

LAYERS = frozenset(  # if one of their inputs is a constant
    [
        "Gemm",
        "MatMul",
        "MatMulInteger",
        "MatMulNBits",
        "QGemm",
        "QLinearMatMul",
        "FusedGemm",
        "FusedMatMul",
        "Conv",
        "ConvInteger",
        "QLinearConv",
        "FusedConv",
    ]
)
SAME_VALUES = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze")  # operators that do not change the values
SHAPES = ("Shape", "Size")  # what they return does not depend on the values


def constant_names(graph: GraphProto) -> set[str]:
    """The names of weights, and of what is computed of them alone, as from quantized weights."""
    names = {tensor.name for tensor in graph.initializer}
    names |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        inputs = node_inputs(node)
        if node.op_type == "Constant" or (inputs and inputs <= names):
            names |= set(node.output)
    return names


def last_layer_input(network: ModelProto, logits: str) -> str | None:
    """The tensor that the layer of the logits takes, the last hidden layer; None if there is no one such tensor.

    It is the last tensor before a product with weights that all the logits depend on, so that the scales of a quantized
    layer, for example, are no reason not to find it.
    """
    constants = constant_names(network.graph)
    needed, crossed = {logits}, False
    for node in reversed(network.graph.node):  # ONNX sorts nodes topologically
        if needed & set(node.output):
            needed = (needed - set(node.output)) | _variables(node, constants)
            crossed = crossed or _is_layer(node, constants)
            if crossed and len(needed) == 1:
                return needed.pop()
    return None


def is_changed_into(network: ModelProto, name: str, target: str) -> bool:
    """Whether a tensor becomes another one, with other values, without a layer in between, as by an activation."""
    if without_reshaping(network, name) == without_reshaping(network, target):
        return False
    constants = constant_names(network.graph)
    needed = {target}
    for node in reversed(network.graph.node):
        if needed & set(node.output) and not _is_layer(node, constants):
            needed |= _variables(node, constants)
    return name in needed


def without_reshaping(network: ModelProto, name: str, same: Collection[str] = (*SAME_VALUES, "Dropout")) -> str:
    """The tensor that a tensor has its values from."""
    producers = {output: node for node in network.graph.node for output in node.output}
    while name in producers and producers[name].op_type in same:
        name = producers[name].input[0]
    return name


def _variables(node: NodeProto, constants: set[str]) -> set[str]:
    return set() if node.op_type in SHAPES else node_inputs(node) - constants


def _is_layer(node: NodeProto, constants: set[str]) -> bool:
    return node.op_type in LAYERS and bool(node_inputs(node) & constants)
