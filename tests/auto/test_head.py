"""AutoHead: what it gains, its probabilities, features, reproducibility, and what users may pass."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

import aftermax
from aftermax import AutoHead
from aftermax._residual.capacity import BUDGETS
from aftermax._residual.fitting import fit_softmax_temperature
from aftermax._residual.samples import Samples
from aftermax.data import load_vmnist
from helpers.auto_heads import gain_on, honest, log_loss
from helpers.samples import make_samples, weak_samples

GIVEN = ["gain_", "gain_interval_", "gain_prediction_interval_", "p_value_", "proven_", "chosen_", "trust_", "weights_"]


# ---- the gain --------------------------------------------------------------------------------------------------------


def test_it_finds_the_gain_proves_it_and_keeps_it_on_new_samples(fitted):
    logits, labels = weak_samples(n_samples=4000, seed=2)
    low, high = fitted.gain_interval_
    assert (fitted.chosen_, fitted.trust_) == ("combination", 1.0)
    assert fitted.proven_
    assert fitted.p_value_ < 0.001
    assert 0.1 < low < fitted.gain_ < high
    assert low < gain_on(fitted, logits, labels) < high
    new_low, new_high = fitted.gain_prediction_interval_
    assert new_low < low < high < new_high


def test_on_a_real_network_it_beats_what_sph_finds():
    scores = load_vmnist(500)
    head = AutoHead(cv=2).fit(scores.val_logits[:800], scores.val_labels[:800])
    assert head.chosen_ == "combination"
    assert gain_on(head, scores.test_logits, scores.test_labels) > 0.25
    assert head.candidates_["combination"].gain > head.candidates_["sph"].gain


# ---- probabilities ---------------------------------------------------------------------------------------------------


def test_probabilities_are_calibrated_and_agree_with_the_predictions(fitted):
    logits, labels = weak_samples(n_samples=4000, seed=2)
    probabilities = fitted.predict_proba(logits)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(logits))
    assert probabilities.max(axis=1).mean() == pytest.approx(np.mean(fitted.predict(logits) == labels), abs=0.04)
    scaled = logits / fit_softmax_temperature(Samples(*weak_samples(), np.ones(400)))
    softmax = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    assert log_loss(probabilities, labels) < log_loss(softmax, labels)


def test_where_softmax_stays_probabilities_are_those_of_temperature_scaling():
    logits, labels = honest()
    head = AutoHead(cv=2, only_proven=True).fit(4 * logits, labels)
    assert (head.chosen_, head.trust_, head.proven_) == ("softmax", 0.0, False)
    probabilities = head.predict_proba(4 * logits)
    expected = np.exp(4 * logits / head.fitted_head_.temperature)
    np.testing.assert_allclose(probabilities, expected / expected.sum(axis=1, keepdims=True))
    assert head.fitted_head_.temperature == pytest.approx(4.0, rel=0.3)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), logits.argmax(axis=1))


def test_out_of_fold_probabilities_are_largest_at_the_out_of_fold_predictions(fitted):
    logits, labels = weak_samples()
    probabilities = fitted.held_out_proba_
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.held_out_)
    in_sample = fitted.predict_proba(logits)
    assert log_loss(in_sample, labels) < log_loss(probabilities, labels)
    combination = fitted.candidates_["combination"]
    assert log_loss(probabilities, labels) == pytest.approx(combination.log_loss, rel=0.05)


def test_out_of_fold_probabilities_of_softmax_have_a_temperature_only_where_it_is_proven():
    logits, labels = honest()
    kept = AutoHead(cv=2, only_proven=True).fit(logits, labels)
    assert (kept.chosen_, kept.fitted_head_.temperature) == ("softmax", 1.0)
    np.testing.assert_array_equal(kept.held_out_proba_, kept.predict_proba(logits))
    scaled = AutoHead(cv=2, only_proven=True).fit(4 * logits, labels)
    assert scaled.fitted_head_.temperature != 1.0
    assert log_loss(scaled.held_out_proba_, labels) < 1.2 * log_loss(scaled.predict_proba(4 * logits), labels)


def test_samples_that_no_split_holds_out_have_no_out_of_fold_probabilities():
    logits, labels = weak_samples()
    head = AutoHead(cv=TimeSeriesSplit(3)).fit(logits, labels)
    np.testing.assert_array_equal(np.isnan(head.held_out_proba_).any(axis=1), ~head.held_out_mask_)


def test_equal_logits_get_the_same_prediction_from_both(fitted):
    equal = np.zeros((3, 5))
    np.testing.assert_array_equal(fitted.predict_proba(equal).argmax(axis=1), fitted.predict(equal))
    kept = AutoHead(cv=2, alpha=0.0, only_proven=True).fit(*weak_samples())
    np.testing.assert_array_equal(kept.predict(equal), [0, 0, 0])
    np.testing.assert_array_equal(kept.predict_proba(equal).argmax(axis=1), [0, 0, 0])


# ---- the same result every time --------------------------------------------------------------------------------------


def test_any_number_of_jobs_and_any_order_of_samples_give_the_same(fitted):
    logits, labels = weak_samples()
    alone = AutoHead(cv=2, n_jobs=1).fit(logits, labels)
    order = np.random.default_rng(0).permutation(len(labels))
    shuffled = AutoHead(cv=2).fit(logits[order], labels[order])
    new, _ = weak_samples(n_samples=3000, seed=4)
    for other in (alone, shuffled):
        assert [getattr(other, name) for name in GIVEN] == [getattr(fitted, name) for name in GIVEN]
        np.testing.assert_array_equal(other.predict_proba(new), fitted.predict_proba(new))
    np.testing.assert_array_equal(alone.held_out_, fitted.held_out_)
    np.testing.assert_array_equal(shuffled.held_out_, fitted.held_out_[order])


def test_samples_are_predicted_one_by_one_as_all_at_once(fitted):
    new, _ = weak_samples(n_samples=1500, seed=5)
    together = fitted.predict(new)
    np.testing.assert_array_equal([fitted.predict(sample[None])[0] for sample in new[:50]], together[:50])
    probabilities = fitted.predict_proba(new)
    np.testing.assert_array_equal([fitted.predict_proba(sample[None])[0] for sample in new[:50]], probabilities[:50])
    for count in (2, 65, 1025):
        np.testing.assert_array_equal(fitted.predict_proba(new[:count]), probabilities[:count])
    np.testing.assert_array_equal(fitted.predict(new[700:]), together[700:])


def test_another_random_state_divides_the_samples_anew(fitted):
    assert AutoHead(cv=2, random_state=1).fit(*weak_samples()).gain_interval_ != fitted.gain_interval_


# ---- features, weights -----------------------------------------------------------------------------------------------


def with_features(n_samples=400, seed=1):
    """Features that know the class where the logits do not."""
    logits, labels = honest(n_samples=n_samples, seed=seed)
    rng = np.random.default_rng(seed + 50)
    return logits, labels, np.random.default_rng(9).normal(size=(4, 8))[labels] + rng.normal(size=(n_samples, 8))


def test_features_are_used_where_they_help():
    head = AutoHead(cv=2).fit(*with_features())
    logits, labels, features = with_features(n_samples=2000, seed=2)
    assert head.chosen_ == "combination"
    assert gain_on(head, logits, labels, features) > 0.3
    assert head.score(logits, labels, features=features) == np.mean(head.predict(logits, features) == labels)
    assert head.weights_["kernel of features"] + head.weights_["linear of features"] > 0
    probabilities = head.predict_proba(logits, features)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), head.predict(logits, features))


def test_features_must_come_with_the_samples_if_they_came_with_fit():
    logits, labels, features = with_features(n_samples=200)
    head = AutoHead(cv=2).fit(logits, labels, features=features)
    with pytest.raises(ValueError, match="fitted with features: pass those of these samples too \\(8 columns\\)"):
        head.predict(logits)
    with pytest.raises(ValueError, match="features have 7 columns, but the head was fitted on 8"):
        head.predict_proba(logits, features[:, :7])
    with pytest.raises(ValueError, match="fitted without features"):
        AutoHead(cv=2).fit(logits, labels).predict(logits, features)


def test_several_arrays_of_features_are_put_side_by_side():
    logits, labels, features = with_features(n_samples=200)
    parts = [features[:, :3].astype(np.float32), features[:, 3:]]
    joined = np.hstack(parts)
    one, other = AutoHead(cv=2).fit(logits, labels, joined), AutoHead(cv=2).fit(logits, labels, parts)
    assert other.features_width_ == 8
    expected = one.predict_proba(logits, joined)
    for given in (parts, tuple(parts), [joined], joined.tolist(), list(joined)):  # the last two are lists of rows
        np.testing.assert_array_equal(other.predict_proba(logits, given), expected)
    assert other.score(logits, labels, features=parts) == one.score(logits, labels, features=joined)
    with pytest.raises(ValueError, match=r"features have 3 columns \(3\), but .* fitted on 8: .*in the same order"):
        other.predict(logits, parts[:1])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([np.ones((60, 2)), np.ones((10, 3))], r"features\[1\] have 10 samples but logits have 60"),
        ([np.ones((60, 2)), np.ones(60)], r"features\[1\] have shape \(60,\)"),
        ([np.ones((60, 2, 2)), np.ones((60, 2))], r"features\[0\] have shape \(60, 2, 2\).*Flatten"),
        ([np.ones((60, 2)), np.full((60, 2), np.nan)], r"features\[1\] contain nan at row 0, column 0"),
        ([], r"features have shape \(0,\)"),
        (np.ones((10, 3)), "features have 10 samples but logits have 60"),
        (np.ones(60), r"features have shape \(60,\)"),
        (np.ones((60, 2, 2)), "Flatten a layer"),
        (np.full((60, 2), np.nan), "features contain nan at row 0, column 0"),
        (np.full((60, 2), "a"), "features are of type"),
    ],
)
def test_features_that_cannot_be_used_are_refused(features, message):
    logits, labels = honest(n_samples=60)
    with pytest.raises(ValueError, match=message):
        AutoHead(cv=2).fit(logits, labels, features)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": 1}, "cv=1 is not possible"),
        ({"cv": "five"}, "cv='five' is not possible"),
        ({"cv": []}, "cv gives no splits"),
        ({"alpha": 2.0}, "alpha=2.0 is out of range"),
        ({"class_prior": {7: 1.0}}, "class_prior names 7, not among the classes"),
        ({"class_prior": [0.5, 0.5]}, r"class_prior has shape \(2,\) but there are 4 classes"),
        ({"class_weight": "even"}, "class_weight='even' is not known"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7, not among the classes"),
        ({"class_weight": {0: -1.0}}, "class_weight=-1.0 is out of range"),
        ({"class_weight": {0: "much"}}, "class_weight='much' is not a number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoHead(**parameters).fit(*honest(n_samples=60))


# ---- splits and groups -----------------------------------------------------------------------------------------------


def test_splits_that_leave_samples_out_leave_them_out_of_every_figure():
    logits, labels = weak_samples(n_samples=300)
    head = AutoHead(cv=TimeSeriesSplit(3)).fit(logits, labels)
    held_out = np.concatenate([test for _, test in TimeSeriesSplit(3).split(logits)])
    np.testing.assert_array_equal(np.flatnonzero(head.held_out_mask_), held_out)
    np.testing.assert_array_equal(head.held_out_[~head.held_out_mask_], logits.argmax(axis=1)[~head.held_out_mask_])
    before = np.mean(logits[held_out].argmax(axis=1) != labels[held_out])
    assert head.candidates_["softmax"].error == pytest.approx(before)
    assert "sph" not in head.candidates_


def patients(n_patients=40, of_each=6, seed=0):
    """Several samples of each patient that are nearly the same; what is learned of one patient holds for no other."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_patients), of_each)
    logits = 1.5 * rng.normal(size=(n_patients, 3))
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return logits[groups] + 0.02 * rng.normal(size=(len(groups), 3)), labels[groups], groups


