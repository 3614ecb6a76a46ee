"""AutoHead: the candidates, the choice, the guard, and what users may pass."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.utils import check_random_state

from aftermax import AutoHead
from aftermax._residual.fitting import fit_corrections, fit_softmax_temperature
from aftermax._residual.head import compact
from aftermax._residual.samples import Samples
from aftermax._utils.folds import content_order, stratified_folds
from aftermax._utils.paired_tests import paired_p_value, wins_and_losses
from aftermax.auto._cross_fitting import cross_fit
from aftermax.data import load_vmnist
from helpers.auto_heads import CROSS_FIT, weak, without_corrections
from helpers.samples import make_samples

GIVEN = ["gain_", "gain_interval_", "p_value_", "chosen_", "weights_"]


def honest(rows=400, seed=1, size=4):
    """Rows whose true probabilities are softmax's: there is nothing to gain."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(rows, size))
    return logits, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def gain_on(head, logits, labels, *features):
    before, after = logits.argmax(axis=1) != labels, head.predict(logits, *features) != labels
    return 1 - after.mean() / before.mean()


def log_loss(probabilities, labels):
    return -np.log(probabilities[np.arange(len(labels)), labels]).mean()


@pytest.fixture(scope="module")
def fitted():
    return AutoHead(cv=2).fit(*weak())


# ---- the choice ------------------------------------------------------------------------------------------------------


def test_it_finds_the_gain_proves_it_and_keeps_it_on_new_rows(fitted):
    logits, labels = weak(rows=4000, seed=2)
    low, high = fitted.gain_interval_
    assert fitted.chosen_ == "combination"
    assert fitted.p_value_ < 0.001
    assert 0.1 < low < fitted.gain_ < high
    assert low < gain_on(fitted, logits, labels) < high


def test_on_a_real_network_it_beats_what_sph_finds():
    scores = load_vmnist(500)
    head = AutoHead(cv=2).fit(scores.val_logits[:800], scores.val_labels[:800])
    assert head.chosen_ == "combination"
    assert gain_on(head, scores.test_logits, scores.test_labels) > 0.25
    assert head.candidates_["combination"].gain > head.candidates_["sph"].gain


@pytest.mark.parametrize("seed", range(6))
def test_where_softmax_is_right_it_stays(seed):
    logits, labels = honest(seed=seed)
    head = AutoHead(cv=2, alpha=0.01).fit(logits, labels)
    assert head.chosen_ == "softmax"
    np.testing.assert_array_equal(head.predict(logits), logits.argmax(axis=1))


def test_the_guard_lets_chance_pass_no_more_often_than_it_says():
    """Among forty heads on rows where nothing can be gained, those that chance lets pass at 5 % are few."""
    rng = np.random.default_rng(0)
    passed = 0
    for seed in range(40):
        logits, labels = honest(rows=60, seed=1000 + seed, size=2)
        passed += AutoHead(cv=2, random_state=int(rng.integers(1000))).fit(logits, labels).chosen_ != "softmax"
    assert passed <= 6


def test_nothing_short_of_proof_is_enough():
    head = AutoHead(cv=2, alpha=0.0).fit(*weak())
    assert head.chosen_ == "softmax"
    assert head.gain_ > 0.1
    logits, _ = weak(seed=3)
    np.testing.assert_array_equal(head.predict(logits), logits.argmax(axis=1))


def test_gain_p_value_and_table_follow_from_the_answers_to_rows_held_out(fitted):
    logits, labels = weak()
    before, after = logits.argmax(axis=1) == labels, fitted.held_out_ == labels
    wins, losses, errors = wins_and_losses(before, after)
    row = fitted.candidates_["combination"]
    assert (row.wins, row.losses) == (wins, losses)
    assert fitted.gain_ == row.gain == (wins - losses) / errors
    assert row.error == pytest.approx(1 - after.mean())
    assert fitted.candidates_["softmax"].error == pytest.approx(1 - before.mean())
    assert fitted.candidates_["softmax"].p_value == 1.0


