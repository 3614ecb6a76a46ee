"""sweep against SPHClassifier set by set, and as people call it."""

import warnings
from collections import Counter
from fractions import Fraction
from functools import cache

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest

import aftermax
from aftermax import default_grid, sweep
from aftermax.sph.classifier import HYPERPARAMETERS
from aftermax.sph.sweep import sweep as sweep_in_module
from helpers.reference_samples import draw_samples
from helpers.samples import make_samples
from helpers.sweeps import RESULTS, assert_same

SEEDS = range(60)


def draw_grid(rng):
    """A random grid of 2 x 2 x ... values, odd ones among them."""

    def some(values, most=3):
        return rng.choice(values, size=rng.integers(1, most + 1), replace=False).tolist()

    low, high = np.sort(rng.random(2)) if rng.random() < 0.5 else (0.0, 1.0)
    return {
        "certainty": some([0.0, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0], 4),
        "window_low": [float(low)],
        "window_high": [float(high), 1.0],
        "center": some(["mean", "median"], 2),
        "min_separation": some([0.0, 0.5, 1.0, 2.0, 50.0]),
        "weight_power": some([0.0, 1.0, 2.0, 2.5]),
        "veto_distance": some([np.inf, 1.0, 2.0, 3.0, 5.0]),
        "veto_count": some([1, 2, 3]),
        "min_gain": some([-1.0, -0.1, 0.0, 0.05, 0.1, 0.25]),
        "distance_power": some([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 20.0]),
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_agrees_exactly_with_fitting_set_by_set(seed):
    assert compared(seed)["sets"] == 40


@cache
def compared(seed):
    """Forty sets of a random grid, compared with fitting each; counts of what was compared."""
    rng = np.random.default_rng(seed)
    logits, labels, test, size = draw_samples(rng)
    truth = rng.integers(size, size=len(test))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The largest logit agrees")
        columns = sweep(
            logits, labels, draw_grid(rng), eval_logits=test, eval_labels=truth, classes=range(size), progress=False
        )
        heads = [
            assert_same(index, columns, logits, labels, test, truth)
            for index in rng.integers(len(columns["wins"]), size=40)
        ]
    pooled, changed = (sum(counts) for counts in zip(*heads, strict=True))
    return {"sets": len(heads), "pooled": pooled, "changed": changed}


def test_most_of_the_random_sets_pool_and_change_predictions():
    seen = sum((Counter(compared(seed)) for seed in SEEDS), Counter())
    assert seen["sets"] == 2400
    assert seen["pooled"] > 1000
    assert seen["changed"] > 700


@pytest.mark.parametrize("name", ["cifar10-resnet20-noise", "cifar10-wideresnet16", "mnist-cnn", "cifar100-resnet8"])
def test_agrees_exactly_on_real_logits(shared, name):
    with np.load(shared / "data" / "logits" / f"{name}.npz") as file:
        logits, labels = file["val_logits"][:1500], file["val_labels"][:1500]
        test, truth = file["test_logits"][:1000], file["test_labels"][:1000]
    grid = [part | {"min_separation": [0.0, 1.0]} for part in default_grid()[:5]]
    columns = sweep(logits, labels, grid, eval_logits=test, eval_labels=truth)
    for index in np.random.default_rng(0).integers(len(columns["wins"]), size=60):
        assert_same(index, columns, logits, labels, test, truth)


def test_scores_that_tie_are_settled_as_the_estimator_settles_them():
    rng = np.random.default_rng(3)
    logits = rng.integers(-1, 2, size=(300, 4)).astype(float)
    logits[:, 3] = logits[:, 2]
    labels = rng.integers(4, size=300)
    grid = {
        "certainty": [0.5, 1.0],
        "weight_power": [0.0, 1.0],
        "distance_power": [1.0, 2.0, 3.0],
        "veto_distance": [np.inf, 1.0],
        "min_gain": [-1.0],
    }
    columns = sweep(logits, labels, grid)
    for index in range(len(columns["wins"])):
        assert_same(index, columns, logits, labels, logits, labels)


def test_huge_distances_and_powers_are_settled_as_the_estimator_settles_them():
    logits, labels = make_samples(n_samples=200, n_classes=3)
    logits[:, 1] = np.where(labels == 1, 1e-9, 0.0)
    test = logits.copy()
    test[::7, 1] = 1e9
    grid = {
        "certainty": [1.0],
        "min_gain": [-1.0],
        "distance_power": [1e-3, 4.0, 8.0, 40.0, 400.0],
        "weight_power": [0.0, 9.0, 1000.0],
    }
    columns = sweep(logits, labels, grid, eval_logits=test, eval_labels=labels)
    for index in range(len(columns["wins"])):
        assert_same(index, columns, logits, labels, test, labels)


def test_powers_so_small_that_products_vanish_are_settled_as_the_estimator_settles_them():
    rng = np.random.default_rng(59)
    labels = rng.integers(4, size=60)
    logits = np.round(rng.normal(size=(60, 4)) + np.eye(4)[labels], 1)
    grid = {"certainty": [1.0], "weight_power": [1000.0], "distance_power": [1e-3, 5e-3, 0.1], "min_gain": [-1.0]}
    columns = sweep(logits, labels, grid)
    for index in range(3):
        assert_same(index, columns, logits, labels, logits, labels)


def test_values_of_any_number_type_do(validation):
    grid = {"certainty": [Fraction(9, 10), np.float32(0.5)], "veto_distance": [3], "veto_count": np.array([1, 2])}
    columns = sweep(*validation, grid)
    assert columns["certainty"].dtype == columns["veto_distance"].dtype == np.float64
    assert columns["veto_count"].dtype == np.int64
    for index in range(4):
        assert_same(index, columns, *validation, *validation)


# ---- as people call it -----------------------------------------------------------------------------------------------


def test_one_row_for_each_combination_in_the_order_of_the_hyperparameters(validation):
    columns = sweep(*validation, {"certainty": [0.5, 0.9], "veto_distance": [np.inf, 3.0], "veto_count": [1, 2]})
    assert list(columns) == [*HYPERPARAMETERS, *RESULTS]
    assert columns["certainty"].tolist() == [0.5] * 3 + [0.9] * 3
    assert columns["veto_distance"].tolist() == [np.inf, 3.0, 3.0] * 2
    assert columns["veto_count"].tolist() == [1, 1, 2] * 2
    assert set(columns["center"]) == {"mean"}
    assert {len(column) for column in columns.values()} == {6}


def test_pandas_and_polars_take_it_as_it_is(validation):
    columns = sweep(*validation, {"certainty": [0.0, 0.9], "center": ["mean", "median"]})
    frame = pd.DataFrame(columns)
    assert frame.shape == pl.DataFrame(columns).shape == (4, 16)
    assert pl.DataFrame(columns)["center"].to_list() == ["mean", "median"] * 2
    assert (frame[frame.certainty == 0][["wins", "losses", "pooled"]] == 0).all(axis=None)


def test_it_evaluates_on_the_fitted_samples_if_there_are_no_others(validation):
    columns = sweep(*validation, {"certainty": [0.9]})
    assert_same(0, columns, *validation, *validation)


def test_string_labels_data_frames_and_evaluation_samples_of_one_class(validation, unseen):
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    frame = pd.DataFrame(validation[0], columns=names)
    one = unseen[1] == 3
    columns = sweep(
        frame, names[validation[1]], {"certainty": [0.9]}, eval_logits=unseen[0][one], eval_labels=names[unseen[1][one]]
    )
    assert_same(0, columns, *validation, unseen[0][one], unseen[1][one])


def test_the_default_grid_is_wide_and_every_set_in_it_is_allowed():
    columns = sweep(*make_samples(n_samples=60, n_classes=3))
    sets = len(columns["wins"])
    assert sets == 107_640  # as the README and the docstring say
    distinct = set(zip(*(columns[name].tolist() for name in HYPERPARAMETERS), strict=True))
    assert len(distinct) == sets
    for name, least, most in (("min_separation", 0, 2), ("veto_distance", 2, np.inf), ("veto_count", 1, 3)):
        assert (columns[name].min(), columns[name].max()) == (least, most)
    tied = (np.abs(columns["window_low"] - columns["certainty"] + 0.3) < 1e-9) & (
        np.abs(columns["window_high"] - columns["certainty"] - 0.2) < 1e-9
    )
    assert tied.mean() > 0.25


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 and later
def test_any_joblib_backend_and_number_of_jobs_gives_the_same(validation, unseen):
    grid = {"certainty": [0.6, 0.9], "center": ["mean", "median"], "window_high": [0.8, 1.0], "min_gain": [0.0, 0.1]}
    evaluated = dict(zip(("eval_logits", "eval_labels"), unseen, strict=True))
    expected = sweep(*validation, grid, n_jobs=1, **evaluated)
    for jobs in (2, -1, None):
        same(expected, sweep(*validation, grid, n_jobs=jobs, **evaluated))
    for backend in ("loky", "threading", "multiprocessing"):
        with joblib.parallel_config(backend):
            same(expected, sweep(*validation, grid, n_jobs=2, **evaluated))


def test_dask_carries_it(validation, unseen):
    distributed = pytest.importorskip("distributed")
    grid = {"certainty": [0.6, 0.9], "center": ["mean", "median"]}
    evaluated = dict(zip(("eval_logits", "eval_labels"), unseen, strict=True))
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        found = sweep(*validation, grid, **evaluated)
    same(sweep(*validation, grid, **evaluated), found)


def same(ours, theirs):
    for name, column in ours.items():
        np.testing.assert_array_equal(column, theirs[name])


def test_tasks_are_cut_until_their_counters_fit(validation, monkeypatch):
    grid = {
        "certainty": [0.6, 0.7, 0.9, 0.6],
        "center": ["median", "mean"],
        "weight_power": [0.0, 1.0, 2.0],
        "veto_distance": [np.inf, 3.0, 4.0],
        "distance_power": [1.0, 2.0],
        "min_gain": [0.0, 0.1],
    }
    whole = sweep(*validation, grid)
    monkeypatch.setattr("aftermax.sph.sweep.MAX_COUNTERS", 100)
    same(whole, sweep(*validation, grid))
    monkeypatch.setattr("aftermax.sph.sweep.MAX_WEIGHTS", 100)
    same(whole, sweep(*validation, grid))


def test_names_do_not_clash():
    assert aftermax.sweep is sweep_in_module


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ({}, None, None),
        ([], ValueError, "grid is empty: pass at least one dict"),
        (
            {"certanty": [0.5]},
            ValueError,
            "grid names 'certanty', not a hyperparameter of SPH: choose from certainty",
        ),
        ({"classes": [0.5]}, ValueError, "grid names 'classes', not a hyperparameter"),
        ({"certainty": 0.5}, TypeError, r"grid has certainty=0.5: pass a list of values to try, as \[0.5\]"),
        ({"center": "mean"}, TypeError, r"grid has center='mean': pass a list of values to try, as \['mean'\]"),
        ({"certainty": []}, ValueError, "grid has no values for certainty: pass at least one"),
        ({"certainty": [0.5, 1.5]}, ValueError, "certainty=1.5 is out of range"),
        ({"veto_count": [0]}, ValueError, "veto_count=0 is not possible"),
        ({"center": ["mode"]}, ValueError, "center='mode' is not known"),
        ({"distance_power": [np.nan]}, ValueError, "distance_power=nan is not a number"),
        ({"window_low": [0.5], "window_high": [0.4, 1.0]}, ValueError, "above window_high=0.4.*A list of dicts"),
        ([{"certainty": [0.5]}, 3], TypeError, "grid holds 3, which is no dict"),
        (5, TypeError, "grid=5 is no grid: pass a dict of hyperparameters and values, or a list of them"),
        ({"certainty": iter([0.5])}, TypeError, "pass a list of values to try"),
        ({"veto_count": [10**30]}, ValueError, "veto_count=1000000000000000000000000000000 is not possible"),
        (
            dict.fromkeys(("min_gain", "certainty"), np.linspace(0, 1, 10**5)),
            ValueError,
            "10,000,000,000 combinations, more than",
        ),
    ],
)
def test_a_bad_grid_is_refused_with_what_to_do(validation, grid, error, message):
    if error is None:
        assert len(sweep(*validation, grid)["wins"]) == 1
        return
    with pytest.raises(error, match=message):
        sweep(*validation, grid)