def test_patients_that_are_learned_by_heart_prove_nothing():
    logits, labels, groups = patients()
    assert AutoHead(cv=5).fit(logits, labels).proven_  # a false alarm: the same patients are on both sides
    head = AutoHead(cv=5).fit(logits, labels, groups=[f"patient {one}" for one in groups])
    assert not head.proven_
    assert "sph" in head.candidates_  # which keeps patients together, too


def test_copies_of_samples_prove_nothing():
    logits, labels = honest(n_samples=60)
    with pytest.warns(UserWarning, match="100% of the samples are identical to another one"):
        head = AutoHead(cv=3).fit(np.repeat(logits, 5, axis=0), np.repeat(labels, 5))
    assert not head.proven_
    predictions = head.held_out_.reshape(60, 5)
    assert (predictions == predictions[:, :1]).all()


# ---- what comes in ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
@pytest.mark.parametrize("n_samples", [2, 3, 5, 12, 40])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_few_samples_are_enough_to_keep_softmax(n_samples, n_classes):
    logits, _ = honest(n_samples=n_samples, n_classes=n_classes)
    labels = np.arange(n_samples) % 2
    head = AutoHead(cv=2, keep_unlabelled=True, classes=np.arange(n_classes)).fit(logits, labels)
    probabilities = head.predict_proba(logits)
    assert np.isfinite(probabilities).all()
    np.testing.assert_array_equal(probabilities.argmax(axis=1), head.predict(logits))


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_classes_that_are_missing_or_rare_stay_possible():
    logits, labels = make_samples(n_samples=400, n_classes=8, home=6.0)
    kept = (labels != 3) & ((labels != 5) | (np.cumsum(labels == 5) <= 2))
    head = AutoHead(cv=2, classes=np.arange(8)).fit(logits[kept], labels[kept])
    new, truth = make_samples(seed=9, n_samples=800, n_classes=8, home=6.0)
    before, after = (np.mean(predictions[truth == 3] == 3) for predictions in (new.argmax(axis=1), head.predict(new)))
    assert after > 0.5 * before > 0
    assert head.predict_proba(new).shape == (800, 8)


