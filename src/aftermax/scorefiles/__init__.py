"""Score files: what the command reads, and the predictions that it writes."""

from aftermax.scorefiles.predictions import Predictions, writing
from aftermax.scorefiles.reading import LabelledScores, open_scores, read_scores
from aftermax.scorefiles.rows import Rows, ScoreFile, Wanted

__all__ = ["LabelledScores", "Predictions", "Rows", "ScoreFile", "Wanted", "open_scores", "read_scores", "writing"]
