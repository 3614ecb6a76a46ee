"""onnx_models."""

import numpy as np
import onnx
import onnxruntime

ROWS = 20_000


def rows_like(logits, rows=ROWS, noise=0.5):
    """As many rows as are asked for, in float32, none the same."""
    rng = np.random.default_rng(0)
    drawn = logits[rng.integers(len(logits), size=rows)]
    return (drawn + noise * rng.normal(size=drawn.shape)).astype(np.float32)


def run(model, **inputs):
    """The model's outputs by name."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))
