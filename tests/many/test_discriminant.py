"""The linear discriminant with a shrunk covariance: against scikit-learn's, and its moments."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from aftermax._many.discriminant import Moments, Settings, fit_discriminant, out_of_fold

N_CLASSES, DIMENSIONS = 6, 5


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    codes = np.arange(600) % N_CLASSES
    centers = 2 * rng.normal(size=(N_CLASSES, DIMENSIONS))
    projected = (
        centers[codes] + rng.normal(size=(600, DIMENSIONS)) @ rng.normal(size=(DIMENSIONS, DIMENSIONS))
    ).astype(np.float32)
    return projected, codes


NONE = np.zeros((0, N_CLASSES, DIMENSIONS), np.float32)


def test_with_little_shrinkage_it_is_scikit_learns(samples):
    projected, codes = samples
    moments = Moments.of(projected, codes, np.ones(600), N_CLASSES)
    fitted = fit_discriminant(moments, NONE, Settings(DIMENSIONS, 1e-6, 1e-6))
    peer = LinearDiscriminantAnalysis(solver="lsqr", priors=np.full(N_CLASSES, 1 / N_CLASSES)).fit(projected, codes)
    scores, theirs = fitted.scores(projected), peer.decision_function(projected)
    # scikit-learn divides the covariance by n, not by n - K.
    ours = (scores - scores.mean(axis=1, keepdims=True)) * 600 / (600 - N_CLASSES)
    np.testing.assert_allclose(ours, theirs - theirs.mean(axis=1, keepdims=True), rtol=0.02, atol=0.05)


def test_moments_of_parts_add_up(samples):
    projected, codes = samples
    whole = Moments.of(projected, codes, np.ones(600), N_CLASSES)
    first, rest = (
        Moments.of(projected[part], codes[part], np.ones(300), N_CLASSES) for part in (slice(300), slice(300, 600))
    )
    for one, other in zip(whole.without(first), rest, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-2)


def test_out_of_fold_scores_are_those_of_fits_without_the_fold(samples):
    projected, codes = samples
    folds, settings = np.arange(600) % 3, Settings(4, 0.1, 1.0)
    found = out_of_fold(projected, folds, codes, np.ones(600), NONE, np.arange(600), N_CLASSES)
    scores = found.scores(settings)
    for fold in range(3):
        train = folds != fold
        moments = Moments.of(projected[train], codes[train], np.ones(train.sum()), N_CLASSES)
        alone = fit_discriminant(moments, NONE, settings).scores(projected[folds == fold])
        np.testing.assert_allclose(scores[folds == fold], alone, rtol=1e-3, atol=1e-2)


def test_the_mean_of_a_class_without_labels_is_a_multiple_of_its_pattern():
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(5), 40)  # class 5 has no labels
    patterns = np.eye(N_CLASSES, DIMENSIONS + 1, dtype=np.float32)[None]
    projected = (3 * patterns[0][codes] + 0.1 * rng.normal(size=(200, DIMENSIONS + 1))).astype(np.float32)
    means = Moments.of(projected, codes, np.ones(200), N_CLASSES).means(patterns, DIMENSIONS + 1, 1.0)
    np.testing.assert_allclose(means[5], 3 * patterns[0][5], atol=0.05)