def test_rare_classes_are_warned_about_where_softmax_goes():
    logits, labels = weak_samples(n_samples=400)
    kept = (labels != 2) | (np.cumsum(labels == 2) <= 3)
    with pytest.warns(UserWarning, match="Fewer than 10 labelled samples of class 2"):
        head = AutoHead(cv=2).fit(logits[kept], labels[kept])
    assert head.chosen_ != "softmax"


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_more_than_a_hundred_classes_can_be_fitted():
    logits, labels = make_samples(n_samples=600, n_classes=120, home=3.0)
    head = AutoHead(classes=np.arange(120), alpha=1.0, cv=2).fit(logits, labels)
    assert head.predict_proba(logits).shape == (600, 120)


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_a_masked_class_stays_masked_and_disturbs_nothing(fitted):
    logits, labels = weak_samples()
    masked = np.column_stack([logits, np.full(len(logits), -1e4)])
    head = AutoHead(cv=2, classes=np.arange(6)).fit(masked, labels)
    new, truth = weak_samples(n_samples=2000, seed=2)
    predictions = head.predict(np.column_stack([new, np.full(len(new), -1e4)]))
    assert (predictions != 5).all()
    assert np.mean(predictions == truth) == pytest.approx(fitted.score(new, truth), abs=0.03)


