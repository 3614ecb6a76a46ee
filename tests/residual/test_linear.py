"""The linear map that is added to the logits."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from aftermax._residual import linear
from aftermax._residual.linear import PENALTIES, _Regressions, out_of_fold_linear
from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def tilted(n_samples, seed=1):
    """Samples whose log-odds are a linear map of the logits, but not the logits."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_samples, 4))
    odds = logits + logits @ np.random.default_rng(7).normal(size=(4, 4))
    return logits, (odds + rng.gumbel(size=odds.shape)).argmax(axis=1), odds


def regressions(projected, codes, logits, n_folds=5):
    return _Regressions(projected, codes, np.ones(len(codes)), logits, np.arange(len(codes)) % n_folds)


def test_it_finds_the_map_that_made_the_labels():
    logits, codes, odds = tilted(6000)
    fitted, _ = out_of_fold_linear(logits / 3, Samples(logits, codes, np.ones(6000)), logits)
    found = regressions(logits / 3, codes, logits)
    for penalty in PENALTIES:
        found.solve(penalty)
    scores = found.slopes[-1] * logits + found.biases[:, -1] + logits / 3 @ found.coefficients
    assert np.abs(log_softmax(scores, axis=1) - log_softmax(odds, axis=1)).mean() < 0.15
    assert np.mean((scores.argmax(axis=1)) == odds.argmax(axis=1)) > 0.95
    assert fitted.coefficients.shape == (4, 4)


def test_without_logits_and_with_free_biases_it_is_plain_logistic_regression(monkeypatch):
    monkeypatch.setattr(linear, "BIAS_PENALTY", 0.0)
    logits, codes = make_samples(n_samples=500, n_classes=3)
    ours = regressions(logits, codes, np.zeros_like(logits))
    for penalty in (1e-1, 1e-2, 1e-3):
        for _ in range(10):
            ours.solve(penalty)
    for fold in range(6):  # the last one is on all samples
        some = np.arange(500) % 5 != fold
        theirs = LogisticRegression(C=1 / (some.sum() * 1e-3), tol=1e-8, max_iter=1000).fit(logits[some], codes[some])
        scores = logits @ ours.maps[:, fold].T + ours.biases[:, fold]
        np.testing.assert_allclose(np.exp(log_softmax(scores, axis=1)), theirs.predict_proba(logits), atol=0.02)


def test_held_out_scores_and_losses_are_those_of_the_regression_without_the_fold():
    logits, codes, _ = tilted(200)
    found = regressions(logits, codes, logits)
    found.solve(1e-2)
    scores, loss = found.held_out()
    total = 0.0
    for sample, fold in enumerate(np.arange(200) % 5):
        np.testing.assert_allclose(scores[sample], found.maps[:, fold] @ logits[sample], atol=1e-5)
        stacked = found.slopes[fold] * logits[sample] + found.biases[:, fold] + scores[sample]
        total -= log_softmax(stacked)[codes[sample]]
    assert loss == pytest.approx(total, rel=1e-5)


def test_where_softmax_is_right_next_to_nothing_is_added():
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(2000, 4))
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fitted, out_of_fold = out_of_fold_linear(logits / 4, Samples(logits, codes, np.ones(2000)), logits)
    assert np.abs(out_of_fold).mean() < 0.15
    assert np.abs(logits / 4 @ fitted.coefficients).mean() < 0.15


def test_out_of_fold_scores_hardly_depend_on_the_samples_own_label():
    """All regressions are solved side by side, to a tolerance; the label has no influence but through that."""
    logits, codes, _ = tilted(100)
    folds = np.arange(100) % 5
    own = []
    for label in (codes[7], (codes[7] + 1) % 4):
        changed = codes.copy()
        changed[7] = label
        found = _Regressions(logits, changed, np.ones(100), logits, folds)
        for _ in range(5):
            found.solve(1e-2)
        own.append(found.held_out()[0])
    np.testing.assert_allclose(own[0][folds == 2], own[1][folds == 2], atol=0.02)
    assert np.abs(own[0][folds != 2] - own[1][folds != 2]).max() > 0.05


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
