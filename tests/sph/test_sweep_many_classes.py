"""sweep with 30 to 100 classes, where samples are scored in batches and most classes are far away."""

import importlib
import warnings

import numpy as np
import pytest

from aftermax import ResponseArray, default_grid, sweep
from aftermax.sph._sweep_rules import BATCH
from helpers.samples import make_samples
from helpers.sweeps import RESULTS, assert_same

sweep_module = importlib.import_module("aftermax.sph.sweep")  # the name is also that of the function

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


# ---- few samples of many classes, where windows and centers give the same response array -----------------------------

WINDOWS = [
    {"certainty": [0.5, 1.0], "window_high": [0.6]},
    {"certainty": [0.7], "window_low": [0.3], "window_high": [0.9]},
    {"certainty": [0.9, 0.6]},
]


@pytest.mark.parametrize("per_class", [1, 2, 3])
@pytest.mark.parametrize("n_present", [2, 12])
def test_few_samples_of_few_of_the_classes(per_class, n_present):
    present = np.linspace(1, 38, n_present).astype(int)
    labels = np.repeat(present, per_class)
    fitted = make_samples(seed=per_class, n_classes=40, labels=labels, home=2.0, noise=2.0)
    evaluated = network_samples(40, 80, seed=8)  # most are of classes that were not fitted
    others = {name: GRID[name] for name in ("center", "min_separation", "veto_distance", "min_gain")}
    pooled, _ = compare(fitted, evaluated, [others | window for window in WINDOWS])
    assert pooled > 4


def calls_of_count_combinations(monkeypatch, *samples, **options):
    calls = []
    original = sweep_module.count_combinations
    monkeypatch.setattr(sweep_module, "count_combinations", lambda *call: calls.append(call) or original(*call))
    sweep(*samples, **options, n_jobs=1, progress=False)
    return len(calls)


@pytest.mark.parametrize("per_class", [1, 2])
def test_with_one_or_two_samples_for_each_class_the_default_grid_is_counted_once(monkeypatch, per_class):
    labels = np.repeat(np.arange(6), per_class)
    samples = make_samples(seed=3, n_classes=6, labels=labels)
    assert calls_of_count_combinations(monkeypatch, *samples, grid=default_grid()) == 1


def test_windows_and_centers_with_other_response_arrays_are_counted_apart(monkeypatch):
    samples = make_samples(seed=3, n_classes=6, labels=np.repeat(np.arange(6), 40), home=1.0)
    grid = {"center": ["mean", "median"], "window_high": [0.6, 1.0]}
    assert calls_of_count_combinations(monkeypatch, *samples, grid=grid) == 4


def test_mean_and_median_of_one_or_two_samples_are_the_same_to_the_last_bit():
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1.0, 1e9):
        labels = np.concatenate([np.arange(60), np.arange(30)])
        logits = scale * rng.normal(size=(90, 60)) * 10.0 ** rng.integers(-8, 3, size=(90, 60))
        mean, median = (ResponseArray.fit(logits, labels, center=center) for center in ("mean", "median"))
        for name in ("center", "left", "right"):
            np.testing.assert_array_equal(getattr(mean, name), getattr(median, name))
