"""The methods: each predicts the test samples, given a model's responses to the validation and the test samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, SPHClassifierCV
from aftermax.data import Scores
from aftermax.sph.grid import CERTAINTIES, DEFAULTS
from aftermax.sph.pooled_temperature import fit_temperature
from experiments.benchmark.measure import choice_of
from experiments.paper.best_on_test import best_on_test

# For the honest choice, for time: 864 of the 107,640 combinations of the default grid.
GRID: dict[str, list[Any]] = {
    "certainty": list(CERTAINTIES),
    "min_separation": [0.0, 1.0, 2.0],
    "weight_power": [0.0, 1.0],
    "veto_distance": [np.inf, 3.0],
    "veto_count": [1],
    "min_gain": [-0.05, 0.0, 0.05],
    "distance_power": [1.0, 2.0, 4.0],
}

Predictions = tuple[NDArray[np.int64], str]  # the predicted classes, and what was chosen, in short


def argmax(scores: Scores) -> Predictions:
    """The class with the largest response: the model as it is."""
    return scores.test_logits.argmax(axis=1), ""


def sph_best_on_test(scores: Scores) -> Predictions:
    """The paper's protocol: the hyperparameters with the best score on the test samples, by their labels.

    All combinations of the default grid are tried.
    """
    predictions, hyperparameters = best_on_test(*scores, n_jobs=1)
    changed = {name: value for name, value in hyperparameters.items() if value != DEFAULTS[name]}
    return predictions, json.dumps(changed)


def sph_chosen(scores: Scores) -> Predictions:
    """Hyperparameters chosen on the validation samples alone, and argmax kept where no gain can be shown on them."""
    return _fitted(SPHClassifierCV(GRID, n_jobs=1, progress=False), scores)


def sph_chosen_scaled(scores: Scores) -> Predictions:
    """The same after temperature scaling (Guo et al., 2017): SPH's gate takes the responses for logits.

    The temperature is fitted on the validation samples. It does not change the argmax.
    """
    distances = -scores.val_logits.astype(np.float64)
    temperature = fit_temperature(distances, distances.argmin(axis=1), scores.val_labels)
    scaled = scores._replace(val_logits=scores.val_logits / temperature, test_logits=scores.test_logits / temperature)
    predictions, chosen = sph_chosen(scaled)
    return predictions, f"temperature {temperature:.3g}; {chosen}"


def auto(scores: Scores) -> Predictions:
    """AutoHead with five folds, for time: its default with fewer than 1,000 samples are ten."""
    return _fitted(AutoHead(cv=5, n_jobs=1, progress=False), scores)


def full_d(scores: Scores) -> Predictions:
    """The paper's primitive classifier by the full response array D: Gaussian naive Bayes on all K responses."""
    return _fitted(GaussianNB(), scores)


def _fitted(head: Any, scores: Scores) -> Predictions:
    head.fit(scores.val_logits, scores.val_labels)
    return head.predict(scores.test_logits), choice_of(head)


METHODS: dict[str, Callable[[Scores], Predictions]] = {
    method.__name__: method for method in (argmax, sph_best_on_test, sph_chosen, sph_chosen_scaled, auto, full_d)
}
USE_TEST_LABELS = {"sph_best_on_test"}
