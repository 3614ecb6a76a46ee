"""Score files: the command reads logits and labels from them, and writes predictions to them."""

from aftermax._scorefiles.read import LabelledScores, open_scores, read_scores
from aftermax._scorefiles.types import ReadOptions, Rows, ScoreFile
from aftermax._scorefiles.write import Predictions, open_writer

__all__ = [
    "LabelledScores",
    "Predictions",
    "ReadOptions",
    "Rows",
    "ScoreFile",
    "open_scores",
    "open_writer",
    "read_scores",
]
