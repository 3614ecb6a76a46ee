"""Scores of py3langid: naive Bayes on byte n-grams, which names the language of a text (a fork of langid.py).

Lui, Baldwin (2012). langid.py: An off-the-shelf language identification tool. ACL system demonstrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1e-30  # of a probability, so that its logarithm is finite


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise ImportError("The model is in py3langid: pip install --editable '.[experiments]'") from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def classes() -> list[str]:
    """The languages that the model knows, by ISO 639."""
    return sorted(_identifier().labels)


def scores(texts: Sequence[str]) -> NDArray[np.float32]:
    """Logarithms of the probabilities that ``rank`` gives; columns are those of :func:`classes`."""
    names = classes()
    found = (dict(_identifier().rank(text)) for text in texts)
    probabilities = np.array([[each[name] for name in names] for each in found])
    return np.asarray(np.log(np.maximum(probabilities, LEAST)), dtype=np.float32)
