"""Softmax, its certainty and its log loss."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from aftermax._utils.softmax import divided, log_losses, settle_argmax, softmax, softmax_certainty
from helpers.samples import make_samples

LOGITS, LABELS = make_samples(n_samples=100)


def test_the_certainty_is_the_largest_probability():
    np.testing.assert_allclose(softmax_certainty(LOGITS), softmax(LOGITS).max(axis=1), rtol=1e-14)


def test_the_log_loss_is_scikit_learns_also_of_large_logits():
    assert np.isclose(log_losses(LOGITS, LABELS).mean(), log_loss(LABELS, softmax(LOGITS)))
    np.testing.assert_allclose(log_losses(LOGITS + 1e4, LABELS), log_losses(LOGITS, LABELS), atol=1e-10)


def test_a_tie_is_settled_for_the_predicted_class():
    probabilities = np.array([[0.5, 0.5], [0.7, 0.3]])
    settle_argmax(probabilities, np.array([1, 0]))
    assert probabilities.argmax(axis=1).tolist() == [1, 0]
    np.testing.assert_allclose(probabilities, [[0.5, 0.5], [0.7, 0.3]])


def test_probabilities_that_cannot_be_computed_are_an_error_and_never_nan():
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="too large to compute probabilities"):
        softmax(np.array([[np.inf, np.inf]]))


def test_any_positive_temperature_gives_finite_probabilities():
    logits = np.array([[1e100, -1e100, 0.0], [1.0, 1.0, 0.5]])
    for temperature in (5e-324, 1e-200, 1e300):
        assert np.isfinite(softmax(divided(logits, temperature))).all()
    np.testing.assert_array_equal(divided(logits, 2.0), logits / 2.0)