def test_answers_held_out_are_those_of_heads_fitted_without_the_row():
    logits, labels = weak(rows=120)
    held_out = AutoHead(cv=3).fit(logits, labels).held_out_
    rng = np.random.default_rng(check_random_state(0).randint(2**31))
    order = content_order(logits, labels)
    rng.permutation(120)  # which rows are fitted on, if they were very many
    sample = Samples(logits[order], labels[order], np.ones(120))
    folds = stratified_folds(sample.codes, 3, rng)
    generators = rng.spawn(4)
    for fold in range(3):
        head = compact(fit_corrections(sample.take(folds != fold), generators[fold])["combination"])
        answers = head.scores([sample.logits[folds == fold]]).argmax(axis=1)
        np.testing.assert_array_equal(held_out[order[folds == fold]], answers)


def test_the_table_can_be_read_and_put_into_json(fitted):
    text = repr(fitted.candidates_)
    assert text.count("\n") == len(fitted.candidates_) + 1
    chosen = next(line for line in text.splitlines() if line.startswith("* ") and "chosen" not in line)
    assert "combination" in chosen
    for name in ("softmax", "biases", "gaussian", "linear", "kernel", "combination", "sph"):
        assert name in text
    assert json.loads(json.dumps(fitted.candidates_.to_dict()))["kernel"]["wins"] == fitted.candidates_["kernel"].wins


def test_sph_is_taken_where_it_is_better_than_the_combination(monkeypatch):
    """The combination is kept from learning anything; then SPH has the field."""
    monkeypatch.setattr(CROSS_FIT, without_corrections(cross_fit))
    logits, labels = weak(rows=600)
    head = AutoHead(cv=2).fit(logits, labels)
    assert head.chosen_ == "sph"
    assert head.gain_ == head.candidates_["sph"].gain > 0
    assert gain_on(head, *weak(rows=2000, seed=2)) > 0.1
    probabilities = head.predict_proba(logits)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), head.predict(logits))


def test_sph_that_would_answer_as_softmax_is_never_chosen():
    """Found in review: SPH passed AutoHead's test, but had kept softmax by its own."""
    logits, labels = make_samples(seed=8, rows=80, home=3.0, noise=1.2)
    head = AutoHead(cv=2).fit(logits, labels)
    changed = np.mean(head.predict(logits) != logits.argmax(axis=1))
    assert (head.chosen_ == "softmax") == (changed == 0)


def test_with_sph_chosen_probabilities_are_no_worse_than_with_a_temperature(monkeypatch):
    monkeypatch.setattr(CROSS_FIT, without_corrections(cross_fit))
    logits, labels = weak(rows=600)
    head = AutoHead(cv=2).fit(4 * logits, labels)
    assert head.chosen_ == "sph"
    new, truth = weak(rows=3000, seed=2)
    scaled = 4 * new / head.fitted_head_.softmax_temperature
    softmax = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    assert log_loss(head.predict_proba(4 * new), truth) < log_loss(softmax, truth) + 0.02


# ---- probabilities ---------------------------------------------------------------------------------------------------


def test_probabilities_are_calibrated_and_agree_with_the_answers(fitted):
    logits, labels = weak(rows=4000, seed=2)
    probabilities = fitted.predict_proba(logits)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(logits))
    assert probabilities.max(axis=1).mean() == pytest.approx(np.mean(fitted.predict(logits) == labels), abs=0.04)
    scaled = logits / fit_softmax_temperature(Samples(*weak(), np.ones(400)))
    softmax = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    assert log_loss(probabilities, labels) < log_loss(softmax, labels)


def test_where_softmax_stays_probabilities_are_those_of_temperature_scaling():
    logits, labels = honest()
    head = AutoHead(cv=2, alpha=0.0).fit(4 * logits, labels)
    probabilities = head.predict_proba(4 * logits)
    expected = np.exp(4 * logits / head.fitted_head_.temperature)
    np.testing.assert_allclose(probabilities, expected / expected.sum(axis=1, keepdims=True))
    assert head.fitted_head_.temperature == pytest.approx(4.0, rel=0.3)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), logits.argmax(axis=1))


def test_equal_logits_get_the_same_answer_from_both(fitted):
    rows = np.zeros((3, 5))
    np.testing.assert_array_equal(fitted.predict_proba(rows).argmax(axis=1), fitted.predict(rows))
    kept = AutoHead(cv=2, alpha=0.0).fit(*weak())
    np.testing.assert_array_equal(kept.predict(rows), [0, 0, 0])
    np.testing.assert_array_equal(kept.predict_proba(rows).argmax(axis=1), [0, 0, 0])


