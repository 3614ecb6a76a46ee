"""Single precision decides where its error is proven to be too small to matter, and double precision elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from aftermax._residual import first_look
from aftermax._residual.first_look import FirstLook
from aftermax._residual.fitting import fit_corrections
from aftermax._residual.gaussian import GaussianCorrection
from aftermax._residual.head import ResidualHead, compact
from aftermax._residual.projection import Projection
from aftermax._residual.samples import Samples
from aftermax._residual.single_kernels import LANES, ROWS, powers_of_two
from aftermax._residual.terms import InputTerms
from aftermax._utils.softmax_kernels import top_and_lead
from aftermax._utils.threads import one_blas_thread
from aftermax.data import load_vmnist
from helpers.correction_samples import samples_of

SHAPES = [  # classes, dimensions, centers, levels that are used, size of coefficients
    (10, 10, 600, [False, True, True], 300.0),
    (2, 2, 5, [True], 1.0),
    (3, 7, 81, [True, False, True, True], 20.0),
    (7, 30, 240, [False, False, True], 1000.0),
    (4, 3, 16, [True, True, True], 1e5),
]


def made_up_head(n_classes, dimensions, centers, used, size, seed=0):
    """A head with coefficients much larger than its scores, as kernel ridge regression finds them."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(centers, dimensions)) / np.sqrt(dimensions)
    exponents = np.vstack([-2 * places.T, np.square(places).sum(axis=1), np.ones(centers)]) / -3
    coefficients = size * rng.standard_t(2, size=(len(used), centers, n_classes)) * np.array(used)[:, None, None]
    intercepts = rng.normal(size=n_classes)
    intercepts[0] = -np.inf  # a class without samples
    gaussian = GaussianCorrection(
        rng.normal(size=(n_classes, dimensions)),
        np.triu(rng.normal(size=(n_classes, dimensions, dimensions))) + 3 * np.eye(dimensions),
        intercepts,
        0.01,
    )
    components = np.linalg.qr(rng.normal(size=(dimensions, dimensions)))[0] / np.sqrt(dimensions)
    features = Projection(1, np.inf, rng.normal(size=dimensions) / 10, components)
    linear = rng.normal(size=(dimensions, n_classes))
    terms = InputTerms(features, exponents, coefficients, np.array(used), linear, gaussian, 0.7)
    return ResidualHead(1.5, rng.normal(size=n_classes), (terms,))


def made_up_inputs(n_samples, n_classes, dimensions, scale=1.0):
    rng = np.random.default_rng(1)
    return [scale * rng.normal(size=(n_samples, columns)) for columns in (n_classes, dimensions)]


@pytest.fixture(scope="module")
def real_head():
    """A head of the network trained on 500 images, and the logits of others."""
    scores = load_vmnist(trained_on=500)
    logits, codes = scores.val_logits[:800].astype(np.float64), scores.val_labels[:800].astype(np.int64)
    with one_blas_thread():  # as AutoHead fits; many threads for small products are slow on a busy machine
        head = compact(fit_corrections(Samples(logits, codes, np.ones(len(codes))), 0)["combination"])
    return head, scores.test_logits.astype(np.float64)


def relative_to_the_last(scores):
    return scores - scores[:, -1:]


def errors_and_bounds(head, inputs):
    """The errors of single precision, and their bounds, of scores relative to the last."""
    scores, bounds = FirstLook.of(head.slope, head.biases, head.terms)._scores(inputs)
    errors = np.abs(relative_to_the_last(scores) - relative_to_the_last(head.scores(inputs))).max(axis=1)
    return errors, 2 * first_look.MARGIN * bounds


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_errors_are_within_the_bound(shape, scale):
    head = made_up_head(*shape)
    errors, bounds = errors_and_bounds(head, made_up_inputs(700, *shape[:2], scale))
    assert (errors <= bounds).all()
    if scale == 1:  # and the bound is of some use
        assert (errors > 0).all()
        assert np.median(bounds) < 1e-4 * np.abs(head.terms[0].coefficients).sum(axis=(0, 1)).max() + 0.01


