"""Edit the graph of a user's ONNX network: opset, names of tensors, and removal of unused nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, helper
from onnx.version_converter import ConvertError, convert_version

from aftermax.bridges._onnx_graph import IR_VERSION, OPSET


def opset_of(network: ModelProto) -> int | None:
    """The version of the standard operators; None if the network imports none."""
    return next((entry.version for entry in network.opset_import if entry.domain in ("", "ai.onnx")), None)


def with_supported_opset(network: ModelProto) -> ModelProto:
    """The network with standard operators of opset 13 or later."""
    opset = opset_of(network)
    if opset is None:
        network.opset_import.append(helper.make_opsetid("", OPSET))
    elif opset < OPSET:
        try:
            network = convert_version(network, OPSET)
        except (ConvertError, RuntimeError, IndexError) as error:  # which one depends on the version of onnx
            raise ValueError(
                f"The network has opset {opset} and cannot be converted to {OPSET}, which the head needs: export it "
                f"again with a newer opset. ({error})"
            ) from error
    network.ir_version = max(network.ir_version, IR_VERSION)
    return network


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def node_inputs(node: NodeProto) -> set[str]:
    """The names of a node's inputs, and all names in its subgraphs, which may use tensors from outside."""
    names = set(node.input).union(*(tensor_names(subgraph) for subgraph in _subgraphs(node)))
    return names - {""}  # an optional input that is left out


def tensor_names(graph: GraphProto) -> set[str]:
    """The names of all tensors, including those in subgraphs."""
    names = {
        value.name for values in (graph.input, graph.output, graph.initializer, graph.value_info) for value in values
    }
    names |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        names |= {*node.input, *node.output}
        for subgraph in _subgraphs(node):
            names |= tensor_names(subgraph)
    return names


def rename_tensors(graph: GraphProto, new_names: dict[str, str]) -> None:
    """Rename tensors, also in subgraphs."""
    for values in (graph.input, graph.output, graph.initializer, graph.value_info):
        for value in values:
            value.name = new_names.get(value.name, value.name)
    for node in graph.node:
        for names in (node.input, node.output):
            replace(names, [new_names.get(name, name) for name in names])
        for subgraph in _subgraphs(node):
            rename_tensors(subgraph, new_names)


def unused_prefix(graph: GraphProto) -> str:
    """A prefix that no name in the graph starts with."""
    names, number, prefix = tensor_names(graph), 1, "aftermax/"
    while any(name.startswith(prefix) for name in names):
        number += 1
        prefix = f"aftermax_{number}/"
    return prefix


def keep_only(graph: GraphProto, needed: list[str]) -> None:
    """Remove all outputs, and the nodes and constants that the needed tensors do not depend on."""
    wanted, nodes = set(needed), []
    for node in reversed(graph.node):  # ONNX sorts nodes topologically
        if wanted & set(node.output):
            nodes.append(node)
            wanted |= node_inputs(node)
    unwanted = {tensor.name for tensor in graph.initializer} - wanted
    replace(graph.node, nodes[::-1])
    replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in wanted])
    replace(graph.value_info, [value for value in graph.value_info if value.name in wanted])
    replace(graph.input, [value for value in graph.input if value.name not in unwanted])
    del graph.output[:]


def replace(field: Any, values: list[Any]) -> None:
    """Replace the values of a repeated protobuf field."""
    del field[:]
    field.extend(values)