# ---- the same answer every time --------------------------------------------------------------------------------------


def test_any_number_of_jobs_and_any_order_of_rows_give_the_same(fitted):
    logits, labels = weak()
    alone = AutoHead(cv=2, n_jobs=1).fit(logits, labels)
    order = np.random.default_rng(0).permutation(len(labels))
    shuffled = AutoHead(cv=2).fit(logits[order], labels[order])
    new, _ = weak(rows=3000, seed=4)
    for other in (alone, shuffled):
        assert [getattr(other, name) for name in GIVEN] == [getattr(fitted, name) for name in GIVEN]
        np.testing.assert_array_equal(other.predict_proba(new), fitted.predict_proba(new))
    np.testing.assert_array_equal(alone.held_out_, fitted.held_out_)
    np.testing.assert_array_equal(shuffled.held_out_, fitted.held_out_[order])


def test_rows_are_answered_one_by_one_as_all_at_once(fitted):
    new, _ = weak(rows=1500, seed=5)
    together = fitted.predict(new)
    np.testing.assert_array_equal([fitted.predict(row[None])[0] for row in new[:50]], together[:50])
    probabilities = fitted.predict_proba(new)
    np.testing.assert_array_equal([fitted.predict_proba(row[None])[0] for row in new[:50]], probabilities[:50])
    for count in (2, 65, 1025):
        np.testing.assert_array_equal(fitted.predict_proba(new[:count]), probabilities[:count])
    np.testing.assert_array_equal(fitted.predict(new[700:]), together[700:])


def test_another_random_state_divides_the_rows_anew(fitted):
    assert AutoHead(cv=2, random_state=1).fit(*weak()).gain_interval_ != fitted.gain_interval_


# ---- features, weights -----------------------------------------------------------------------------------------------


def with_features(rows=400, seed=1):
    """Features that know the class where the logits do not."""
    logits, labels = honest(rows=rows, seed=seed)
    rng = np.random.default_rng(seed + 50)
    return logits, labels, np.random.default_rng(9).normal(size=(4, 8))[labels] + rng.normal(size=(rows, 8))


def test_features_are_used_where_they_help():
    head = AutoHead(cv=2).fit(*with_features())
    logits, labels, features = with_features(rows=2000, seed=2)
    assert head.chosen_ == "combination"
    assert gain_on(head, logits, labels, features) > 0.3
    assert head.score(logits, labels, features=features) == np.mean(head.predict(logits, features) == labels)
    assert head.weights_["kernel of features"] + head.weights_["linear of features"] > 0
    probabilities = head.predict_proba(logits, features)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), head.predict(logits, features))


def test_features_must_come_with_the_rows_if_they_came_with_fit():
    logits, labels, features = with_features(rows=200)
    head = AutoHead(cv=2).fit(logits, labels, features=features)
    with pytest.raises(ValueError, match="fitted with features: pass those of these samples too \\(8 columns\\)"):
        head.predict(logits)
    with pytest.raises(ValueError, match="features have 7 columns, but the head was fitted on 8"):
        head.predict_proba(logits, features[:, :7])
    with pytest.raises(ValueError, match="fitted without features"):
        AutoHead(cv=2).fit(logits, labels).predict(logits, features)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((10, 3)), "features have 10 samples but logits have 60"),
        (np.ones(60), r"features have shape \(60,\)"),
        (np.ones((60, 2, 2)), "Flatten a layer"),
        (np.full((60, 2), np.nan), "features contain nan at row 0, column 0"),
        (np.full((60, 2), "a"), "features are of type"),
    ],
)
def test_features_that_cannot_be_used_are_refused(features, message):
    logits, labels = honest(rows=60)
    with pytest.raises(ValueError, match=message):
        AutoHead(cv=2).fit(logits, labels, features)


def imbalanced(rows, seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, p=[0.8, 0.1, 0.1], size=rows)
    return make_samples(seed=seed, size=3, home=1.0, labels=labels)


