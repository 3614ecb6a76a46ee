"""Scores of Magika: Google's network that names the type of a file by its bytes.

Fratantonio et al. (2025). Magika: AI-powered content-type detection. ICSE.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-30  # of a probability, so that its logarithm is finite
BATCH = 64


@cache
def _folder() -> Path:
    try:
        import magika
    except ImportError as error:
        raise ImportError("The model is in magika: pip install --editable '.[experiments]'") from error
    [folder] = (Path(magika.__file__).parent / "models").iterdir()
    return folder


@cache
def _config() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_folder() / "config.min.json").read_text())
    return content


@cache
def _session() -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(_folder() / "model.onnx"), options)


def classes() -> list[str]:
    """The types that the model knows."""
    return list(_config()["target_labels_space"])


def scores(texts: Sequence[str]) -> NDArray[np.float32]:
    """Logarithms of the probabilities of the network, before its thresholds; columns are those of :func:`classes`."""
    inputs = np.array([features(text.encode()) for text in texts], dtype=np.int32)
    batches = [inputs[start : start + BATCH] for start in range(0, len(inputs), BATCH)]
    probabilities = np.concatenate([_session().run(["target_label"], {"bytes": batch})[0] for batch in batches])
    return np.asarray(np.log(np.maximum(probabilities, LEAST)), dtype=np.float32)


def features(content: bytes) -> list[int]:
    """The first and the last bytes, without white space around them, as Magika takes them; padded in between."""
    size = int(_config()["beg_size"])
    first, last = content.lstrip()[:size], content.rstrip()[-size:]
    padding = int(_config()["padding_token"])
    return [*first, *[padding] * (2 * size - len(first) - len(last)), *last]
