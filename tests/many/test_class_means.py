"""Class means of sparse scores, against the same in dense numpy."""

import numpy as np
import pytest

from aftermax._many import class_means
from aftermax._many.class_means import fit_class_means
from aftermax._many.largest_scores import largest_scores
from helpers.many_classes import confusing_world
from many.test_largest_scores import dense

N_CLASSES = 300


@pytest.fixture(scope="module")
def world():
    return confusing_world(N_CLASSES, n_samples=900)


@pytest.fixture(scope="module")
def largest(world):
    return largest_scores(world.logits, np.arange(len(world.logits)))


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def test_similarities_are_cosines_with_shrunk_means(world, largest, monkeypatch):
    monkeypatch.setattr(class_means, "_with_fewer_entries", lambda rows, most: rows)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(world.labels))
    fitted = fit_class_means(largest, world.labels, weights, N_CLASSES)
    vectors = unit(dense(largest, N_CLASSES) * fitted.unit_weights)
    sums = np.zeros((N_CLASSES, N_CLASSES))
    np.add.at(sums, world.labels, vectors * weights[:, None])
    own = np.diag(sums).sum() / weights.sum()
    means = unit(sums + own * np.eye(N_CLASSES))
    np.testing.assert_allclose(fitted.similarities(largest), vectors @ means.T, atol=1e-5)
    np.testing.assert_allclose(fitted.as_matrix(), means.T, atol=1e-6)


def test_a_unit_that_many_samples_name_counts_less(largest, world):
    fitted = fit_class_means(largest, world.labels, np.ones(900), N_CLASSES)
    named = np.bincount(largest.columns[largest.excess > 0], minlength=N_CLASSES)
    order = np.argsort(named)
    assert (np.diff(fitted.unit_weights[order]) <= 0).all()


def test_the_mean_of_a_class_without_labels_is_its_own_unit_vector(largest, world):
    kept = world.labels != 7
    fitted = fit_class_means(largest.take(kept), world.labels[kept], np.ones(kept.sum()), N_CLASSES)
    np.testing.assert_allclose(fitted.as_matrix()[:, 7], np.eye(N_CLASSES)[7], atol=1e-6)


@pytest.mark.parametrize("count", [16, 64])
def test_few_entries_of_each_class_are_kept(largest, world, count):
    fitted = fit_class_means(largest.first(count), world.labels, np.ones(900), N_CLASSES)
    matrix = fitted.as_matrix()
    assert np.count_nonzero(matrix, axis=0).max() <= count
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=0), 1.0, atol=1e-5)


def test_the_order_of_the_samples_has_next_to_no_effect(largest, world):
    order = np.random.default_rng(2).permutation(900)
    one = fit_class_means(largest, world.labels, np.ones(900), N_CLASSES)
    other = fit_class_means(largest.take(order), world.labels[order], np.ones(900), N_CLASSES)
    np.testing.assert_allclose(one.as_matrix(), other.as_matrix(), atol=1e-5)
