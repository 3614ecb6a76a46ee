"""Scores of lingua: n-grams of one to five characters and rules on alphabets, which name the language of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-12  # as PostHocClassifier: a language that the rules exclude has probability 0


@cache
def _detector() -> Any:
    try:
        from lingua import LanguageDetectorBuilder
    except ImportError as error:
        raise ImportError(
            "The model is in lingua-language-detector: pip install --editable '.[experiments]'"
        ) from error
    return LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()


def classes() -> list[str]:
    """The languages that the model knows, by ISO 639-1."""
    return sorted(_confidences("a"))


def scores(texts: Sequence[str]) -> NDArray[np.float32]:
    """Logarithms of the confidence values; columns are those of :func:`classes`."""
    names = classes()
    found = (_confidences(text) for text in texts)
    probabilities = np.array([[each[name] for name in names] for each in found])
    return np.asarray(np.log(np.maximum(probabilities, LEAST)), dtype=np.float32)


def _confidences(text: str) -> dict[str, float]:
    values = _detector().compute_language_confidence_values(text)
    return {value.language.iso_code_639_1.name.lower(): value.value for value in values}