def test_warnings_about_the_samples_to_evaluate_point_at_the_caller(validation):
    logits, labels = validation
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="look like probabilities") as caught:
        sweep(logits, labels, {"certainty": [0.9]}, eval_logits=probabilities, eval_labels=labels)
    clear, truth = make_samples(home=9.0)
    with pytest.warns(UserWarning, match="The largest logit agrees") as others:
        sweep(clear, truth, {"certainty": [0.9]}, eval_logits=np.roll(clear, 1, axis=1), eval_labels=truth)
    assert {warning.filename for warning in [*caught, *others]} == {__file__}


def test_bad_samples_to_evaluate_are_refused(validation, unseen):
    grid = {"certainty": [0.9]}
    with pytest.raises(ValueError, match="eval_logits and eval_labels go together"):
        sweep(*validation, grid, eval_logits=unseen[0])
    with pytest.raises(ValueError, match="In eval_logits and eval_labels: there are 4 columns where logits have 5"):
        sweep(*validation, grid, eval_logits=unseen[0][:, :4], eval_labels=unseen[1])
    with pytest.raises(ValueError, match="In eval_logits and eval_labels: labels hold 7, not among the classes"):
        sweep(*validation, grid, eval_logits=unseen[0], eval_labels=np.full(len(unseen[1]), 7))
    broken = unseen[0].copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"In eval_logits and eval_labels: .*NaN at row 3, column 1"):
        sweep(*validation, grid, eval_logits=broken, eval_labels=unseen[1])
    frame = pd.DataFrame(validation[0], columns=list("abcde"))
    names = np.array(list("abcde"))
    with pytest.raises(ValueError, match="eval_logits have other columns than logits, or in another order"):
        sweep(frame, names[validation[1]], grid, eval_logits=frame[list("edcba")], eval_labels=names[validation[1]])


def test_of_samples_to_evaluate_a_class_that_softmax_never_predicts_is_warned_of():
    logits, labels = make_samples(home=4.0, n_samples=1_000)
    shy = logits.copy()
    shy[:, 2] -= 50.0
    with pytest.warns(UserWarning, match="never") as caught:
        sweep(logits, labels, {"certainty": [0.9]}, eval_logits=shy, eval_labels=labels)
    assert len(caught) == 1
