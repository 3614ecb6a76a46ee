"""Corrections, their least squares, their combination, and the head folded."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from aftermax._residual.corrections import WIDEST, Space, View, bounded, fit_gaussian, held_out_gaussian
from aftermax._residual.fitting import (
    CENTERS,
    Samples,
    _Moments,
    _root,
    choose_centers,
    fit_least_squares,
    fit_residual,
    typical_lead,
)
from aftermax._residual.head import fold
from aftermax._residual.rbf_kernels import exp_all
from aftermax._residual.stacking import Combination, combine
from helpers.samples import make_samples

EVERY = slice(None, None, 1)


def sample_of(rows=300, size=4, seed=1, weights=None, features=None):
    logits, codes = make_samples(seed=seed, rows=rows, size=size)
    return Samples(logits, codes, np.ones(rows) if weights is None else weights / weights.mean(), features)


def losses_of(scores, codes):
    return -log_softmax(scores, axis=1)[np.arange(len(codes)), codes]


# ---- the combination -------------------------------------------------------------------------------------------------


def test_with_logits_alone_the_combination_is_temperature_scaling():
    sample = sample_of(rows=4000)
    found, _ = combine([sample.logits], sample.codes, sample.weights, biases=False)
    steps = np.linspace(0.1, 3.0, 2_000)
    best = min(steps, key=lambda step: losses_of(step * sample.logits, sample.codes).mean())
    assert found.weights[0] == pytest.approx(best, abs=0.01)
    assert not found.biases.any()


def test_biases_move_towards_a_shift_of_the_classes_and_are_shrunk_where_rows_are_few():
    shift = np.array([1.0, 0.0, -1.0, 0.0])
    for rows, closeness in ((4000, 0.1), (60, 0.8)):
        rng = np.random.default_rng(1)
        scores = 2 * rng.normal(size=(rows, 4))
        codes = (scores + shift + rng.gumbel(size=scores.shape)).argmax(axis=1)  # so that softmax of the sum is right
        found, _ = combine([scores], codes, np.ones(rows))
        np.testing.assert_allclose(found.biases - found.biases.mean(), shift, atol=closeness)
        if rows == 60:
            assert np.square(found.biases).sum() < np.square(shift).sum()


def test_an_expert_that_knows_nothing_gets_no_weight_and_none_gets_a_negative_one():
    sample = sample_of()
    noise = np.random.default_rng(0).normal(size=sample.logits.shape)
    found, _ = combine([sample.logits, noise, -sample.logits], sample.codes, sample.weights)
    assert found.weights[0] > 0
    assert (found.weights >= 0).all()
    assert found.weights[1] < 0.05
    assert found.weights[2] == 0


def test_rows_without_a_mistake_do_not_make_for_certainty():
    logits = 3 * np.eye(3)[np.arange(30) % 3]
    found, _ = combine([logits], np.arange(30) % 3, np.ones(30), biases=False)
    probability = np.exp(log_softmax(found.weights[0] * logits, axis=1)).max()
    assert 0.9 < probability < 0.999


def test_a_row_that_counts_twice_is_two_rows():
    sample = sample_of(rows=80)
    twice = np.where(np.arange(80) < 30, 2.0, 1.0)
    rows = np.concatenate([np.arange(80), np.arange(30)])
    weighted, _ = combine([sample.logits], sample.codes, twice, biases=False)
    repeated, _ = combine([sample.logits[rows]], sample.codes[rows], np.ones(110), biases=False)
    assert weighted.weights[0] == pytest.approx(repeated.weights[0], rel=0.02)  # smoothing knows the number of rows


# ---- what corrections look at ----------------------------------------------------------------------------------------


def test_places_have_mean_square_one_and_do_not_depend_on_the_scale():
    logits, _ = make_samples(rows=500)
    places = Space.fit(logits)(logits)
    assert np.square(places).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(Space.fit(1000 * logits)(1000 * logits)), np.abs(places), rtol=1e-8)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_places_of_few_or_equal_rows_are_finite(rows):
    for inputs in (np.random.default_rng(0).normal(size=(rows, 7)), np.ones((rows, 7))):
        assert np.isfinite(Space.fit(inputs)(inputs)).all()


def test_many_dimensions_are_cut_to_the_principal_ones():
    inputs = np.random.default_rng(0).normal(size=(300, 400))
    assert Space.fit(inputs)(inputs).shape == (300, 100)


def test_each_level_of_nearness_is_the_kernel_that_it_says():
    places = np.random.default_rng(0).normal(size=(20, 3))
    squares = np.square(places[:, None] - places[None, :8]).sum(axis=2)
    for level, exponent in enumerate((1, 3, 9)):
        expected = np.exp(-WIDEST * exponent * squares)
        np.testing.assert_allclose(View(places, places[:8]).nearness(level, 8), expected, rtol=1e-9)


def test_a_masked_class_is_low_and_not_remote():
    logits = np.array([[3.0, 1.0, -1e4], [0.0, -1.0, -2.0]])
    np.testing.assert_array_equal(bounded(logits, 5.0), [[3.0, 1.0, -2.0], [0.0, -1.0, -2.0]])
    assert typical_lead(np.array([[3.0, 1.0, 0.0], [2.0, 1.0, -1e4], [9.0, 8.0, 0.0]])) == 1.0


def test_centers_are_drawn_where_softmax_is_in_doubt():
    logits = np.where(np.arange(4000)[:, None] % 2, [0.0, 0.0], [9.0, 0.0])
    chosen = choose_centers(logits, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == CENTERS[-1]
    assert np.mean(chosen % 2) > 0.8


# ---- log-likelihoods -------------------------------------------------------------------------------------------------


def test_with_many_rows_the_gaussian_is_quadratic_discriminant_analysis():
    logits, codes = make_samples(rows=6000, size=3)
    view = View(logits, logits[:0])
    ours = fit_gaussian(logits, codes, np.ones(6000), 3).scores(view)
    theirs = QuadraticDiscriminantAnalysis().fit(logits, codes).predict_proba(logits)
    np.testing.assert_allclose(np.exp(ours), theirs, atol=0.01)


def test_with_many_classes_all_share_a_covariance():
    logits, codes = make_samples(rows=3000, size=60, noise=2.0)
    fitted = fit_gaussian(logits, codes, np.ones(3000), 60)
    assert len(fitted.factors) == 1
    ours = fitted.scores(View(logits, logits[:0])).argmax(axis=1)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-3).fit(logits, codes).predict(logits)
    assert np.mean(ours == theirs) > 0.95


def test_a_class_without_rows_is_unlikely_but_possible():
    logits, codes = make_samples(rows=200, size=4)
    codes = np.where(codes == 3, 0, codes)
    scores = fit_gaussian(logits, codes, np.ones(200), 4).scores(View(logits, logits[:0]))
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1.0)
    np.testing.assert_allclose(scores[:, 3], np.log(1 / 204))


def test_held_out_log_likelihoods_have_not_seen_the_row():
    logits, codes = make_samples(rows=100, size=3)
    before = held_out_gaussian(logits, codes, np.ones(100), 3)[1]
    changed = codes.copy()
    changed[7] = (codes[7] + 1) % 3
    after = held_out_gaussian(logits, changed, np.ones(100), 3)[1]
    np.testing.assert_array_equal(before[7], after[7])
    assert (before[8] != after[8]).any()


# ---- least squares ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [1.0, 1e-2, 1e-4])
def test_scores_without_a_row_are_those_of_a_regression_without_it(weighted, penalty):
    rng = np.random.default_rng(0)
    sample = sample_of(rows=40, size=3, weights=rng.uniform(0.2, 2.0, size=40) if weighted else None)
    design = rng.normal(size=(40, 6))
    moments = _Moments(lambda rows: design[rows], sample, np.eye(6))
    ours = moments.without_each(EVERY, moments.turned(EVERY), penalty)
    labels = np.eye(3)[sample.codes]
    for row in range(40):
        others = np.arange(40) != row
        model = Ridge(alpha=penalty * 40).fit(design[others], labels[others], sample_weight=sample.weights[others])
        np.testing.assert_allclose(ours[row], model.predict(design[row : row + 1])[0], atol=1e-8)


def test_with_every_row_a_center_the_kernel_correction_is_kernel_ridge_regression():
    sample = sample_of(rows=50, size=3)
    places = Space.fit(sample.logits)(sample.logits)
    view = View(places, places)
    near = view.nearness(1, 50)
    moments = _Moments(lambda rows: near[rows], sample, _root(near))
    ours = moments.without_each(EVERY, moments.turned(EVERY), 1e-2)
    labels = np.eye(3)[sample.codes]
    for row in range(0, 50, 7):
        others = np.flatnonzero(np.arange(50) != row)
        # An offset without a penalty: centre the kernel, as in kernel principal components.
        centred = near - near[:, others].mean(axis=1, keepdims=True)
        centred -= near[others].mean(axis=0) - near[np.ix_(others, others)].mean()
        mean = labels[others].mean(axis=0)
        model = KernelRidge(alpha=1e-2 * 50, kernel="precomputed")
        model.fit(centred[np.ix_(others, others)], labels[others] - mean)
        np.testing.assert_allclose(ours[row], model.predict(centred[[row]][:, others])[0] + mean, atol=1e-6)


def test_the_penalty_is_the_one_with_the_least_held_out_log_loss():
    sample = sample_of(rows=400)
    logits = sample.logits / typical_lead(sample.logits)
    noise = np.random.default_rng(0).normal(size=(400, 5))
    nothing = fit_least_squares(lambda rows: noise[rows], np.eye(5), sample, logits, EVERY)
    assert np.abs(nothing.coefficients).max() < 0.05  # there is nothing to be learned
    design = np.eye(4)[sample.codes] + 0.3 * np.random.default_rng(0).normal(size=(400, 4))
    something = fit_least_squares(lambda rows: design[rows], np.eye(4), sample, logits, EVERY)
    assert np.mean(something.held_out.argmax(axis=1) == sample.codes) > 0.9


def test_rows_to_be_weighed_may_be_some_only():
    sample = sample_of(rows=5000)
    places = Space.fit(sample.logits)(sample.logits)
    logits = sample.logits / typical_lead(sample.logits)
    every = fit_least_squares(lambda rows: places[rows], np.eye(4), sample, logits, EVERY)
    third = fit_least_squares(lambda rows: places[rows], np.eye(4), sample, logits, slice(None, None, 3))
    np.testing.assert_array_equal(every.coefficients, third.coefficients)
    np.testing.assert_allclose(every.held_out[::3], third.held_out, rtol=1e-12)


# ---- the head --------------------------------------------------------------------------------------------------------


def test_every_head_starts_from_the_logits_and_the_last_has_it_all():
    heads = fit_residual(sample_of(), np.random.default_rng(0))
    assert list(heads) == ["biases", "gaussian", "linear", "kernel", "combination"]
    names = [expert.name for expert in heads["combination"].experts]
    assert names == ["gaussian", "linear", "kernel", "kernel", "kernel"]
    assert not heads["biases"].combination.weights[1:].any()
    assert not heads["linear"].combination.weights[[1, 3, 4, 5]].any()


def test_with_labels_that_say_nothing_softmax_is_what_remains():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 4))
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)  # softmax is exactly right
    head = fit_residual(Samples(logits, codes, np.ones(2000)), rng)["combination"]
    new = rng.normal(size=(5000, 4))
    assert np.mean(head.scores([new]).argmax(axis=1) == new.argmax(axis=1)) > 0.93
    change = log_softmax(head.scores([new]), axis=1) - log_softmax(new, axis=1)
    assert np.abs(change).mean() < 0.1


def test_what_softmax_cannot_say_is_learned():
    """Two classes in rings around each other: no linear map of the logits tells them apart."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1500, 3))
    codes = (np.square(logits).sum(axis=1) > 2.5).astype(np.int64)
    heads = fit_residual(Samples(logits[:800], codes[:800], np.ones(800)), rng)
    right = {name: np.mean(head.scores([logits[800:]]).argmax(axis=1) == codes[800:]) for name, head in heads.items()}
    assert right["linear"] < 0.7
    assert right["kernel"] > 0.93
    assert right["gaussian"] > 0.93
    assert right["combination"] > 0.93