@pytest.mark.parametrize("part", ["kernels", "gaussian"])
def test_each_part_has_its_own_bound(part):
    head = made_up_head(*SHAPES[0])
    terms = head.terms[0]
    changes = {"gaussian": {"used": np.zeros(3, bool)}, "kernels": {"gaussian": None}}[part]
    if part == "gaussian":
        changes["coefficients"] = np.zeros_like(terms.coefficients)
    alone = replace(head, terms=(replace(terms, **changes),))
    errors, bounds = errors_and_bounds(alone, made_up_inputs(500, 10, 10))
    assert (errors <= bounds).all()
    assert (errors > bounds / 1000).any()


@pytest.mark.parametrize("shape", SHAPES)
def test_predictions_are_those_of_double_precision(shape):
    head = made_up_head(*shape)
    inputs = made_up_inputs(3 * LANES + 5, *shape[:2])
    exact = head.scores(inputs)
    inputs[0] += (np.sort(exact, axis=1)[:, -1:] - exact) / head.slope * np.linspace(0, 1, len(exact))[:, None]
    inputs[0] += 1e-7 * np.random.default_rng(2).normal(size=exact.shape)  # the last samples are close to ties
    np.testing.assert_array_equal(head.predict(inputs), head.scores(inputs).argmax(axis=1))
    unproven = head._first_look.predict(inputs)[1]
    assert unproven[-1]
    assert 0 < unproven.mean() < 1


def test_predictions_of_fitted_heads_are_those_of_double_precision():
    samples = samples_of(features=np.random.default_rng(5).normal(size=(300, 12)))
    with one_blas_thread():
        heads = fit_corrections(samples, 0).values()
    for stacked in heads:
        head = compact(stacked)
        np.testing.assert_array_equal(head.predict(samples.inputs), head.scores(samples.inputs).argmax(axis=1))


def test_most_predictions_of_a_real_head_are_proven(real_head):
    head, logits = real_head
    predicted, unproven = head._first_look.predict([logits])
    assert unproven.mean() < 0.03
    right = head.scores([logits]).argmax(axis=1)
    np.testing.assert_array_equal(predicted[~unproven], right[~unproven])


@pytest.mark.parametrize("huge", [1e5, 1e20, 1e60, 1e150])
def test_what_single_precision_cannot_hold_is_left_to_double_precision(huge):
    head = made_up_head(*SHAPES[0])
    logits, features = made_up_inputs(200, 10, 10)
    features[::7] *= huge
    unproven = head._first_look.predict([logits, features])[1]
    assert unproven[::7].all()
    with np.errstate(over="ignore", invalid="ignore"):
        right = head.scores([logits, features]).argmax(axis=1)
        np.testing.assert_array_equal(head.predict([logits, features]), right)


def test_ties_are_left_to_double_precision():
    head = made_up_head(4, 2, 8, [True], 0.0)
    terms = replace(head.terms[0], gaussian=None, linear=np.zeros((2, 4)))
    tied = replace(head, biases=np.zeros(4), terms=(terms,))
    inputs = [np.zeros((50, 4)), np.zeros((50, 2))]
    assert tied._first_look.predict(inputs)[1].all()
    assert not tied.predict(inputs).any()


def test_powers_of_two_are_as_accurate_as_the_bound_says():
    tile = np.linspace(-119, 0, ROWS * LANES, dtype=np.float32).reshape(ROWS, LANES)
    right = np.exp2(tile.astype(np.float64))
    cubed = np.empty_like(tile)
    powers_of_two(tile, cubed)
    relative = np.abs(tile / right - 1)
    assert relative.max() < first_look.POWER_ERROR
    seen = right > 1e-12
    assert np.abs(cubed[seen] / right[seen] ** 3 - 1).max() < 3 * (first_look.POWER_ERROR + first_look.UNIT)


def test_elementary_functions_of_numpy_are_as_accurate_as_the_bound_says():
    values = np.linspace(-80, 0, 10_001, dtype=np.float32)
    assert np.abs(np.exp(values) / np.exp(values.astype(np.float64)) - 1).max() < first_look.ELEMENTARY_ERROR
    values = np.geomspace(1e-12, 0.99, 10_001, dtype=np.float32)
    assert np.abs(np.log(values) / np.log(values.astype(np.float64)) - 1).max() < first_look.ELEMENTARY_ERROR


def test_the_lead_is_what_the_bound_is_compared_with():
    assert top_and_lead(np.array([1.0, 5.0, 3.5])) == (1, 1.5)
