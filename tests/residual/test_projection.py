"""Half-whitened principal components."""

import numpy as np
import pytest

from aftermax._residual.projection import (
    _principal_components,
    clip_below_max,
    project_features,
    project_logits,
    typical_margin,
)
from helpers.samples import make_samples


def projected_of(values):
    return project_logits(np.inf, values)([values])


def test_projected_samples_have_mean_square_one_and_do_not_depend_on_the_scale():
    logits, _ = make_samples(n_samples=500)
    projected = projected_of(logits)
    assert np.square(projected).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(projected_of(1000 * logits)), np.abs(projected), rtol=1e-8)


@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_few_or_equal_samples_are_projected_to_finite_values(n_samples):
    for inputs in (np.random.default_rng(0).normal(size=(n_samples, 7)), np.ones((n_samples, 7))):
        assert np.isfinite(projected_of(inputs)).all()


def test_of_many_dimensions_the_principal_ones_are_kept():
    inputs = np.random.default_rng(0).normal(size=(300, 500))
    assert projected_of(inputs).shape == (300, 100)
    assert project_features(inputs).components.shape == (500, 299)  # features: as many as there can be
    more = np.random.default_rng(0).normal(size=(600, 500))
    assert project_features(more).components.shape == (500, 400)


@pytest.mark.parametrize("columns", [20, 90])
def test_fewer_samples_than_columns_have_the_same_components(columns):
    """From either Gram matrix: the one of the columns, or the one of the samples."""
    inputs = np.random.default_rng(0).normal(size=(60, columns)) @ np.diag(np.linspace(1, 5, columns))
    centred = inputs - inputs.mean(axis=0)
    variances, directions = _principal_components(centred, 10)
    singular = np.linalg.svd(centred, compute_uv=False)[:10]
    np.testing.assert_allclose(np.sort(variances)[::-1], np.square(singular) / 60, rtol=1e-8)
    np.testing.assert_allclose(directions.T @ directions, np.eye(10), atol=1e-8)


def test_a_masked_class_is_low_and_not_an_outlier():
    logits = np.array([[3.0, 1.0, -1e4], [0.0, -1.0, -2.0]])
    np.testing.assert_array_equal(clip_below_max(logits, 5.0), [[3.0, 1.0, -2.0], [0.0, -1.0, -2.0]])
    assert typical_margin(np.array([[3.0, 1.0, 0.0], [2.0, 1.0, -1e4], [9.0, 8.0, 0.0]])) == 1.0


def test_components_are_uncorrelated_and_half_whitened():
    """With many samples, shrinkage vanishes: the variances of z are the square roots of the principal variances."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(200_000, 3)) * [4.0, 2.0, 1.0]
    covariance = np.cov(projected_of(inputs).T)
    np.testing.assert_allclose(covariance / covariance[0, 0], np.diag([1.0, 2.0, 4.0]), atol=0.03)


@pytest.mark.parametrize("size", [1e4, 1e8, 1e200, np.finfo(float).max])
def test_one_outlier_does_not_move_the_projection_of_the_other_features(size):
    features = np.random.default_rng(0).normal(size=(300, 6)) * [3.0, 2.0, 1.0, 1.0, 0.5, 0.5]
    clean = project_features(features)([None, features])
    features[3, 2] = size
    projection = project_features(features)
    projected = projection([None, features])
    assert np.isfinite(projected).all()
    others = np.arange(300) != 3
    distances, before = (np.linalg.norm(one[others, None] - one[others][:50], axis=2) for one in (projected, clean))
    assert np.corrcoef(distances.ravel(), before.ravel())[0, 1] > 0.95
    lengths = np.linalg.norm(projected, axis=1)
    assert lengths[3] < 20 * np.median(lengths)


def test_features_without_outliers_are_left_as_they_are():
    features = np.random.default_rng(0).normal(size=(300, 6))
    projection = project_features(features)
    assert np.isfinite(projection.clip_depth)
    np.testing.assert_array_equal(projection([None, features]), (features - projection.mean) @ projection.components)
