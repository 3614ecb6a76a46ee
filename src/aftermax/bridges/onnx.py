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
from aftermax.bridges._onnx_files import check_and_write
from aftermax.bridges._onnx_graph import IR_VERSION, OPSET, Graph, Value, input_widths, output_infos, write_head

__all__ = ["Agreement", "agreement", "attach", "to_onnx"]


def to_onnx(head: Any, path: str | os.PathLike[str] | None = None, *, precision: str = "float32") -> ModelProto:
    """Export a fitted head as an ONNX model: from ``logits`` to ``label`` and ``probabilities``.

    Parameters
    ----------
    head : AutoHead, SPHClassifier or SPHClassifierCV
        A fitted head.
    path : str or path-like, default=None
        The file to write, if any. An existing file is replaced, and stays if writing fails.
    precision : {"float32", "float64"}, default="float32"
        The type that the head computes in. Inputs and probabilities are float32 either way. With "float64", the
        predictions equal the Python head's for the same inputs. With "float32", the file is half as large and the
        model is faster, probabilities are correct to about 0.001, and samples that are within rounding of another
        class may get another prediction: :func:`agreement` counts them.

    Returns
    -------
    onnx.ModelProto
        The inputs are ``logits`` of shape (n_samples, n_classes), or (n_samples, 1) if the head was fitted on one
        logit, and, if the head was fitted with features,
        ``features`` of shape (n_samples, n_features). The outputs are ``label`` of shape (n_samples,), the predicted
        classes, and ``probabilities`` of shape (n_samples, n_classes). A :class:`~aftermax.Decider` with ``max_error``
        also has ``certain`` of shape (n_samples,), true where the head may decide alone. A batch may have any number
        of samples but zero, for which onnxruntime fails.

    Notes
    -----
    The graph has standard operators only, of opset 13, which every runtime since 2021 supports. It does not check its
    inputs: the probabilities of a sample with NaN are NaN. SPH takes n_classes ** 2
    values per sample, or 65,536 with more than 256 classes.

    Examples
    --------
    >>> from aftermax import SPHClassifier
    >>> from aftermax.bridges.onnx import to_onnx
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> head = SPHClassifier().fit(scores.val_logits, scores.val_labels)
    >>> model = to_onnx(head)  # add a path to write it to a file
    >>> [value.name for value in model.graph.output]
    ['label', 'probabilities']
    """
    formula = formula_of(head)
    graph = Graph(precision)
    widths = input_widths(formula)
    write_head(graph, formula, [Value(graph, name) for name in widths])
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width]) for name, width in widths.items()]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "head", inputs, output_infos(graph, "rows"), graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="aftermax",
        producer_version=__version__,
    )
    return check_and_write(model, path, full_check=True)
