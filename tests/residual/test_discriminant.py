"""The linear discriminant of features against scikit-learn's."""

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from aftermax._residual.discriminant import RIDGES, _fit_axes, out_of_fold_discriminant
from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def test_it_is_linear_discriminant_analysis():
    features, codes = make_samples(n_samples=4000, n_classes=3)
    ours = _fit_axes(features, codes, np.ones(4000), 3).correction(1e-6).scores(features)
    theirs = LinearDiscriminantAnalysis().fit(features, codes).predict_proba(features)
    np.testing.assert_allclose(np.exp(ours), theirs, atol=0.01)


def test_many_useless_features_get_a_strong_ridge():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=90)
    features = np.column_stack([3 * np.eye(3)[codes] + rng.normal(size=(90, 3)), rng.normal(size=(90, 60))])
    samples = Samples(np.zeros((90, 3)), codes, np.ones(90))
    fitted, scores = out_of_fold_discriminant(features, samples, samples.logits)
    weakest = _fit_axes(features, codes, np.ones(90), 3).correction(RIDGES[-1])
    assert np.abs(fitted.factors).max() < np.abs(weakest.factors).max() / 3
    assert np.mean(scores.argmax(axis=1) == codes) > 0.8


def test_out_of_fold_scores_do_not_depend_on_the_samples_own_label():
    features, codes = make_samples(n_samples=100, n_classes=3)
    samples = Samples(np.zeros((100, 3)), codes, np.ones(100))
    folds = samples._replace(logits=features).inner_folds()
    samples = samples._replace(given_keys=samples._replace(logits=features).keys)
    changed = codes.copy()
    changed[7] = (codes[7] + 1) % 3
    axes = [
        _fit_axes(features[folds != folds[7]], one[folds != folds[7]], np.ones((folds != folds[7]).sum()), 3)
        for one in (codes, changed)
    ]
    np.testing.assert_array_equal(axes[0].means, axes[1].means)
    _, scores = out_of_fold_discriminant(features, samples, samples.logits)
    held_out = [axes[0].correction(ridge).scores(features[7:8])[0] for ridge in RIDGES]
    assert any(np.allclose(scores[7], one, atol=1e-9) for one in held_out)


def test_a_class_without_samples_and_a_single_fold_are_no_error():
    features, codes = make_samples(n_samples=60, n_classes=4)
    codes = np.where(codes == 3, 0, codes)
    samples = Samples(np.zeros((60, 4)), codes, np.ones(60), given_keys=np.zeros(60, dtype=np.uint64))
    fitted, scores = out_of_fold_discriminant(features, samples, samples.logits)
    assert np.isfinite(scores).all()
    assert np.isfinite(fitted.scores(features)).all()
