"""SPHClassifier against the plain, slow implementation in reference.py, with random hyperparameters of every kind."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from aftermax import SPHClassifier
from helpers.reference import Reference, Settings
from helpers.reference_samples import draw_samples

SEEDS = range(400)


def draw_hyperparameters(rng):
    low, high = np.sort(rng.random(2)) if rng.random() < 0.5 else (0.0, 1.0)
    return Settings(
        certainty=float(rng.choice([0.0, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])),
        window_low=float(low),
        window_high=float(high),
        center=str(rng.choice(["mean", "median"])),
        min_separation=float(rng.choice([0.0, 0.0, 0.5, 1.0, 2.0, 50.0])),
        weight_power=float(rng.choice([0.0, 1.0, 2.0, 2.5])),
        veto_distance=float(rng.choice([np.inf, np.inf, 1.0, 2.0, 3.0, 5.0])),
        veto_count=int(rng.integers(1, 4)),
        min_gain=float(rng.choice([-1.0, -0.1, 0.0, 0.05, 0.1])),
        distance_power=float(rng.choice([0.0, 1.0, 2.0, 2.0, 2.5])),
    )


@cache
def case(seed):
    """Random validation and test samples and hyperparameters, the fitted estimator, and what the reference says."""
    rng = np.random.default_rng(seed)
    logits, labels, test, size = draw_samples(rng)
    hyperparameters = draw_hyperparameters(rng)
    expected = Reference(logits.astype(np.float64).tolist(), labels.tolist(), size, hyperparameters)
    head = SPHClassifier(**vars(hyperparameters), classes=np.arange(size)).fit(logits, labels)
    samples = np.concatenate([logits, test])
    predictions, routes = zip(*(expected.predict(row) for row in samples.astype(np.float64).tolist()), strict=True)
    return logits, labels, hyperparameters, head, expected, samples, predictions, routes


@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_with_the_reference_on_every_prediction_route_weight_and_trust(seed):
    *_, head, expected, samples, predictions, routes = case(seed)
    for ours, theirs in (
        (head.response_array_.center, expected.center),
        (head.response_array_.left, expected.left),
        (head.response_array_.right, expected.right),
        (head.separation_, expected.separation),
        (head.weights_, expected.weights),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(head.trusted_, expected.trusted)
    np.testing.assert_array_equal(head.predict(samples), predictions)
    np.testing.assert_array_equal(head.route(samples), routes)


def kinds_of(seed):
    """What is special about a random case."""
    logits, labels, hyperparameters, head, _, _, _, routes = case(seed)
    size = logits.shape[1]
    counts = np.bincount(labels, minlength=size)
    special = {
        "missing class": (counts == 0).any(),
        "one-sample class": (counts == 1).any(),
        "constant unit": (np.ptp(logits, axis=0) == 0).any(),
        "nothing pooled": set(routes) == {"softmax"},
        "all to pooling": "softmax" not in routes,
        "all pooled": set(routes) == {"pooled"},
        "some pooled": "pooled" in routes,
        "some reverted": "reverted" in routes,
        "no weights": (head.weights_.sum(axis=1) == 0).any(),
    }
    return [
        *(kind for kind, present in special.items() if present),
        str(logits.dtype),
        f"veto {np.isfinite(hyperparameters.veto_distance)}",
        f"weight power {hyperparameters.weight_power}",
        f"distance power {hyperparameters.distance_power}",
        f"center {hyperparameters.center}",
        f"size {size}",
    ]


def test_the_random_cases_cover_every_kind():
    seen = Counter(kind for seed in SEEDS for kind in kinds_of(seed))
    assert len(seen) == 9 + 2 + 2 + 4 + 4 + 2 + 29
    assert not {kind: count for kind, count in seen.items() if count < (1 if kind.startswith("size") else 10)}