@pytest.mark.parametrize("with_features", [False, True])
def test_folded_it_says_the_same(with_features):
    features = np.random.default_rng(5).normal(size=(300, 12)) if with_features else None
    sample = sample_of(features=features)
    for head in fit_residual(sample, np.random.default_rng(0)).values():
        folded = fold(head)
        np.testing.assert_allclose(folded.scores(sample.inputs), head.scores(sample.inputs), atol=1e-9)
        used = {
            expert.look for expert, weight in zip(head.experts, head.combination.weights[1:], strict=True) if weight
        }
        assert len(folded.looks) == len(used)
        assert sum(look.used.sum() for look in folded.looks) == sum(
            expert.name.startswith("kernel") and weight > 0
            for expert, weight in zip(head.experts, head.combination.weights[1:], strict=True)
        )


def test_the_written_out_exponential_is_numpys():
    values = np.concatenate([-np.geomspace(1e-12, 699, 5_001), [0.0, -1e6]])
    expected, shifted = np.exp(np.maximum(values, -700)), np.empty_like(values)
    exp_all(values, shifted, shifted.view(np.int64))
    np.testing.assert_allclose(values, expected, rtol=2e-14)


def test_a_combination_without_weight_for_an_expert_never_asks_it():
    found = Combination(np.array([2.0, 0.0]), np.array([0.0, 1.0])).scores([np.ones((2, 2)), np.full((2, 2), np.nan)])
    np.testing.assert_array_equal(found, [[2.0, 3.0], [2.0, 3.0]])
