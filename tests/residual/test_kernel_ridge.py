"""RBF kernels, Nystroem centers, and ridge regression with leave-one-out scores."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from aftermax._residual.kernel_ridge import (
    GAMMA,
    HeldOutGroups,
    RidgePath,
    _inverse_square_root,
    choose_centers,
    fit_kernels,
    fit_ridge,
    rbf_kernel,
)
from aftermax._residual.projection import project_logits, typical_margin
from aftermax._residual.rbf_kernels import exp_all
from aftermax._residual.samples import Samples
from aftermax._utils.folds import sample_keys
from helpers.correction_samples import samples_of

ALL = slice(None, None, 1)


def test_each_level_is_the_rbf_kernel_with_three_times_the_gamma():
    projected = np.random.default_rng(0).normal(size=(20, 3))
    squares = np.square(projected[:, None] - projected[None, :8]).sum(axis=2)
    for level, exponent in enumerate((1, 3, 9)):
        expected = np.exp(-GAMMA * exponent * squares)
        np.testing.assert_allclose(rbf_kernel(projected, projected[:8], level), expected, rtol=1e-9)


def test_centers_are_drawn_where_softmax_is_in_doubt():
    logits = np.where(np.arange(4000)[:, None] % 2, [0.0, 0.0], [9.0, 0.0])
    chosen = choose_centers(logits, np.arange(4000, dtype=np.uint64), 0, 600)
    assert len(set(chosen.tolist())) == 600
    assert np.mean(chosen % 2) > 0.8


def test_the_same_samples_are_centers_in_any_order():
    logits = samples_of(n_samples=1500).logits
    shuffled = np.random.default_rng(0).permutation(1500)
    chosen = choose_centers(logits, sample_keys(logits), 7, 600)
    again = choose_centers(logits[shuffled], sample_keys(logits[shuffled]), 7, 600)
    np.testing.assert_array_equal(shuffled[again], chosen)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [1.0, 1e-2, 1e-4])
def test_leave_one_out_scores_are_those_of_a_regression_without_the_sample(weighted, penalty):
    rng = np.random.default_rng(0)
    samples = samples_of(n_samples=40, n_classes=3, weights=rng.uniform(0.2, 2.0, size=40) if weighted else None)
    design = rng.normal(size=(40, 6))
    path = RidgePath(lambda some: design[some], samples)
    ours = path.scorer(ALL)(penalty)
    labels = np.eye(3)[samples.codes]
    for row in range(40):
        others = np.arange(40) != row
        model = Ridge(alpha=penalty * 40).fit(design[others], labels[others], sample_weight=samples.weights[others])
        np.testing.assert_allclose(ours[row], model.predict(design[row : row + 1])[0], atol=1e-8)


def test_with_every_sample_a_center_the_kernel_correction_is_kernel_ridge_regression():
    samples = samples_of(n_samples=50, n_classes=3)
    projected = project_logits(np.inf, samples.logits)([samples.logits])
    near = rbf_kernel(projected, projected, 1)
    design = near @ _inverse_square_root(near)
    path = RidgePath(lambda some: design[some], samples)
    ours = path.scorer(ALL)(1e-2)
    labels = np.eye(3)[samples.codes]
    for row in range(0, 50, 7):
        others = np.flatnonzero(np.arange(50) != row)
        # An offset without a penalty: centre the kernel, as in kernel principal components.
        centred = near - near[:, others].mean(axis=1, keepdims=True)
        centred -= near[others].mean(axis=0) - near[np.ix_(others, others)].mean()
        mean = labels[others].mean(axis=0)
        model = KernelRidge(alpha=1e-2 * 50, kernel="precomputed")
        model.fit(centred[np.ix_(others, others)], labels[others] - mean)
        np.testing.assert_allclose(ours[row], model.predict(centred[[row]][:, others])[0] + mean, atol=1e-5)


def test_the_penalty_is_the_one_with_the_least_leave_one_out_log_loss():
    samples = samples_of(n_samples=400)
    logits = samples.logits / typical_margin(samples.logits)
    noise = np.random.default_rng(0).normal(size=(400, 5))
    nothing = fit_ridge(lambda some: noise[some], samples, logits, ALL)
    assert np.abs(nothing.coefficients).max() < 0.05  # there is nothing to be learned
    design = np.eye(4)[samples.codes] + 0.3 * np.random.default_rng(0).normal(size=(400, 4))
    something = fit_ridge(lambda some: design[some], samples, logits, ALL)
    assert np.mean(something.out_of_fold.argmax(axis=1) == samples.codes) > 0.9


def test_leave_one_out_scores_may_be_of_some_samples_only():
    samples = samples_of(n_samples=5000)
    projected = project_logits(np.inf, samples.logits)([samples.logits])
    logits = samples.logits / typical_margin(samples.logits)
    every = fit_ridge(lambda some: projected[some], samples, logits, ALL)
    third = fit_ridge(lambda some: projected[some], samples, logits, slice(None, None, 3))
    np.testing.assert_array_equal(every.coefficients, third.coefficients)
    np.testing.assert_allclose(every.out_of_fold[::3], third.out_of_fold, rtol=1e-12)


def grouped_samples(n_groups=60, of_each=5):
    """Groups of nearly the same sample: what is learned of one of a group holds for the others, and for no one else."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(n_groups), of_each)
    design = rng.normal(size=(n_groups, 20))[groups] + 0.01 * rng.normal(size=(len(groups), 20))
    logits, codes = rng.normal(size=(len(groups), 3)), rng.integers(3, size=n_groups)[groups]
    keys = rng.integers(2**62, size=n_groups).astype(np.uint64)[groups]
    return Samples(logits, codes, np.ones(len(groups)), given_keys=keys), design


