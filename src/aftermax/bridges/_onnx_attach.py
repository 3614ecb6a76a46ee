"""A head put onto a user's network, as one ONNX graph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, helper
from onnx.version_converter import ConvertError, convert_version

from aftermax.bridges._formula import Formula, formula_of
from aftermax.bridges._onnx_files import Model, finished, read_model
from aftermax.bridges._onnx_graph import IR_VERSION, OPSET, Graph, Value, outputs_of, write_head
from aftermax.bridges._onnx_tensors import Tensor, ask_for, checked, tensors_of, warn_if_softmax


def attach(
    model: Model,
    head: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    logits: str | None = None,
    features: str | None = None,
    precision: str = "float32",
    keep_outputs: bool = False,
) -> ModelProto:
    """A network with a fitted head on it, as one ONNX model with the outputs ``label`` and ``probabilities``.

    Parameters
    ----------
    model : str, path-like or onnx.ModelProto
        The network. It is not changed.
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted on this network's logits.
    path : str or path-like, default=None
        The file to write, if any; one that exists is replaced, as a whole.
    logits : str, default=None
        Which tensor has the logits: an output's name, or that of any tensor inside. If None, the only output, unless
        that comes from a Softmax: then the error says what to name.
    features : str, default=None
        Which tensor has the features, for a head that was fitted with features. One with more than two axes is
        flattened.
    precision : {"float32", "float64"}, default="float32"
        What the head computes with; see :func:`~aftermax.bridges.onnx.to_onnx`.
    keep_outputs : bool, default=False
        Whether the network's own outputs stay, after the other two. If not, what only they need is left out.

    Notes
    -----
    The head is written in the network's own version of ONNX. A network of an opset before 13 is converted to 13.

    What comes out takes as many rows at a time as the network does. If the network was exported for a fixed number,
    export it again for any: ``torch.onnx.export(..., dynamic_shapes=({0: torch.export.Dim("rows")},))``.

    Examples
    --------
    >>> from aftermax.bridges.onnx import attach
    >>> attach("network.onnx", head, "network_with_head.onnx")  # doctest: +SKIP
    >>> attach("network.onnx", head, logits="fc", features="pool")  # doctest: +SKIP
    """
    formula = formula_of(head)
    if path is not None and not isinstance(model, ModelProto) and Path(path).resolve() == Path(model).resolve():
        raise ValueError(f"{path} is the network's own file: choose another path to write to.")
    if formula.width is None and features is not None:
        raise ValueError("This head was fitted without features: pass the name of the logits only.")
    network = _at_known_opset(read_model(model))
    taken = _taken(network, formula, {"logits": logits, "features": features})
    warn_if_softmax(network, taken[0].name, named=logits is not None)
    if not keep_outputs:
        _cut(network.graph, [tensor.name for tensor in taken])
    graph = Graph(precision, _opset(network) or OPSET, _free_prefix(network))
    now_called = _freed(network.graph, graph.prefix)
    first, *others = (Value(graph, now_called.get(tensor.name, tensor.name)) for tensor in taken)
    write_head(graph, formula, [first, *(graph.add("Flatten", value, axis=1) for value in others)])
    _join(network, graph, (taken[0].shape or [None])[0])
    return finished(network, path, full_check=False)


def _taken(network: ModelProto, formula: Formula, named: dict[str, str | None]) -> list[Tensor]:
    """The tensors that the head takes, the logits first; those of a network's only output, if they are not named."""
    tensors = tensors_of(network)
    outputs = [value.name for value in network.graph.output]
    names = {"logits": outputs[0]} if len(outputs) == 1 else {}
    names |= {role: name for role, name in named.items() if name is not None}
    widths = {"logits": len(formula.classes)} | ({} if formula.width is None else {"features": formula.width})
    missing = {role: width for role, width in widths.items() if role not in names}
    if missing:
        raise ask_for(network, tensors, missing)
    return [checked(network, tensors, names[role], role, width) for role, width in widths.items()]


