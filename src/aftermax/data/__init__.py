"""Real scores of real networks that ship with the package, and the reader of score files.

The networks are three of the paper's main experiment (``python -m experiments vmnist`` in a clone of the repository):
trained on 100, 500 and 5,000 vectorised MNIST images (vMNIST), with scores for 4,000 validation and 4,000 test images
that were held out. They are the ones of Figure 6, whose validation accuracy is nearest to the paper's 74, 84 and 95 %.
"""

from __future__ import annotations

import lzma
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHIPPED = (100, 500, 5_000)
FOLDER = Path(__file__).parent
# What reading a file that is cut, changed or something else may raise; zipfile's NotImplementedError is for an unknown
# compression method, which a single changed byte can give, its RuntimeError for an encrypted archive. numpy parses the
# header of an array as Python source, and compressed parts may be of any method.
DAMAGE = (
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    tokenize.TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class Scores(NamedTuple):
    """A network's logits for its validation and test samples, and their labels."""

    val_logits: NDArray[np.float32]
    val_labels: NDArray[np.int64]
    test_logits: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load_vmnist(trained_on: int = 100) -> Scores:
    """The scores of a network on MNIST for held-out images.

    Parameters
    ----------
    trained_on : {100, 500, 5000}, default=100
        How many images it was trained on.

    Returns
    -------
    Scores
        ``val_logits``, ``val_labels``, ``test_logits`` and ``test_labels``: 4,000 samples each, ten classes, logits as
        float32. They are stored in float16, which changes a handful of predictions.

    Examples
    --------
    >>> from aftermax.data import load_vmnist
    >>> scores = load_vmnist(trained_on=500)
    >>> scores.val_logits.shape
    (4000, 10)
    >>> float((scores.test_logits.argmax(axis=1) == scores.test_labels).mean())  # softmax's accuracy
    0.86
    """
    if trained_on not in SHIPPED:
        raise ValueError(
            f"trained_on={trained_on!r} is not among the networks that ship with aftermax: choose from "
            f"{', '.join(map(str, SHIPPED))}; 'python -m experiments vmnist', in a clone of the repository, trains "
            "the others."
        )
    return load_scores(shipped_path(int(trained_on)))


def shipped_path(trained_on: int) -> Path:
    """The path of the scores of the network trained on so many images."""
    return FOLDER / f"vmnist-{trained_on}.npz"


def load_scores(path: Path) -> Scores:
    """Scores from an .npz file with ``val_logits``, ``val_labels``, ``test_logits`` and ``test_labels``."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            val_logits, val_labels, test_logits, test_labels = (arrays[name] for name in Scores._fields)
    except DAMAGE as error:
        raise ValueError(f"{path} is damaged or no score file ({error}): remove it or make it anew.") from error
    return Scores(
        val_logits.astype(np.float32),
        val_labels.astype(np.int64),
        test_logits.astype(np.float32),
        test_labels.astype(np.int64),
    )
