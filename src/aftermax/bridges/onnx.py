"""ONNX: a fitted head as a graph of standard operators, alone or on a network. Needs the ``onnx`` extra."""

from __future__ import annotations

import os
from typing import Any

try:
    from onnx import ModelProto, TensorProto, helper
except ImportError as error:
    raise ImportError("ONNX files need onnx: pip install 'aftermax[onnx]'") from error

from aftermax import __version__
from aftermax.bridges._formula import formula_of
from aftermax.bridges._onnx_agreement import Agreement, agreement
from aftermax.bridges._onnx_attach import attach
from aftermax.bridges._onnx_files import finished
from aftermax.bridges._onnx_graph import IR_VERSION, OPSET, Graph, Value, outputs_of, write_head

__all__ = ["Agreement", "agreement", "attach", "to_onnx"]


def to_onnx(head: Any, path: str | os.PathLike[str] | None = None, *, precision: str = "float32") -> ModelProto:
    """A fitted head as an ONNX model: from ``logits`` to ``label`` and ``probabilities``.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        Fitted.
    path : str or path-like, default=None
        The file to write, if any; one that exists is replaced, as a whole.
    precision : {"float32", "float64"}, default="float32"
        What the head computes with. What goes in and comes out is float32 either way. With "float64" every answer is
        the Python head's to the same numbers. With "float32" the file is half as large and faster, probabilities are
        right to about 0.001, and rows within rounding of another answer may get it: :func:`agreement` counts them.

    Returns
    -------
    onnx.ModelProto
        Its inputs are ``logits`` (rows, K) and, for a head that was fitted with features, ``features`` (rows, d). Its
        outputs are ``label`` (rows,), the class itself, and ``probabilities`` (rows, K). Any number of rows will do,
        from one on (onnxruntime fails on none).

    Notes
    -----
    There are standard operators only, of opset 13, which every runtime since 2021 has. The graph does not check what
    goes in: a row with NaN has NaN as probabilities. SPH's distances take K * K numbers for each row.

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.onnx import agreement, to_onnx
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> model = to_onnx(head)  # and a path, to write it to a file
    >>> [value.name for value in model.graph.output]
    ['label', 'probabilities']
    >>> agreement(model, head, scores.test_logits).differing
    0
    """
    formula = formula_of(head)
    graph = Graph(precision)
    widths = {"logits": len(formula.classes)} | ({} if formula.width is None else {"features": formula.width})
    write_head(graph, formula, [Value(graph, name) for name in widths])
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width]) for name, width in widths.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "head", inputs, outputs_of(graph, "rows"), graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="aftermax",
        producer_version=__version__,
    )
    return finished(model, path, full_check=True)
