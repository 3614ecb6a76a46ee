"""The linear map that is added to the logits."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from aftermax._residual import linear
from aftermax._residual.linear import PENALTIES, _Regression, out_of_fold_linear
from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def tilted(n_samples, seed=1):
    """Samples whose log-odds are a linear map of the logits, but not the logits."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_samples, 4))
    odds = logits + logits @ np.random.default_rng(7).normal(size=(4, 4))
    return logits, (odds + rng.gumbel(size=odds.shape)).argmax(axis=1), odds


def test_it_finds_the_map_that_made_the_labels():
    logits, codes, odds = tilted(6000)
    fitted, _ = out_of_fold_linear(logits / 3, Samples(logits, codes, np.ones(6000)), logits)
    regression = _Regression(logits / 3, codes, np.ones(6000), logits)
    regression.solve(1e-5)
    scores = regression.values[0] * logits + regression.values[1:5] + logits / 3 @ regression.coefficients
    assert np.abs(log_softmax(scores, axis=1) - log_softmax(odds, axis=1)).mean() < 0.15
    assert np.mean((scores.argmax(axis=1)) == odds.argmax(axis=1)) > 0.95
    assert fitted.coefficients.shape == (4, 4)


def test_without_logits_and_with_free_biases_it_is_plain_logistic_regression(monkeypatch):
    monkeypatch.setattr(linear, "BIAS_PENALTY", 0.0)
    logits, codes = make_samples(n_samples=500, n_classes=3)
    ours = _Regression(logits, codes, np.ones(500), np.zeros_like(logits))
    for penalty in (1e-1, 1e-2, 1e-3):
        for _ in range(10):
            ours.solve(penalty)
    theirs = LogisticRegression(C=1 / (500 * 1e-3), tol=1e-8, max_iter=1000).fit(logits, codes)
    scores = logits @ ours.coefficients + ours.values[1:4]
    np.testing.assert_allclose(np.exp(log_softmax(scores, axis=1)), theirs.predict_proba(logits), atol=0.02)


def test_where_softmax_is_right_next_to_nothing_is_added():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(2000, 4))
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fitted, out_of_fold = out_of_fold_linear(logits / 4, Samples(logits, codes, np.ones(2000)), logits)
    assert np.abs(out_of_fold).mean() < 0.15
    assert np.abs(logits / 4 @ fitted.coefficients).mean() < 0.15


def test_out_of_fold_scores_are_those_of_a_fit_without_the_sample():
    logits, codes, _ = tilted(100)
    samples = Samples(logits, codes, np.ones(100))
    before, folds = out_of_fold_linear(logits, samples, logits)[1], samples.inner_folds()
    changed = codes.copy()
    changed[7] = (codes[7] + 1) % 4
    path = _Regression(*(values[folds != folds[7]] for values in (logits, changed, np.ones(100), logits)))
    for penalty in PENALTIES:
        path.solve(penalty)
        if np.allclose(before[7], logits[7] @ path.coefficients, atol=1e-12):
            break
    else:
        pytest.fail("no fit without the sample's fold gives the sample's out-of-fold scores")


def test_of_many_samples_some_are_fitted_on_and_all_are_scored(monkeypatch):
    monkeypatch.setattr(linear, "MAX_SAMPLES", 100)
    logits, codes, _ = tilted(350)
    fitted, out_of_fold = out_of_fold_linear(logits, Samples(logits, codes, np.ones(350)), logits)
    assert out_of_fold.shape == (350, 4)
    others = np.arange(350) % 4 != 0
    np.testing.assert_allclose(out_of_fold[others], logits[others] @ fitted.coefficients)


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_samples_add_nothing_that_is_not_finite(n_samples):
    logits, codes, _ = tilted(n_samples)
    fitted, out_of_fold = out_of_fold_linear(logits, Samples(logits, codes, np.ones(n_samples)), logits)
    assert np.isfinite(fitted.coefficients).all()
    assert np.isfinite(out_of_fold).all()
