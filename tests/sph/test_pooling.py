"""Weights and the pooling rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aftermax import SPHClassifier
from aftermax.sph import _kernels as kernels
from aftermax.sph._pooling import pooled_scores, pooling_weights
from helpers.reference import Reference, Settings
from helpers.samples import make_samples


def test_weights_are_separations_divided_by_their_sum():
    np.testing.assert_allclose(pooling_weights(np.array([[3.0, 1.0], [2.0, 2.0]])), [[0.75, 0.25], [0.5, 0.5]])


def test_power_zero_makes_the_kept_weights_equal():
    weights = pooling_weights(np.array([[3.0, 1.0, 0.2], [0.0, 0.0, 0.0], [9.0, 1.0, 2.0]]), weight_power=0.0)
    np.testing.assert_allclose(weights, np.full((3, 3), 1 / 3))
    cut = pooling_weights(np.array([[3.0, 1.0, 0.2]] * 3), weight_power=0.0, min_separation=1.0)
    np.testing.assert_allclose(cut, [[0.5, 0.5, 0.0]] * 3)


@pytest.mark.parametrize("row", [[0.1, 0.2], [0.0, 0.0], [np.nan, np.nan]])
def test_a_row_with_nothing_kept_is_all_zero(row):
    np.testing.assert_array_equal(pooling_weights(np.array([row]), min_separation=0.5), [[0.0, 0.0]])


@given(st.floats(0.0, 1e6))
def test_no_power_overflows(power):
    weights = pooling_weights(np.array([[1e9, 1e-9], [1e-9, 2e-9]]), weight_power=power)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 2.5])
def test_scores_are_those_of_the_reference(power):
    logits, labels = make_samples(n_samples=100, n_classes=5)
    settings = Settings(distance_power=power, min_separation=1.0)
    head = SPHClassifier(distance_power=power, min_separation=1.0).fit(logits, labels)
    reference = Reference(logits.tolist(), labels.tolist(), 5, settings)
    expected = [reference.pooled_scores(row) for row in logits.tolist()]
    np.testing.assert_allclose(pooled_scores(logits, head.fitted_head_.rule), expected, rtol=1e-9)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 2.5])
@pytest.mark.parametrize("veto_distance", [np.inf, 2.5])
def test_dropping_classes_early_never_changes_the_prediction(power, veto_distance):
    logits, labels = make_samples(n_samples=600, n_classes=40, noise=2.0)
    head = SPHClassifier(distance_power=power, veto_distance=veto_distance, veto_count=3).fit(logits, labels)
    scores = pooled_scores(logits, head.fitted_head_.rule)
    if np.isfinite(veto_distance):
        flags = (head.response_array_.distances(logits) >= veto_distance).sum(axis=2)
        scores = np.where(flags >= 3, np.inf, scores)
    expected = np.where(np.isfinite(scores).any(axis=1), scores.argmin(axis=1), -1)
    for guess in (0, 39, 17):
        np.testing.assert_array_equal([kernels.pool(row, guess, head.fitted_head_.rule) for row in logits], expected)


def test_classes_are_dropped_early():
    """Of 40 classes, nearly all are out of the race after a few of their 40 units."""
    logits, labels = make_samples(n_samples=600, n_classes=40, home=4.0)
    rule = SPHClassifier().fit(logits, labels).fitted_head_.rule
    best = pooled_scores(logits, rule).min(axis=1)
    short = rule._replace(kept=np.full(40, 5))
    beyond = [
        kernels.is_beyond(row, i, short, bound) for row, bound in zip(logits, best, strict=True) for i in range(40)
    ]
    assert np.mean(beyond) > 0.9
