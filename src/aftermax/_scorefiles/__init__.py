"""Score files: what the command reads, and the predictions that it writes."""

from aftermax._scorefiles.read import LabelledScores, open_scores, read_scores
from aftermax._scorefiles.types import Rows, ScoreFile, Wanted
from aftermax._scorefiles.write import Predictions, writing

__all__ = ["LabelledScores", "Predictions", "Rows", "ScoreFile", "Wanted", "open_scores", "read_scores", "writing"]