def test_of_very_many_samples_a_part_is_fitted_on(monkeypatch):
    monkeypatch.setattr("aftermax.auto.head.MIN_SAMPLES", 300)
    monkeypatch.setattr("aftermax.auto.head.MAX_LOGITS", 10)
    logits, labels = weak_samples(n_samples=900)
    with pytest.warns(UserWarning, match="fitted on 300 of the 900 samples"):
        head = AutoHead(cv=2).fit(logits, labels)
    assert head.held_out_.shape == (900,)
    assert np.mean(head.held_out_ == labels) > np.mean(logits.argmax(axis=1) == labels) + 0.05
    assert sum((head.candidates_["combination"].wins, head.candidates_["combination"].losses)) < 300
    with pytest.warns(UserWarning, match="fitted on 300 of the 900 samples"):
        kept = AutoHead(cv=2, alpha=0.0, only_proven=True).fit(logits, labels)
    np.testing.assert_array_equal(kept.held_out_, logits.argmax(axis=1))


def test_labels_may_be_words_and_columns_may_have_headings(fitted):
    logits, labels = weak_samples()
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    head = AutoHead(cv=2).fit(pd.DataFrame(logits, columns=names), names[labels])
    np.testing.assert_array_equal(head.classes_, names)
    np.testing.assert_array_equal(head.feature_names_in_, names)
    np.testing.assert_array_equal(head.predict(pd.DataFrame(logits, columns=names)), names[fitted.predict(logits)])
    np.testing.assert_array_equal(head.held_out_, names[fitted.held_out_])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda logits, labels: (np.where(np.arange(60)[:, None] == 7, np.nan, logits), labels), "NaN at row 7"),
        (lambda logits, labels: (logits[:0], labels[:0]), "no samples"),
        (lambda logits, labels: (logits, labels[:-1]), "60 samples but there are 59 labels"),
        (lambda logits, labels: (logits, np.zeros(60, dtype=int)), "one class only"),
        (lambda logits, labels: (logits[:, :1], labels), "1 column"),
        (lambda logits, labels: (logits, labels + 10 * (labels == 2) + 0.5), "Unknown label type"),
    ],
)
def test_input_that_cannot_be_used_is_refused_and_nothing_is_half_fitted(change, message):
    head = AutoHead(cv=2).fit(*honest(n_samples=60))
    with pytest.raises(ValueError, match=message):
        head.fit(*change(*honest(n_samples=60)))
    with pytest.raises(NotFittedError):
        head.predict(honest(n_samples=60)[0])


