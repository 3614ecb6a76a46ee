"""The stacking for many classes: it minimises what it says, and classes with few labels share biases."""

import numpy as np
import pytest

from aftermax._many.stacking import FEW, StackingSamples, fit_many_stacking
from aftermax._utils.softmax import log_losses

N_CLASSES = 12


def made(seed=0, n_samples=400, slope=2.0):
    """Labels drawn from the softmax of slope * logits, in four folds."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_samples, N_CLASSES)).astype(np.float32)
    codes = (slope * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    folds = np.repeat(np.arange(4), n_samples // 4)
    counts = np.array([np.bincount(codes[folds != fold], minlength=N_CLASSES) for fold in range(4)])
    return logits, StackingSamples(codes, np.ones(n_samples), folds, counts)


def test_the_slope_of_the_logits_is_found():
    logits, samples = made(n_samples=4_000)
    found, _ = fit_many_stacking([logits], samples, by_count=False)
    assert found.weights[0] == pytest.approx(2.0, abs=0.15)
    assert np.abs(found.biases).max() < 0.3


def test_a_useless_correction_gets_next_to_no_weight_and_none_is_negative():
    logits, samples = made(n_samples=2_000)
    noise = np.random.default_rng(1).normal(size=logits.shape).astype(np.float32)
    found, _ = fit_many_stacking([logits, noise, -logits], samples)
    assert (found.weights >= 0).all()
    assert found.weights[1] < 0.1
    assert found.weights[2] == 0


def test_no_neighbour_has_a_lower_loss():
    logits, samples = made()
    noise = logits + np.random.default_rng(1).normal(size=logits.shape).astype(np.float32)
    found, _ = fit_many_stacking([logits, noise], samples, biases=False, by_count=False)

    def loss(weights):
        return log_losses((weights[0] * logits + weights[1] * noise).astype(np.float64), samples.codes).mean()

    best = loss(found.weights)
    for step in ([0.2, 0], [-0.2, 0], [0, 0.2]):
        assert loss(np.maximum(found.weights + step, 0)) > best - 1e-3


def test_classes_without_labels_that_never_occur_get_a_low_shared_bias():
    logits, samples = made(n_samples=2_000)
    kept = samples.codes < 6
    counts = samples.label_counts.copy()
    counts[:, 6:] = 0
    some = samples.take(np.flatnonzero(kept))._replace(label_counts=counts)
    found, _ = fit_many_stacking([logits[kept]], some, biases=False)
    assert found.by_count[0] < -2
    assert found.by_count[FEW] == 0
    np.testing.assert_allclose(found.class_biases(counts[0])[6:], found.by_count[0])


def test_classes_that_lost_their_only_label_to_the_fold_keep_their_chance():
    """Half of the classes have no label outside of the fold, and are right as often as their scores say."""
    logits, samples = made(n_samples=2_000)
    counts = samples.label_counts.copy()
    counts[:, ::2] = 0
    found, _ = fit_many_stacking([logits], samples._replace(label_counts=counts), biases=False)
    assert abs(found.by_count[0]) < 0.2


def test_biases_of_single_classes_follow_their_frequency():
    logits, samples = made(n_samples=4_000)
    shifted = logits.copy()
    shifted[:, 3] += 1.0
    found, _ = fit_many_stacking([shifted], samples)
    assert found.biases[3] - np.delete(found.biases, 3).mean() < -1.0


@pytest.mark.parametrize("scale", [0.02, 0.05, 1.0])
def test_the_scale_of_the_logits_changes_nothing(scale):
    """Neither where softmax of them is nearly uniform, nor where it is nearly certain."""
    rng = np.random.default_rng(0)
    n_samples, n_classes = 600, 2_000
    codes = rng.integers(n_classes, size=n_samples)
    logits = -10 + rng.normal(size=(n_samples, n_classes)).astype(np.float32)
    logits[np.arange(n_samples), rng.integers(n_classes, size=n_samples)] = -0.1
    similarities = np.abs(0.03 * rng.normal(size=logits.shape)).astype(np.float32)
    similarities[np.arange(n_samples), codes] += rng.uniform(0.2, 0.9, n_samples).astype(np.float32)
    folds = np.repeat(np.arange(4), n_samples // 4)
    counts = np.array([np.bincount(codes[folds != fold], minlength=n_classes) for fold in range(4)])
    samples = StackingSamples(codes, np.ones(n_samples), folds, counts)
    wanted = fit_many_stacking([10 * logits, similarities], samples)[1]
    assert fit_many_stacking([np.float32(scale) * logits, similarities], samples)[1] == pytest.approx(wanted, rel=1e-3)