def test_balanced_weights_improve_balanced_accuracy():
    plain = AutoHead(cv=4).fit(*imbalanced(900, 1))
    balanced = AutoHead(cv=4, class_weight="balanced").fit(*imbalanced(900, 1))
    logits, labels = imbalanced(5000, 2)
    of_plain, of_balanced = (balanced_accuracy_score(labels, head.predict(logits)) for head in (plain, balanced))
    assert of_balanced > of_plain + 0.02
    assert balanced.chosen_ == "combination"
    assert "sph" not in balanced.candidates_
    assert "only wins and losses are plain counts" in repr(balanced.candidates_)
    _, own = imbalanced(900, 1)
    recalls = np.array([np.mean(balanced.held_out_[own == k] == k) for k in range(3)])
    assert balanced.candidates_["combination"].error == pytest.approx(1 - recalls.mean())


def test_a_weight_for_each_class_is_the_same_as_one_for_each_row():
    logits, labels = imbalanced(300, 1)
    by_class = AutoHead(cv=3, class_weight={0: 1.0, 1: 3.0, 2: 2.0}).fit(logits, labels)
    by_row = AutoHead(cv=3).fit(logits, labels, sample_weight=np.array([1.0, 3.0, 2.0])[labels])
    assert by_class.gain_ == by_row.gain_
    np.testing.assert_array_equal(by_class.predict_proba(logits), by_row.predict_proba(logits))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_rows_of_no_weight_are_as_good_as_absent(class_weight):
    logits, labels = weak(rows=300)
    weights = np.ones(300)
    weights[200:] = 0.0
    with_them = AutoHead(cv=3, class_weight=class_weight).fit(logits, labels, sample_weight=weights)
    without = AutoHead(cv=3, class_weight=class_weight).fit(logits[:200], labels[:200])
    np.testing.assert_array_equal(with_them.predict_proba(logits), without.predict_proba(logits))
    assert with_them.held_out_.shape == (300,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\) but there are 60 samples"),
        ({"sample_weight": np.full(60, -1.0)}, "sample_weight holds -1.0 at row 0"),
        ({"sample_weight": np.full(60, np.inf)}, "sample_weight holds inf at row 0"),
        ({"sample_weight": np.zeros(60)}, "sample_weight is zero everywhere"),
        ({"sample_weight": np.arange(60) < 1}, "All samples with non-zero sample_weight belong to one class"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AutoHead().fit(*honest(rows=60), **arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": 1}, "cv=1 is not possible"),
        ({"cv": "five"}, "cv='five' is not possible"),
        ({"alpha": 2.0}, "alpha=2.0 is out of range"),
        ({"class_weight": "even"}, "class_weight='even' is not known"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7, not among the classes"),
        ({"class_weight": {0: -1.0}}, "class_weight=-1.0 is out of range"),
        ({"class_weight": {0: "much"}}, "class_weight='much' is not a number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AutoHead(**settings).fit(*honest(rows=60))


# ---- what comes in ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
@pytest.mark.parametrize("rows", [2, 3, 5, 12, 40])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_few_rows_are_enough_to_keep_softmax(rows, size):
    logits, _ = honest(rows=rows, size=size)
    labels = np.arange(rows) % 2
    head = AutoHead(cv=2, classes=np.arange(size)).fit(logits, labels)
    probabilities = head.predict_proba(logits)
    assert np.isfinite(probabilities).all()
    np.testing.assert_array_equal(probabilities.argmax(axis=1), head.predict(logits))


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_classes_that_are_missing_or_rare_stay_possible():
    logits, labels = make_samples(rows=400, size=8, home=6.0)
    kept = (labels != 3) & ((labels != 5) | (np.cumsum(labels == 5) <= 2))
    head = AutoHead(cv=2, classes=np.arange(8)).fit(logits[kept], labels[kept])
    new, truth = make_samples(seed=9, rows=800, size=8, home=6.0)
    before, after = (np.mean(answers[truth == 3] == 3) for answers in (new.argmax(axis=1), head.predict(new)))
    assert after > 0.5 * before > 0
    assert head.predict_proba(new).shape == (800, 8)


def test_rare_classes_are_warned_about_where_softmax_goes():
    logits, labels = weak(rows=400)
    kept = (labels != 2) | (np.cumsum(labels == 2) <= 3)
    with pytest.warns(UserWarning, match="Fewer than 10 labelled samples: 2"):
        head = AutoHead(cv=2).fit(logits[kept], labels[kept])
    assert head.chosen_ != "softmax"


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_many_classes_take_no_longer_than_they_must():
    logits, labels = make_samples(rows=600, size=120, home=3.0)
    head = AutoHead(classes=np.arange(120), alpha=1.0, cv=2).fit(logits, labels)
    assert head.predict_proba(logits).shape == (600, 120)


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_a_masked_class_stays_masked_and_disturbs_nothing(fitted):
    logits, labels = weak()
    masked = np.column_stack([logits, np.full(len(logits), -1e4)])
    head = AutoHead(cv=2, classes=np.arange(6)).fit(masked, labels)
    new, truth = weak(rows=2000, seed=2)
    answers = head.predict(np.column_stack([new, np.full(len(new), -1e4)]))
    assert (answers != 5).all()
    assert np.mean(answers == truth) == pytest.approx(fitted.score(new, truth), abs=0.03)


def test_of_very_many_rows_a_part_is_fitted_on(monkeypatch):
    monkeypatch.setattr("aftermax.auto.head.MIN_SAMPLES", 300)
    monkeypatch.setattr("aftermax.auto.head.MAX_LOGITS", 10)
    logits, labels = weak(rows=900)
    head = AutoHead(cv=2).fit(logits, labels)
    assert head.held_out_.shape == (900,)
    assert np.mean(head.held_out_ == labels) > np.mean(logits.argmax(axis=1) == labels) + 0.05
    assert sum((head.candidates_["combination"].wins, head.candidates_["combination"].losses)) < 300
    kept = AutoHead(cv=2, alpha=0.0).fit(logits, labels)  # softmax stays; held out is still the best candidate
    np.testing.assert_array_equal(kept.held_out_, head.held_out_)


def test_labels_may_be_words_and_columns_may_have_headings(fitted):
    logits, labels = weak()
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
    head = AutoHead(cv=2).fit(*honest(rows=60))
    with pytest.raises(ValueError, match=message):
        head.fit(*change(*honest(rows=60)))
    with pytest.raises(NotFittedError):
        head.predict(honest(rows=60)[0])


def test_probabilities_passed_as_logits_are_warned_about_once():
    logits, labels = honest(rows=100)
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
    assert cross_val_score(AutoHead(cv=2, n_jobs=1), *weak(rows=200), cv=2).mean() > 0.3


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_improvement_in_errors_and_in_log_loss_count_together():
    rng = np.random.default_rng(0)
    errors = np.where(np.arange(200) < 5, 1.0, 0.0)
    losses = rng.normal(0.1, 1.0, size=200)
    together = paired_p_value(errors, losses, np.ones(200))
    assert together < paired_p_value(errors, np.zeros(200), np.ones(200))
    assert together < paired_p_value(np.zeros(200), losses, np.ones(200))
    assert paired_p_value(-errors, -losses, np.ones(200)) > 0.95


@pytest.mark.parametrize("columns", [1, 5])
def test_the_temperature_of_masked_logits_is_that_of_the_others(columns):
    logits, labels = honest(rows=2000)
    masked = np.column_stack([logits, np.full((2000, columns), -1e4)])
    plain, with_mask = (fit_softmax_temperature(Samples(values, labels, np.ones(2000))) for values in (logits, masked))
    assert with_mask == pytest.approx(plain, rel=0.02)
    assert plain == pytest.approx(1.0, rel=0.1)


def test_a_data_frame_with_the_classes_in_another_order_is_refused():
    """Found by a new user: a head fitted on an array took the columns in the order they came."""
    logits, labels = weak()
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    head = AutoHead(cv=2).fit(logits, names[labels])
    reordered = pd.DataFrame(logits, columns=names)[names[::-1]]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has feature names")
        for method in (head.predict, head.predict_proba):
            with pytest.raises(ValueError, match=r"columns of X are \('eel', .*in the order of classes_"):
                method(reordered)
        np.testing.assert_array_equal(head.predict(reordered[names]), head.predict(logits))
