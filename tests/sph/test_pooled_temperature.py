"""From scores to probabilities."""

import numpy as np
import pytest

from aftermax._utils.softmax import settle_argmax
from aftermax.sph.pooled_temperature import fit_temperature, score_probabilities

INF = np.inf


def log_loss(scores, predictions, codes, temperature):
    return -np.log(score_probabilities(scores, predictions, temperature)[np.arange(len(codes)), codes]).mean()


def draw(n_samples=500, n_classes=4, seed=0):
    """Scores whose true temperature is 1: labels are drawn from the probabilities they stand for."""
    rng = np.random.default_rng(seed)
    scores = rng.exponential(3.0, size=(n_samples, n_classes))
    predictions = scores.argmin(axis=1)
    chances = score_probabilities(scores, predictions, 1.0)
    codes = (chances.cumsum(axis=1) < rng.random((n_samples, 1))).sum(axis=1)
    return scores, predictions, codes


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_temperature_that_made_the_labels_is_found(scale):
    scores, predictions, codes = draw(n_samples=20_000)
    assert fit_temperature(scale * scores, predictions, codes) == pytest.approx(scale, rel=0.05)


def test_it_has_the_least_log_loss():
    scores, predictions, codes = draw()
    best = fit_temperature(scores, predictions, codes)
    least = log_loss(scores, predictions, codes, best)
    for factor in (0.8, 0.95, 1.05, 1.25):
        assert log_loss(scores, predictions, codes, factor * best) > least - 1e-4


def test_samples_whose_true_class_has_no_score_say_nothing():
    scores, predictions, codes = draw()
    more = np.vstack([scores, [[0.0, 1.0, 2.0, INF]] * 50])
    expected = fit_temperature(scores, predictions, codes)
    got = fit_temperature(more, np.append(predictions, [0] * 50), np.append(codes, [3] * 50))
    assert got == pytest.approx(expected, rel=1e-6)


def test_a_class_without_a_score_has_no_probability():
    chances = score_probabilities(np.array([[1.0, INF, 2.0]]), np.array([0]), 1.0)
    assert chances[0, 1] == 0.0
    np.testing.assert_allclose(chances.sum(), 1.0)


def test_no_class_is_likelier_than_the_prediction():
    chances = score_probabilities(np.array([[1.0, 5.0, 9.0]]), np.array([1]), 2.0)
    assert chances[0, 0] == chances[0, 1] > chances[0, 2]


@pytest.mark.parametrize(
    ("scores", "codes"),
    [
        (np.empty((0, 3)), np.empty(0, dtype=int)),
        (np.zeros((5, 3)), np.zeros(5, dtype=int)),
        (np.array([[0.0, INF, INF]] * 5), np.zeros(5, dtype=int)),
        (np.array([[0.0, 1.0, INF]] * 5), np.full(5, 2)),
    ],
)
def test_with_nothing_to_learn_from_the_temperature_is_one(scores, codes):
    assert fit_temperature(scores, np.zeros(len(codes), dtype=int), codes) == 1.0


def test_scores_that_are_always_wrong_make_for_even_odds():
    scores = np.array([[0.0, 1.0, 2.0]] * 50)
    temperature = fit_temperature(scores, np.zeros(50, dtype=int), np.full(50, 2))
    chances = score_probabilities(scores, np.zeros(50, dtype=int), temperature)
    np.testing.assert_allclose(chances, 1 / 3, atol=1e-3)


def test_scores_beyond_all_measure_still_give_probabilities():
    for scores in ([[INF, INF]], [[1e308, 1e308]], [[1e-300, 1e308]]):
        chances = score_probabilities(np.array(scores), np.array([0]), 1e-9)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        assert chances[0].argmax() == 0


def test_the_prediction_is_lifted_by_the_least_step_only_where_it_ties():
    chances = np.array([[0.5, 0.5], [0.5, 0.5], [0.3, 0.7]])
    settle_argmax(chances, np.array([0, 1, 1]))
    np.testing.assert_array_equal(chances, [[0.5, 0.5], [0.5, np.nextafter(0.5, 1)], [0.3, 0.7]])
