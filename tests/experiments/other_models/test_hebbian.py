"""The Hebbian readout."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from experiments.other_models.hebbian import HebbianReadout


@pytest.fixture(scope="module")
def samples():
    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16, labels


def test_only_the_strongest_units_are_active(samples):
    pixels, labels = samples
    model = HebbianReadout(n_units=300, n_active=20, epochs=1).fit(pixels[:100], labels[:100])
    activity = model.activity(pixels[100:150])
    sums = (pixels[100:150] - pixels[:100].mean(axis=0)) @ model.projection_.T
    assert set(np.count_nonzero(model.projection_, axis=1)) == {6}  # a tenth of 64 features
    for active, summed in zip(activity, sums, strict=True):
        assert set(np.flatnonzero(active)) == set(np.argsort(summed)[-20:])
    np.testing.assert_allclose(np.linalg.norm(activity, axis=1), 1.0)


def test_a_sample_strengthens_its_own_class_and_weakens_the_others():
    """Done again by hand, with the samples in the order of the same generator."""
    features = np.eye(4)
    labels = np.array([0, 0, 1, 1])
    model = HebbianReadout(n_units=50, n_active=5, rate=0.5, decay=0.2, epochs=2, seed=3).fit(features, labels)
    rng = np.random.default_rng(3)
    rng.random((50, 4))  # the features of each unit
    rng.random((50, 3))  # their weights
    expected = np.zeros((2, 50))
    activity = model.activity(features)
    for _ in range(2):
        for sample in rng.permutation(4):
            own, other = labels[sample], 1 - labels[sample]
            expected[other] -= 0.2 * activity[sample] * expected[other]
            expected[own] += 0.5 * activity[sample]
    assert np.count_nonzero(expected[0]) > 0
    np.testing.assert_allclose(model.weights_, expected)
    np.testing.assert_allclose(model.decision_function(features), activity @ expected.T)


def test_it_learns_to_read_digits(samples):
    pixels, labels = samples
    model = HebbianReadout().fit(pixels[:800], labels[:800])
    predictions = model.classes_[model.decision_function(pixels[800:]).argmax(axis=1)]
    assert np.mean(predictions == labels[800:]) > 0.75


def test_the_seed_determines_it(samples):
    pixels, labels = samples
    first, same, other = (
        HebbianReadout(n_units=100, n_active=10, seed=seed)
        .fit(pixels[:50], labels[:50])
        .decision_function(pixels[50:60])
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 0
