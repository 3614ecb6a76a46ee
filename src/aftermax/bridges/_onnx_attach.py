"""Attach a fitted head to a user's ONNX network, as one graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto

from aftermax.bridges._formula import Formula, formula_of
from aftermax.bridges._onnx_editing import (
    keep_only,
    opset_of,
    rename_tensors,
    replace,
    tensor_names,
    unused_prefix,
    with_supported_opset,
)
from aftermax.bridges._onnx_features import (
    features_of_last_layer,
    named_features,
    warn_if_changed,
    warn_of_assumption,
)
from aftermax.bridges._onnx_files import Model, check_and_write, read_model
from aftermax.bridges._onnx_graph import OPSET, Graph, Value, input_widths, output_infos, write_head
from aftermax.bridges._onnx_tensors import (
    Tensor,
    missing_names_error,
    named_tensor,
    tensors_of,
    warn_if_probabilities,
)


def attach(
    model: Model,
    head: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    logits: str | None = None,
    features: str | Sequence[str] | None = None,
    precision: str = "float32",
    keep_outputs: bool = False,
) -> ModelProto:
    """Attach a fitted head to a network, as one ONNX model with the outputs ``label`` and ``probabilities``.

    Parameters
    ----------
    model : str, path-like or onnx.ModelProto
        The network. It is not changed.
    head : AutoHead, SPHClassifier or SPHClassifierCV
        A head that was fitted on the logits of this network.
    path : str or path-like, default=None
        The file to write, if any. An existing file is replaced, and stays if writing fails.
    logits : str, default=None
        The name of the tensor with the logits, an output or any tensor inside the network. If None, the network's only
        output is used, unless it comes from a Softmax, or for a head that was fitted on one logit from a Sigmoid: then
        the error names the tensor to use.
    features : str or list of str, default=None
        The name of the tensor with the features, if the head was fitted with features. A tensor with more than two
        dimensions is flattened. Several tensors are put side by side, in this order. If None, the tensor that the
        layer of the logits takes, with a warning that says which: run :func:`agreement`, because no graph tells
        which tensor the head was fitted on. Another one with as many columns, as that before an activation, gives
        wrong predictions.
    precision : {"float32", "float64"}, default="float32"
        The type that the head computes in; see :func:`~aftermax.bridges.onnx.to_onnx`.
    keep_outputs : bool, default=False
        Whether to keep the network's own outputs, after the two of the head. If False, nodes that only they need are
        removed.

    Returns
    -------
    onnx.ModelProto
        The network with the head.

    Notes
    -----
    The head is written in the opset of the network. A network with an opset before 13 is converted to 13.

    The resulting model has the batch size of the network. If the network was exported for a fixed batch size, export it
    again for any: ``torch.onnx.export(..., dynamic_shapes=({0: torch.export.Dim("batch")},))``.

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
        raise ValueError("This head was fitted without features: pass only the name of the logits.")
    network = with_supported_opset(read_model(model))
    tensors = _input_tensors(network, formula, logits, features)
    if features is not None:
        warn_if_changed(network, tensors_of(network), tensors[0].name, tensors[1:], stacklevel=2)
    elif len(tensors) > 1:
        warn_of_assumption(tensors[1].name, stacklevel=2)
    one_logit = formula.logits_width == 1
    warn_if_probabilities(network, tensors[0].name, "Sigmoid" if one_logit else "Softmax", named=logits is not None)
    if not keep_outputs:
        keep_only(network.graph, [tensor.name for tensor in tensors])
    graph = Graph(precision, opset_of(network) or OPSET, unused_prefix(network.graph))
    new_names = _free_output_names(network.graph, graph.prefix)
    first, *others = (Value(graph, new_names.get(tensor.name, tensor.name)) for tensor in tensors)
    if one_logit:  # of shape (n_samples,) or (n_samples, 1)
        first = graph.add("Reshape", first, graph.constant(np.array([-1, 1]), "one_column"))
    write_head(graph, formula, [first, *_side_by_side(graph, others)])
    _join(network, graph, (tensors[0].shape or [None])[0])
    return check_and_write(network, path, full_check=False)


def _input_tensors(
    network: ModelProto, formula: Formula, logits: str | None, features: str | Sequence[str] | None
) -> list[Tensor]:
    """The tensors that are the head's inputs, logits first; by default the logits are the network's only output."""
    tensors, widths = tensors_of(network), input_widths(formula)
    outputs = [value.name for value in network.graph.output]
    if logits is None and len(outputs) == 1:
        logits = outputs[0]
    found = [] if logits is None else [named_tensor(network, tensors, logits, "logits", widths["logits"])]
    if found and "features" in widths and features is None:
        features = features_of_last_layer(network, tensors, found[0].name, widths["features"])
    chosen = {"logits": logits, "features": features}
    missing = {role: width for role, width in widths.items() if chosen[role] is None}
    if missing:
        raise missing_names_error(network, tensors, missing)
    return found if features is None else found + named_features(network, tensors, features, widths["features"])


def _side_by_side(graph: Graph, features: list[Value]) -> list[Value]:
    """The features of all tensors as one matrix, in a list; an empty list without features."""
    flat = [graph.add("Flatten", value, axis=1) for value in features]
    if len(flat) < 2:
        return flat
    return [graph.add("Concat", *(graph.cast(value, graph.dtype) for value in flat), axis=1)]  # of one type


def _free_output_names(graph: GraphProto, prefix: str) -> dict[str, str]:
    """Rename tensors inside the network that have the name of an output of the head; returns their new names."""
    outputs = {"label", "probabilities", "certain"}
    for values, advice in (
        (graph.input, "and attach the head again"),
        (graph.output, "or remove it with keep_outputs=False"),
    ):
        for name in sorted(outputs & {value.name for value in values}):
            raise ValueError(
                f"The network has an input or output named {name!r}, which is the name of an output of the head: "
                f"rename it, {advice}."
            )
    new_names = {name: f"{prefix}network_{name}" for name in outputs & tensor_names(graph)}
    if new_names:
        rename_tensors(graph, new_names)
    return new_names


def _join(network: ModelProto, graph: Graph, n_samples: int | str | None) -> None:
    """Append the head's nodes to the network's, and put its outputs before those that stay."""
    network.graph.node.extend(graph.nodes)
    network.graph.initializer.extend(graph.constants)
    replace(network.graph.output, [*output_infos(graph, n_samples), *network.graph.output])
