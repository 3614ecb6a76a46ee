"""Scores of a recogniser that is made for lines of text: PP-OCRv4, as the package rapidocr-onnxruntime ships it.

It reads a line from left to right, and gives the probabilities of 6,623 characters, a space and no character at each of
some positions. The score of a character is the logarithm of the largest probability that it has at any of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCH = 64
LEAST = 1e-12  # of a probability; the network's own are above


class Recogniser:
    """The network in an ONNX file, on one core."""

    def __init__(self, model: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(str(model), options)
        listed = self._session.get_modelmeta().custom_metadata_map["character"]
        self.characters: list[str] = [*listed.splitlines(), " "]

    def scores(self, images: NDArray[np.float32]) -> NDArray[np.float16]:
        """A line for each image, in the order of ``characters``."""
        batches = [self._batch(images[start : start + BATCH]) for start in range(0, len(images), BATCH)]
        return np.concatenate(batches)

    def _batch(self, images: NDArray[np.float32]) -> NDArray[np.float16]:
        colours = np.repeat(2 * images[:, np.newaxis] - 1, 3, axis=1)
        [probabilities] = self._session.run(None, {"x": colours})
        highest = probabilities[:, :, 1:].max(axis=1)  # the first column is that of no character
        return np.asarray(np.log(np.maximum(highest, LEAST)), dtype=np.float16)
