"""The ways from embeddings of texts and of prompts to logits, one column for each class."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from experiments.benchmark.text_trials import SLOPE
from experiments.prompts.embeddings import Floats

NAME, ONE_PROMPT = 0, 1  # places in PROMPTS


class Way(NamedTuple):
    """How texts and prompts become scores, and what these are multiplied by.

    ``full_length``: the embeddings are not normalised; neither are those that a head has as features.
    ``random_state``: of AutoHead.
    """

    title: str
    scores: Callable[[Floats, Floats], Floats]
    scale: float = SLOPE
    full_length: bool = False
    random_state: int = 0

    def logits(self, texts: Floats, prompts: Floats) -> Floats:
        """From embeddings of texts and of prompts, whose shape is (prompts, classes, columns)."""
        return self.scale * self.scores(texts, prompts if self.full_length else unit(prompts))


def unit(vectors: Floats) -> Floats:
    """The same directions at length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def with_the_name(texts: Floats, prompts: Floats) -> Floats:
    return np.asarray(texts @ prompts[NAME].T)


def with_one_prompt(texts: Floats, prompts: Floats) -> Floats:
    return np.asarray(texts @ prompts[ONE_PROMPT].T)


def with_the_mean(texts: Floats, prompts: Floats) -> Floats:
    """Cosines with the mean embedding of a class's prompts."""
    return np.asarray(texts @ unit(prompts.mean(axis=0)).T)


def mean_score(texts: Floats, prompts: Floats) -> Floats:
    """Unlike :func:`with_the_mean`, a class whose prompts are far apart has smaller scores."""
    return np.asarray(texts @ prompts.mean(axis=0).T)


def largest_score(texts: Floats, prompts: Floats) -> Floats:
    return np.asarray(np.max([texts @ prompt.T for prompt in prompts], axis=0))


WAYS: dict[str, Way] = {
    "names": Way("class names, scale 20", with_the_name),
    "other_folds": Way("the same, `random_state=1`", with_the_name, random_state=1),
    "scale_1": Way("class names, scale 1", with_the_name, scale=1.0),
    "scale_100": Way("class names, scale 100", with_the_name, scale=100.0),
    "full_length": Way("class names, not normalised, scale 1", with_the_name, scale=1.0, full_length=True),
    "one_prompt": Way("one prompt", with_one_prompt),
    "mean_embedding": Way("five prompts, mean embedding", with_the_mean),
    "mean_score": Way("five prompts, mean score", mean_score),
    "largest_score": Way("five prompts, largest score", largest_score),
}
BASE = "names"  # what all others are compared with
