"""SPHClassifierCV: the choice, its proof, and softmax where there is none."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from aftermax import SPHClassifier, SPHClassifierCV, sweep
from aftermax._utils.comparison import Comparison
from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.paired_tests import one_sided_mcnemar
from aftermax.sph.choice import choose
from aftermax.sph.grid import departures, grid_blocks, grid_columns
from aftermax.sph.hyperparameters import HYPERPARAMETERS
from helpers.samples import make_samples, weak_samples

SMALL = {"certainty": [0.5, 0.7, 0.9, 1.0], "distance_power": [1.0, 2.0], "min_gain": [0.0, 0.1]}
# The last class of weak_samples, whose biases are off.
NEVER_PREDICTS_ONE = pytest.mark.filterwarnings("ignore:Softmax never predicts 4:UserWarning")
GIVEN = [
    "gain_",
    "gain_interval_",
    "gain_prediction_interval_",
    "p_value_",
    "proven_",
    "fell_back_",
    "best_params_",
    "best_index_",
]


def strong(n_samples=600, seed=1):
    """Samples of a network that softmax reads as well as can be."""
    return make_samples(seed=seed, n_samples=n_samples, n_classes=4, home=9.0)


@NEVER_PREDICTS_ONE
def test_it_finds_the_gain_keeps_it_on_new_samples_and_proves_it():
    head = SPHClassifierCV(SMALL).fit(*weak_samples(600))
    logits, labels = weak_samples(n_samples=4000, seed=2)
    before, after = np.mean(logits.argmax(axis=1) != labels), 1 - head.score(logits, labels)
    low, high = head.gain_interval_
    assert not head.fell_back_
    assert head.proven_
    assert head.p_value_ < 0.001
    assert 0.1 < low < head.gain_ < high
    assert low < (before - after) / before < high
    assert head.gain_prediction_interval_[0] < low < high < head.gain_prediction_interval_[1]
    assert head.best_params_["certainty"] >= 0.5
    assert isinstance(head.best_estimator_, SPHClassifier)


@NEVER_PREDICTS_ONE
def test_the_best_estimator_is_what_fitting_the_chosen_hyperparameters_on_all_samples_gives():
    logits, labels = weak_samples(600)
    head = SPHClassifierCV(SMALL).fit(logits, labels)
    plain = SPHClassifier(**head.best_params_).fit(logits, labels)
    np.testing.assert_array_equal(head.predict(logits), plain.predict(logits))
    np.testing.assert_array_equal(head.predict_proba(logits), plain.predict_proba(logits))
    np.testing.assert_array_equal(head.route(logits), plain.route(logits))
    np.testing.assert_array_equal(head.best_estimator_.weights_, plain.weights_)


def test_it_keeps_softmax_where_there_is_nothing_to_gain():
    logits, labels = strong()
    head = SPHClassifierCV(SMALL).fit(logits, labels)
    assert head.fell_back_
    assert head.best_params_["certainty"] == 0.0
    np.testing.assert_array_equal(head.predict(logits), logits.argmax(axis=1))
    assert set(head.route(logits)) == {"softmax"}


@NEVER_PREDICTS_ONE
def test_nothing_short_of_proof_is_enough():
    head = SPHClassifierCV(SMALL, alpha=0.0).fit(*weak_samples(600))
    assert head.fell_back_
    assert not head.proven_
    assert (head.gain_, head.gain_interval_, head.gain_prediction_interval_) == (0.0, (0.0, 0.0), (0.0, 0.0))
    assert head.p_value_ < 0.001
    assert head.best_params_["certainty"] == 0.0
    assert head.cv_results_["certainty"][head.best_index_] >= 0.5
    assert head.cv_results_["gain"][head.best_index_] > 0.1


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_alpha_is_the_level_of_the_one_sided_test():
    logits, labels = weak_samples(n_samples=60)
    p_value = SPHClassifierCV(SMALL, cv=3).fit(logits, labels).p_value_
    assert 0 < p_value < 1
    for alpha, proven in ((p_value * 1.001, True), (p_value, False)):
        head = SPHClassifierCV(SMALL, cv=3, alpha=alpha).fit(logits, labels)
        assert (head.proven_, head.fell_back_, head.p_value_) == (proven, not proven, p_value)


@pytest.mark.filterwarnings("ignore:.* of the samples are identical:UserWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_the_proof_counts_groups_and_copies_are_groups(noise):
    logits, labels = (np.repeat(values, 5, axis=0) for values in weak_samples(n_samples=100))
    groups = np.repeat(np.arange(100), 5)
    logits = logits + noise * np.random.default_rng(0).normal(size=logits.shape)
    head = SPHClassifierCV(SMALL, cv=3).fit(logits, labels, groups=groups if noise else None)
    before, after = logits.argmax(axis=1) == labels, head.held_out_ == labels
    expected = Comparison.of(before, after, groups=groups)
    assert head.p_value_ == expected.p_value > Comparison.of(before, after).p_value
    assert head.gain_ == expected.selected_gain
    assert head.gain_interval_ == expected.intervals()[0]


@pytest.mark.parametrize("seed", range(8))
def test_on_labels_without_any_meaning_it_never_pretends(seed):
    rng = np.random.default_rng(seed)
    head = SPHClassifierCV(SMALL, alpha=0.001).fit(rng.normal(size=(300, 3)), rng.integers(3, size=300))
    assert head.fell_back_


def test_the_results_are_those_of_sweeping_fold_by_fold():
    logits, labels = weak_samples(n_samples=100)
    head = SPHClassifierCV(SMALL, cv=4, n_repeats=1).fit(logits, labels)
    found = head.cv_results_
    assert list(found) == [*HYPERPARAMETERS, "departures", "wins", "losses", "gain", "standard_error"]
    assert len(found["wins"]) == 17
    errors = np.count_nonzero(logits.argmax(axis=1) != labels)
    np.testing.assert_allclose(found["gain"], (found["wins"] - found["losses"]) / errors)
    changed = found["wins"] + found["losses"]
    expected = np.sqrt(changed - (found["wins"] - found["losses"]) ** 2 / 100) / errors
    np.testing.assert_allclose(found["standard_error"], expected)
    assert (found["certainty"][-1], found["gain"][-1], found["departures"][-1]) == (0.0, 0.0, -1)


def by_content(codes, folds, rng):
    """Folds that a test can foresee; the second half of the draws differs from the first."""
    by_content.calls += 1
    return (np.arange(len(codes)) + by_content.calls * (np.arange(len(codes)) // folds)) % folds


def test_every_set_is_counted_on_every_fold_once_and_outer_folds_take_no_part(monkeypatch):
    logits, labels = weak_samples(n_samples=90)
    order = content_order(logits, labels)
    logits, labels = logits[order], labels[order]
    by_content.calls = 0
    monkeypatch.setattr("aftermax.sph.choice.stratified_folds", by_content)
    monkeypatch.setattr("aftermax.sph.choice.keyed_folds", by_content)
    head = SPHClassifierCV(SMALL, cv=3, n_repeats=2).fit(logits, labels)

    by_content.calls = 0
    outer = by_content(labels, 3, None)
    before_and_after = []
    for fold in range(3):
        kept = outer != fold
        columns = cross_validated(logits[kept], labels[kept])
        index = choose(columns, kept.sum())
        plain = SPHClassifier(**{name: columns[name][index].item() for name in HYPERPARAMETERS})
        after = plain.fit(logits[kept], labels[kept]).predict(logits[~kept]) == labels[~kept]
        before = logits[~kept].argmax(axis=1) == labels[~kept]
        before_and_after.append((before, after))
    before, after = np.concatenate(before_and_after, axis=1)
    expected = Comparison.of(before, after)
    assert head.gain_ == expected.selected_gain > 0
    assert head.gain_interval_ == expected.intervals()[0]
    assert head.p_value_ == one_sided_mcnemar(np.sum(after & ~before), np.sum(before & ~after))
    columns = cross_validated(logits, labels)
    np.testing.assert_array_equal(head.cv_results_["wins"], columns["wins"])
    np.testing.assert_array_equal(head.cv_results_["losses"], columns["losses"])
    assert head.best_index_ == choose(columns, 90)


def cross_validated(logits, labels):
    """The mean wins and losses over two passes of three folds, by plain sweeps."""
    grid = [SMALL, {"certainty": [0.0]}]
    total = []
    for folds in [by_content(labels, 3, None) for _ in range(2)]:
        for fold in range(3):
            rest, held = folds != fold, folds == fold
            columns = sweep(logits[rest], labels[rest], grid, eval_logits=logits[held], eval_labels=labels[held])
            total.append([columns["wins"], columns["losses"]])
    wins, losses = np.sum(total, axis=0) / 2
    return columns | {"wins": wins, "losses": losses, "departures": departures(columns)}


def test_the_hyperparameters_were_not_chosen_on_the_folds_that_gain_is_measured_on():
    """With labels of no meaning and many sets, the best of them gains by luck; the gain that is reported does not."""
    grid = {"certainty": np.linspace(0.4, 1.0, 13), "min_separation": [0.0, 0.1, 0.2], "min_gain": [0.0, 0.05, 0.1]}
    reported, best = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        head = SPHClassifierCV(grid, random_state=seed).fit(rng.normal(size=(200, 3)), rng.integers(3, size=200))
        reported.append(head.gain_)
        best.append(head.cv_results_["gain"].max())
    assert np.mean(best) > 0.03
    assert np.mean(reported) < np.mean(best) / 2
    assert np.mean(reported) < 0.015


# ---- the choice ------------------------------------------------------------------------------------------------------


def table(wins, losses, away):
    return {"wins": np.array(wins, float), "losses": np.array(losses, float), "departures": np.array(away)}


def test_the_plainest_within_one_standard_error_is_chosen():
    # The best gains 40 of 60 changes: its standard error is below 8.
    assert choose(table([50, 43, 41, 0], [10, 10, 10, 0], [5, 2, 1, -1]), 1000) == 1
    assert choose(table([50, 43, 42, 0], [10, 10, 9, 0], [5, 2, 1, -1]), 1000) == 2
    assert choose(table([50, 48, 48, 0], [10, 10, 9, 0], [5, 2, 2, -1]), 1000) == 2
    assert choose(table([50, 48, 48, 0], [10, 10, 10, 0], [5, 2, 2, -1]), 1000) == 1


def test_softmax_is_plainer_than_all_and_chosen_within_one_standard_error():
    assert choose(table([30, 0], [26, 0], [0, -1]), 1000) == 1
    assert choose(table([30, 0], [10, 0], [0, -1]), 1000) == 0
    assert choose(table([0, 0], [10, 0], [0, -1]), 1000) == 1


def test_departures_count_a_window_and_a_veto_once():
    grid = [
        {},
        {"certainty": [0.5]},
        {"certainty": [0.0], "center": ["median"]},
        {"window_low": [0.2], "window_high": [0.8]},
        {"veto_distance": [3.0], "veto_count": [2], "min_gain": [0.1]},
        {"veto_count": [2]},
        {"center": ["median"], "min_separation": [1.0], "weight_power": [0.0], "distance_power": [1.0]},
    ]
    assert departures(grid_columns(grid_blocks(grid))).tolist() == [0, 0, -1, 1, 2, 0, 4]


def test_folds_are_even_overall_and_for_each_class():
    codes = np.repeat([0, 1, 2, 3], [50, 23, 4, 1])
    folds = stratified_folds(codes, 5, np.random.default_rng(0))
    assert np.ptp(np.bincount(folds, minlength=5)) <= 1
    for code in range(4):
        assert np.ptp(np.bincount(folds[codes == code], minlength=5)) <= 1
    assert not np.array_equal(folds, stratified_folds(codes, 5, np.random.default_rng(1)))


# ---- determinism -----------------------------------------------------------------------------------------------------


def assert_same_choice(ours, theirs):
    for name in GIVEN:
        assert getattr(ours, name) == getattr(theirs, name), name
    for name, column in ours.cv_results_.items():
        np.testing.assert_array_equal(column, theirs.cv_results_[name])


def test_a_random_state_fixes_everything_for_any_number_of_jobs_and_order_of_samples():
    logits, labels = weak_samples(n_samples=300)
    head = SPHClassifierCV(SMALL, random_state=7).fit(logits, labels)
    assert_same_choice(head, SPHClassifierCV(SMALL, random_state=7).fit(logits, labels))
    assert_same_choice(head, SPHClassifierCV(SMALL, random_state=7, n_jobs=1).fit(logits, labels))
    order = np.random.default_rng(0).permutation(300)
    assert_same_choice(head, SPHClassifierCV(SMALL, random_state=7).fit(logits[order], labels[order]))
    other = SPHClassifierCV(SMALL, random_state=8).fit(logits, labels)
    assert not np.array_equal(head.cv_results_["wins"], other.cv_results_["wins"])
    drawn = [SPHClassifierCV(SMALL, random_state=None).fit(logits, labels).cv_results_["wins"] for _ in range(2)]
    assert not np.array_equal(*drawn)


# ---- samples of every kind -------------------------------------------------------------------------------------------


def test_rare_and_missing_classes_are_handled():
    logits, labels = weak_samples(n_samples=300)
    keep = (labels > 1) | (np.cumsum(labels == 1) * (labels == 1) == 1)  # one row of class 1, none of class 0
    with pytest.warns(
        UserWarning, match=r"Fewer than 10 labelled samples of class 0, 1\. .*gain cannot show it"
    ) as caught:
        head = SPHClassifierCV(SMALL).fit(logits[keep], labels[keep])
    assert [warning.filename for warning in caught] == [__file__]
    assert not head.fell_back_
    assert head.classes_.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(head.gain_)
    assert head.predict_proba(logits).shape == (300, 5)


@pytest.mark.parametrize("n_samples", [2, 3, 7])
def test_a_handful_of_samples_is_enough_to_say_no(n_samples):
    logits, labels = make_samples(n_samples=n_samples, n_classes=3, labels=np.arange(n_samples) % 2)
    head = SPHClassifierCV(SMALL, classes=range(3)).fit(logits, labels)
    assert head.fell_back_
    np.testing.assert_array_equal(head.predict(logits), logits.argmax(axis=1))


def test_a_perfect_network_has_nothing_to_gain():
    labels = np.arange(60) % 3
    head = SPHClassifierCV(SMALL).fit(10.0 * np.eye(3)[labels] + np.arange(60)[:, None] / 100, labels)
    assert (head.fell_back_, head.gain_, head.gain_interval_, head.p_value_) == (True, 0.0, (0.0, 0.0), 1.0)


def test_string_labels_and_data_frames():
    logits, labels = weak_samples(n_samples=400)
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    frame = pd.DataFrame(logits, columns=names)
    head = SPHClassifierCV(SMALL).fit(frame, names[labels])
    assert head.feature_names_in_.tolist() == names.tolist()
    assert_same_choice(head, SPHClassifierCV(SMALL).fit(logits, labels))
    assert set(head.predict(frame)) <= set(names)
    with pytest.raises(ValueError, match="feature names should match"):
        head.predict(frame[names[::-1]])


def test_it_works_with_clone_and_inside_a_cross_validation():
    logits, labels = weak_samples(n_samples=300)
    head = clone(SPHClassifierCV(SMALL, cv=3, n_repeats=1))
    assert head.get_params()["grid"] == SMALL
    assert cross_val_score(head, logits, labels, cv=3).mean() > np.mean(logits.argmax(axis=1) == labels)


def test_an_unfitted_search_says_so_also_after_a_failed_fit():
    head = SPHClassifierCV(SMALL)
    for call in (head.predict, head.predict_proba, head.route):
        with pytest.raises(NotFittedError):
            call(np.zeros((2, 5)))
    head.fit(*weak_samples(n_samples=100))
    with pytest.raises(ValueError, match="certainty=2"):
        head.set_params(grid={"certainty": [2]}).fit(*weak_samples(n_samples=100))
    with pytest.raises(NotFittedError):
        head.predict(np.zeros((2, 5)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv=1 is not possible: choose a whole number .an int. of at least 2"),
        ({"cv": 2.5}, "cv=2.5 is not possible"),
        ({"n_repeats": 0}, "n_repeats=0 is not possible"),
        ({"alpha": 1.5}, "alpha=1.5 is out of range"),
        ({"grid": []}, "grid is empty"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SPHClassifierCV(**parameters).fit(*weak_samples(n_samples=50))


def test_probabilities_passed_as_logits_are_warned_about_once():
    logits, labels = weak_samples(n_samples=200)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="look like probabilities") as caught:
        SPHClassifierCV(SMALL, cv=2, n_repeats=1).fit(probabilities, labels)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_the_default_grid_on_a_network_under_noise(shared):
    with np.load(shared / "data" / "logits" / "cifar10-resnet20-noise.npz") as file:
        logits, labels = file["val_logits"][:1000], file["val_labels"][:1000]
        test, truth = file["test_logits"], file["test_labels"]
    head = SPHClassifierCV(cv=3, n_repeats=1).fit(logits, labels)
    before, after = np.mean(test.argmax(axis=1) != truth), 1 - head.score(test, truth)
    assert not head.fell_back_
    assert (before - after) / before > 0.2
