"""The models, what they are asked, and their scores, which are computed once and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aftermax._utils.files import write_atomically
from experiments.vendor import with_lingua, with_magika, with_py3langid
from experiments.vendor.packages import FOLDER
from experiments.vendor.pieces import Pieces
from experiments.vendor.source_files import line_pieces
from experiments.vendor.texts import word_pieces


class Scores(NamedTuple):
    """What a model gives for labelled pieces. Labels are column numbers."""

    logits: NDArray[np.float32]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Model:
    """A model that a package ships, and pieces to ask it for."""

    title: str
    package: str
    unit: str  # of the length of a piece
    lengths: tuple[int, ...]
    pieces: Callable[[int, list[str], Path], Pieces]
    classes: Callable[[], list[str]]
    scores: Callable[[Sequence[str]], NDArray[np.float32]]

    def compute(self, length: int, folder: Path) -> Scores:
        """Cut the pieces, and let the model score them."""
        names = self.classes()
        pieces = self.pieces(length, names, folder).distinct().some()
        columns = {name: column for column, name in enumerate(names)}
        return Scores(self.scores(pieces.texts), np.array([columns[label] for label in pieces.labels]))


MODELS = {
    "py3langid": Model(
        "py3langid", "py3langid", "words", (3, 5, 10), word_pieces, with_py3langid.classes, with_py3langid.scores
    ),
    "lingua": Model(
        "lingua", "lingua-language-detector", "words", (3, 5, 10), word_pieces, with_lingua.classes, with_lingua.scores
    ),
    "magika": Model("Magika", "magika", "lines", (5, 10, 20), line_pieces, with_magika.classes, with_magika.scores),
}


def path_of(model: str, length: int, folder: Path = FOLDER) -> Path:
    return folder / f"{model}_{length}.npz"


def load(model: str, length: int, folder: Path = FOLDER) -> Scores:
    """The scores of a model, from the folder or else computed, and kept there."""
    path = path_of(model, length, folder)
    if not path.is_file():
        made = MODELS[model].compute(length, folder)
        with write_atomically(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, logits=made.logits, labels=made.labels)
    with np.load(path) as kept:
        return Scores(kept["logits"], kept["labels"])
