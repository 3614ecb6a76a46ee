"""Batch calibration: biases from unlabelled samples."""

import numpy as np
import pandas as pd
import pytest

import aftermax


def world(shares, n_samples=4000, seed=0):
    """A calibrated model whose logits are spoilt by a bias for each class."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(shares), size=n_samples, p=shares)
    logits = rng.normal(size=(n_samples, len(shares)))
    logits[np.arange(n_samples), codes] += 2.0
    return 2.0 * logits + np.linspace(-2.0, 2.0, len(shares)), codes


def errors(logits, codes):
    return float((logits.argmax(axis=1) != codes).mean())


def test_biases_are_removed_where_classes_are_equally_frequent():
    logits, codes = world([0.2] * 5)
    corrected = logits + aftermax.batch_calibration(logits)
    assert errors(corrected, codes) < 0.8 * errors(logits, codes)


def test_true_shares_help_where_they_are_unequal():
    shares = [0.6, 0.2, 0.1, 0.05, 0.05]
    logits, codes = world(shares)
    plain, told = (errors(logits + aftermax.batch_calibration(logits, prior), codes) for prior in (None, shares))
    assert told < plain


def test_shares_by_name():
    logits, _ = world([0.5, 0.3, 0.2])
    frame = pd.DataFrame(logits, columns=["cat", "dog", "eel"])
    by_name = aftermax.batch_calibration(frame, {"cat": 0.5, "dog": 0.3, "eel": 0.2})
    np.testing.assert_array_equal(by_name, aftermax.batch_calibration(logits, [0.5, 0.3, 0.2]))


def test_mean_probabilities_are_equal_to_first_order():
    logits = np.log([[0.9, 0.1], [0.7, 0.3]])
    np.testing.assert_allclose(aftermax.batch_calibration(logits), np.log([0.2 / 0.8, 1.0]) - np.log(0.25) / 2)


@pytest.mark.parametrize(
    ("logits", "prior", "message"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], None, "NaN at row 0, column 1"),
        (np.empty((0, 3)), None, "no samples"),
        ([[1.0, 2.0], [0.0, 1.0]], [0.5, 0.2], "class_prior sums to 0.7"),
        ([[1.0, 2.0], [0.0, 1.0]], {"cat": 1.0}, "class_prior names 'cat'"),
    ],
)
def test_bad_input(logits, prior, message):
    with pytest.raises(ValueError, match=message):
        aftermax.batch_calibration(logits, prior)