def test_scores_of_groups_are_those_of_a_regression_without_their_fold():
    samples, design = grouped_samples()
    assert samples.grouped
    ours = HeldOutGroups(lambda some: design[some], samples).scorer(slice(None, None, 2))(1e-2)
    labels, folds = np.eye(3)[samples.codes], samples.inner_folds()
    for fold in np.unique(folds):
        others, rows = folds != fold, np.flatnonzero(folds == fold)
        model = Ridge(alpha=1e-2 * others.sum()).fit(design[others], labels[others])
        rows = rows[rows % 2 == 0]
        np.testing.assert_allclose(ours[rows // 2], model.predict(design[rows]), atol=1e-8)


def test_groups_are_not_learned_by_heart():
    samples, design = grouped_samples()
    learned = {
        name: fit_ridge(lambda some: design[some], one, samples.logits, ALL)
        for name, one in (("together", samples), ("alone", samples._replace(given_keys=None)))
    }
    right = {name: np.mean(one.out_of_fold.argmax(axis=1) == samples.codes) for name, one in learned.items()}
    assert right["alone"] > 0.6  # leave-one-out: the others of the group give the sample away
    assert right["together"] < 0.45


def test_the_written_out_exponential_is_numpys():
    values = np.concatenate([-np.geomspace(1e-12, 699, 5_001), [0.0, -1e6]])
    expected = np.exp(np.maximum(values, -700))
    exp_all(values)
    np.testing.assert_allclose(values, expected, rtol=2e-14)


def rings(n_samples):
    """Samples whose classes are rings around each other: the more centers, the better."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-3, 3, size=(n_samples, 2))
    codes = (np.floor(1.2 * np.linalg.norm(points, axis=1)) % 2).astype(np.int64)
    return Samples(np.zeros((n_samples, 2)), codes, np.ones(n_samples)), points / 2


def test_a_kernel_gets_more_centers_where_they_lower_the_log_loss_and_not_where_they_do_not():
    samples, projected = rings(1500)
    grown = fit_kernels(projected, projected[:400], 50, samples, samples.logits, ALL)
    assert sorted(len(one.coefficients) for one, _ in grown) == [50, 50, 400]
    codes = np.random.default_rng(1).integers(2, size=1500)
    in_vain = fit_kernels(projected, projected[:400], 50, samples._replace(codes=codes), samples.logits, ALL)
    assert max(len(one.coefficients) for one, _ in in_vain) <= 100
    fewer = fit_kernels(projected, projected[:70], 50, samples, samples.logits, ALL)
    assert [len(one.coefficients) for one, _ in fewer] == [50, 50, 50]  # 20 more are not worth a fit


def test_centers_that_are_alike_do_no_harm():
    samples, projected = rings(300)
    for correction, scores in fit_kernels(
        projected, np.repeat(projected[:40], 3, axis=0), 120, samples, samples.logits, ALL
    ):
        assert np.isfinite(correction.coefficients).all()
        assert np.isfinite(scores).all()
