"""ONNX networks built by hand, and models run in onnxruntime."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def samples_like(logits, n_samples, noise=0.5):
    """So many samples in float32, all different."""
    rng = np.random.default_rng(0)
    drawn = logits[rng.integers(len(logits), size=n_samples)]
    return (drawn + noise * rng.normal(size=drawn.shape)).astype(np.float32)


def run(model, **inputs):
    """The model's outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def tensor_info(name, n_samples, columns, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, [n_samples, columns])


def small_network(weights, opset=13, dtype=TensorProto.FLOAT, n_samples="n", ends_in=(), names=("x", "logits")):
    """A network of one linear layer, followed by the operators that it ends in."""
    source, target = names
    nodes = [helper.make_node("MatMul", [source, "w"], [target])]
    for number, operator in enumerate(ends_in):
        nodes.append(helper.make_node(operator, [nodes[-1].output[0]], [f"end{number}"]))
    graph = helper.make_graph(
        nodes,
        "network",
        [tensor_info(source, n_samples, len(weights), dtype)],
        [tensor_info(nodes[-1].output[0], n_samples, weights.shape[1], dtype)],
        [numpy_helper.from_array(weights.astype(helper.tensor_dtype_to_np_dtype(dtype)), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
