"""sweep with 30 to 100 classes, where samples are scored in batches and most classes are far away."""

import warnings

import numpy as np
import pytest

from aftermax import sweep
from aftermax.sph._sweep_rules import BATCH
from helpers.samples import make_samples
from helpers.sweeps import RESULTS, assert_same

GRID = {
    "certainty": [0.4, 0.8, 1.0],
    "center": ["mean", "median"],
    "min_separation": [1.0, 0.0, 2.0, 50.0],  # in no order; the highest leaves no class a weight
    "weight_power": [0.0, 1.0, 2.5],
    "veto_distance": [2.5, np.inf, 4.0],
    "veto_count": [1, 3],
    "min_gain": [-1.0, 0.0],
    "distance_power": [1.0, 2.0, 3.0, 4.0],
}


def network_samples(n_classes, n_samples, seed, missing=()):
    """Samples of a network with that many classes; none of the ``missing`` ones."""
    present = np.setdiff1d(np.arange(n_classes), missing)
    labels = np.random.default_rng(seed).choice(present, size=n_samples)
    return make_samples(seed=seed, n_classes=n_classes, labels=labels, home=4.0, noise=1.5)


def compare(fitted, evaluated, grid, some=40):
    """Some combinations of a sweep, against fitting each; how many of them pool, and how many change predictions."""
    size = fitted[0].shape[1]
    evaluation = {"eval_logits": evaluated[0], "eval_labels": evaluated[1]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The largest logit agrees")
        columns = sweep(*fitted, grid, **evaluation, classes=range(size), n_jobs=1, progress=False)
        combinations = np.random.default_rng(0).permutation(len(columns["wins"]))[:some]
        return np.sum([assert_same(index, columns, *fitted, *evaluated) for index in combinations], axis=0)


@pytest.mark.parametrize(("n_classes", "n_evaluated"), [(30, 1), (50, BATCH - 1), (64, BATCH), (100, 2 * BATCH + 1)])
def test_agrees_exactly_with_fitting_one_by_one(n_classes, n_evaluated):
    missing = (0, n_classes // 2)
    fitted = network_samples(n_classes, 8 * n_classes, seed=1, missing=missing)
    pooled, changed = compare(fitted, network_samples(n_classes, n_evaluated, seed=2), GRID)
    if n_evaluated > 1:
        assert min(pooled, changed) > 8


def test_without_a_veto_and_under_a_veto_of_nearly_all_classes():
    fitted, evaluated = (network_samples(60, 400, seed) for seed in (3, 4))
    for veto in (np.inf, 1e-3, 1.5, 2.0):
        compare(fitted, evaluated, GRID | {"veto_distance": [veto]}, some=15)


def test_ties_between_classes_are_settled_as_the_estimator_settles_them():
    logits, labels = network_samples(40, 400, seed=5)
    logits = np.round(logits / 2)
    logits[:, 20:] = logits[:, :20]  # every unit twice
    labels = labels % 20 + 20 * (np.arange(400) % 2)
    pairs = np.argsort(labels % 20, kind="stable")
    logits[pairs[1::2]] = logits[pairs[::2]]  # and most samples twice, under two labels
    assert compare((logits, labels), (logits[:100], labels[:100]), GRID).min() > 8


def test_far_samples_among_near_ones():
    fitted, (test, truth) = network_samples(40, 300, seed=6), network_samples(40, 100, seed=7)
    for far, unit in ((1e6, 3), (1e14, 5), (-1e60, 7)):  # the last is too far for a sum of eighth powers
        test[unit::9, unit] = far
    grid = {name: GRID[name] for name in ("min_separation", "veto_distance", "weight_power")}
    compare(fitted, (test, truth), grid | {"certainty": [1.0], "min_gain": [-1.0], "distance_power": [0.5, 4.0, 8.0]})


def test_samples_that_are_fitted_and_evaluated_are_counted_once_for_both():
    samples = network_samples(30, 200, seed=9)
    once = sweep(*samples, GRID)
    twice = sweep(*samples, GRID, eval_logits=samples[0].copy(), eval_labels=samples[1].copy())
    for name in RESULTS:
        np.testing.assert_array_equal(once[name], twice[name])
