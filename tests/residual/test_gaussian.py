"""The Gaussian correction against scikit-learn's discriminant analyses."""

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from aftermax._residual.gaussian import fit_gaussian, out_of_fold_gaussian
from aftermax._residual.samples import Samples
from helpers.samples import make_samples


def test_with_many_samples_the_gaussian_is_quadratic_discriminant_analysis():
    logits, codes = make_samples(n_samples=6000, n_classes=3)
    ours = fit_gaussian(logits, codes, np.ones(6000), 3).scores(logits)
    theirs = QuadraticDiscriminantAnalysis().fit(logits, codes).predict_proba(logits)
    np.testing.assert_allclose(np.exp(ours), theirs, atol=0.01)


def test_with_many_classes_all_share_a_covariance():
    logits, codes = make_samples(n_samples=3000, n_classes=60, noise=2.0)
    fitted = fit_gaussian(logits, codes, np.ones(3000), 60)
    assert len(fitted.factors) == 1
    ours = fitted.scores(logits).argmax(axis=1)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(logits, codes).predict(logits)
    assert np.mean(ours == theirs) > 0.95


def test_a_class_without_samples_is_unlikely_but_possible():
    logits, codes = make_samples(n_samples=200, n_classes=4)
    codes = np.where(codes == 3, 0, codes)
    scores = fit_gaussian(logits, codes, np.ones(200), 4).scores(logits)
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0)
    np.testing.assert_allclose(scores[:, 3], np.log(1 / 204))


def test_out_of_fold_scores_do_not_depend_on_the_samples_own_label():
    logits, codes = make_samples(n_samples=100, n_classes=3)
    samples = Samples(logits, codes, np.ones(100))
    before = out_of_fold_gaussian(logits, samples)[1]
    changed = codes.copy()
    changed[7] = (codes[7] + 1) % 3
    after = out_of_fold_gaussian(logits, samples._replace(codes=changed))[1]
    same_fold = samples.inner_folds() == samples.inner_folds()[7]
    np.testing.assert_array_equal(before[same_fold], after[same_fold])
    assert (before[~same_fold] != after[~same_fold]).any(axis=1).all()


def test_samples_that_belong_together_are_scored_without_each_other():
    logits, codes = make_samples(n_samples=100, n_classes=3)
    keys = np.repeat(np.arange(25, dtype=np.uint64), 4)
    samples = Samples(logits, codes, np.ones(100), given_keys=keys)
    before = out_of_fold_gaussian(logits, samples)[1]
    changed = codes.copy()
    changed[4:8] = (codes[4:8] + 1) % 3
    after = out_of_fold_gaussian(logits, samples._replace(codes=changed))[1]
    np.testing.assert_array_equal(before[4:8], after[4:8])