def _join(network: ModelProto, graph: Graph, rows: int | str | None) -> None:
    """Put the head's nodes after the network's, and its outputs before those that stay."""
    network.graph.node.extend(graph.nodes)
    network.graph.initializer.extend(graph.constants)
    _replace(network.graph.output, [*outputs_of(graph, rows), *network.graph.output])


def _freed(graph: GraphProto, prefix: str) -> dict[str, str]:
    """The names of the head's outputs, made free for it: what tensors inside that have them are called now."""
    outputs = {"label", "probabilities"}
    for values, otherwise in ((graph.input, "and attach again"), (graph.output, "or leave it out, keep_outputs=False")):
        for name in sorted(outputs & {value.name for value in values}):
            raise ValueError(
                f"The network has an input or output called {name!r}, as an output of the head is to be called: rename "
                f"it, {otherwise}."
            )
    now_called = {name: f"{prefix}network_{name}" for name in outputs & _names(graph)}
    if now_called:
        _rename(graph, now_called)
    return now_called


# ---- graphs ----------------------------------------------------------------------------------------------------------


def _opset(network: ModelProto) -> int | None:
    """The version of the standard operators; None if there are none."""
    return next((entry.version for entry in network.opset_import if entry.domain in ("", "ai.onnx")), None)


def _at_known_opset(network: ModelProto) -> ModelProto:
    """The network with standard operators as they are since opset 13."""
    opset = _opset(network)
    if opset is None:
        network.opset_import.append(helper.make_opsetid("", OPSET))
    elif opset < OPSET:
        try:
            network = convert_version(network, OPSET)
        except (ConvertError, RuntimeError, IndexError) as error:  # by what onnx is at hand
            raise ValueError(
                f"The network is of opset {opset} and cannot be converted to {OPSET}, which the head needs: export it "
                f"again with a newer opset. ({error})"
            ) from error
    network.ir_version = max(network.ir_version, IR_VERSION)
    return network


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        yield from attribute.graphs
        if attribute.HasField("g"):
            yield attribute.g


def _names(graph: GraphProto) -> set[str]:
    """Every tensor's name, with those in the graphs inside its nodes."""
    names = {
        value.name for values in (graph.input, graph.output, graph.initializer, graph.value_info) for value in values
    }
    names |= {tensor.values.name for tensor in graph.sparse_initializer}
    for node in graph.node:
        names |= {*node.input, *node.output}
        for inner in _subgraphs(node):
            names |= _names(inner)
    return names


def _rename(graph: GraphProto, now_called: dict[str, str]) -> None:
    """Give tensors other names, also in the graphs inside its nodes."""
    for values in (graph.input, graph.output, graph.initializer, graph.value_info):
        for value in values:
            value.name = now_called.get(value.name, value.name)
    for node in graph.node:
        for names in (node.input, node.output):
            _replace(names, [now_called.get(name, name) for name in names])
        for inner in _subgraphs(node):
            _rename(inner, now_called)


def _free_prefix(network: ModelProto) -> str:
    names, number, prefix = _names(network.graph), 1, "aftermax/"
    while any(name.startswith(prefix) for name in names):
        number += 1
        prefix = f"aftermax_{number}/"
    return prefix


def _cut(graph: GraphProto, needed: list[str]) -> None:
    """Take away the outputs, and the nodes and constants that nothing needs but they."""
    wanted, nodes = set(needed), []
    for node in reversed(graph.node):  # a graph's nodes are in the order of computing
        if wanted & set(node.output):
            nodes.append(node)
            wanted |= set(node.input).union(*(_names(inner) for inner in _subgraphs(node)))
            wanted.discard("")  # an input that is left out
    unwanted = {tensor.name for tensor in graph.initializer} - wanted
    _replace(graph.node, nodes[::-1])
    _replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in wanted])
    _replace(graph.value_info, [value for value in graph.value_info if value.name in wanted])
    _replace(graph.input, [value for value in graph.input if value.name not in unwanted])
    del graph.output[:]


def _replace(field: Any, values: list[Any]) -> None:
    del field[:]
    field.extend(values)
