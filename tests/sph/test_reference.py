"""SPHClassifier against the plain, slow implementation in reference.py, on random settings of every kind."""

from collections import Counter

import numpy as np
import pytest

from aftermax import SPHClassifier
from helpers.reference import Reference, Settings
from helpers.reference_samples import draw_rows

SEEDS = range(400)
SEEN = Counter()


def draw_settings(rng):
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


@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_with_the_reference_on_every_answer_route_weight_and_trust(seed):
    rng = np.random.default_rng(seed)
    logits, labels, test, size = draw_rows(rng)
    settings = draw_settings(rng)
    wide = logits.astype(np.float64).tolist()
    expected = Reference(wide, labels.tolist(), size, settings)
    head = SPHClassifier(**vars(settings), classes=np.arange(size)).fit(logits, labels)

    for ours, theirs in (
        (head.response_array_.center, expected.center),
        (head.response_array_.left, expected.left),
        (head.response_array_.right, expected.right),
        (head.separation_, expected.separation),
        (head.weights_, expected.weights),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(head.trusted_, expected.trusted)

    rows = np.concatenate([logits, test])
    answers, routes = zip(*(expected.predict(row) for row in rows.astype(np.float64).tolist()), strict=True)
    np.testing.assert_array_equal(head.predict(rows), answers)
    np.testing.assert_array_equal(head.route(rows), routes)
    note_what_was_seen(logits, labels, size, settings, head, routes)


def note_what_was_seen(logits, labels, size, settings, head, routes):
    counts = np.bincount(labels, minlength=size)
    SEEN["missing class"] += bool((counts == 0).any())
    SEEN["one-row class"] += bool((counts == 1).any())
    SEEN["constant unit"] += bool((np.ptp(logits, axis=0) == 0).any())
    SEEN["nothing pooled"] += "softmax" in routes and len(set(routes)) == 1
    SEEN["all to pooling"] += "softmax" not in routes
    SEEN["all pooled"] += set(routes) == {"pooled"}
    SEEN["some pooled"] += "pooled" in routes
    SEEN["some reverted"] += "reverted" in routes
    SEEN["no weights"] += bool((head.weights_.sum(axis=1) == 0).any())
    SEEN[f"{logits.dtype}"] += 1
    SEEN[f"veto {np.isfinite(settings.veto_distance)}"] += 1
    SEEN[f"weight power {settings.weight_power}"] += 1
    SEEN[f"distance power {settings.distance_power}"] += 1
    SEEN[f"center {settings.center}"] += 1
    SEEN[f"size {size}"] += 1


def test_the_random_settings_cover_every_kind():
    if sum(SEEN[f"size {size}"] for size in range(2, 31)) < len(SEEDS):
        pytest.skip("needs the whole of the test above, in the same process")
    thin = {kind: count for kind, count in SEEN.items() if count < (1 if kind.startswith("size") else 10)}
    assert not thin
    assert len(SEEN) == 9 + 2 + 2 + 4 + 4 + 2 + 29