def test_probabilities_passed_as_logits_are_warned_about_once():
    logits, labels = honest(n_samples=100)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AutoHead(cv=2).fit(probabilities, labels)
    assert [str(one.message)[:32] for one in caught if "probabilities" in str(one.message)] == [
        "logits look like probabilities: "
    ]
    assert caught[0].filename == __file__


def test_before_it_is_fitted_it_says_so():
    for call in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match="AutoHead instance is not fitted yet"):
            getattr(AutoHead(), call)(np.zeros((2, 4)))


def test_another_width_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 4 features, but AutoHead is expecting 5"):
        fitted.predict(np.zeros((2, 4)))


def test_it_can_be_cloned_and_cross_validated():
    head = AutoHead(cv=2, alpha=0.1, class_weight="balanced", n_jobs=1)
    assert clone(head).get_params() == head.get_params()
    assert cross_val_score(AutoHead(cv=2, n_jobs=1), *weak_samples(n_samples=200), cv=2).mean() > 0.3


def test_a_data_frame_with_the_classes_in_another_order_is_refused():
    """Found by a new user: a head fitted on an array took the columns in the order they came."""
    logits, labels = weak_samples()
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    head = AutoHead(cv=2).fit(logits, names[labels])
    reordered = pd.DataFrame(logits, columns=names)[names[::-1]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        for method in (head.predict, head.predict_proba):
            with pytest.raises(ValueError, match=r"columns of X are \('eel', .*in the order of classes_"):
                method(reordered)
        np.testing.assert_array_equal(head.predict(reordered[names]), head.predict(logits))


def test_columns_that_a_file_calls_0_1_2_are_in_the_order_of_the_classes(fitted):
    logits, _ = weak_samples()
    frame = pd.DataFrame(logits, columns=list("01234"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        np.testing.assert_array_equal(fitted.predict(frame), fitted.predict(logits))


def test_a_head_that_makes_no_use_of_features_predicts_without_them(tmp_path):
    logits, labels = honest()
    features = np.random.default_rng(0).normal(size=(len(logits), 6))
    head = AutoHead(cv=2, only_proven=True).fit(logits, labels, features=features)
    assert head.chosen_ == "softmax"
    aftermax.save(head, tmp_path / "head.npz")
    for one in (head, aftermax.load(tmp_path / "head.npz")):
        assert not one.fitted_head_.uses_features
        np.testing.assert_array_equal(one.predict_proba(logits), one.predict_proba(logits, features=features))
        np.testing.assert_array_equal(one.predict(logits), one.predict(logits, features=features))


def test_sparse_features_are_refused_with_the_cure():
    logits, labels = honest()
    with pytest.raises(ValueError, match=r"features are a sparse matrix: pass a dense one, such as features\.toarray"):
        AutoHead().fit(logits, labels, features=csr_array(np.eye(len(logits))))


def test_a_budget_that_does_not_exist_is_refused_and_each_that_does_is_taken():
    logits, labels = weak_samples(n_samples=120)
    with pytest.raises(ValueError, match="budget='slow' is not possible: choose one of 'fast', 'standard', 'thorough'"):
        AutoHead(budget="slow").fit(logits, labels)
    gains = {budget: AutoHead(cv=2, budget=budget).fit(logits, labels).gain_ for budget in BUDGETS}
    assert len(set(gains.values())) == 1  # with few samples, all are the same
