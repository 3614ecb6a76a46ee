"""Decider: decisions that cost less on new samples, for any head, and honest about it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TimeSeriesSplit

from aftermax import AutoHead, Decider, SoftmaxClassifier, SPHClassifier, audit, check, load, save
from aftermax.decide.objectives import METRICS, confusion_matrix
from helpers.auto_heads import honest
from helpers.samples import make_samples, weak_samples

COSTS = 1.0 - np.eye(5)
COSTS[2] *= 10
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
SOFTMAX = SoftmaxClassifier()


@pytest.fixture(scope="module")
def fitted():
    return Decider(SOFTMAX, costs=COSTS).fit(*make_samples())


def mean_cost(labels, decisions, costs=COSTS):
    return costs[labels, decisions].mean()


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_decisions_cost_less_than_predictions_on_new_samples(fitted):
    logits, labels = make_samples(seed=1, n_samples=4_000)
    assert mean_cost(labels, fitted.predict(logits)) < 0.8 * mean_cost(labels, logits.argmax(axis=1))


def test_probabilities_stay_those_of_the_head(fitted):
    logits, _ = make_samples(seed=1)
    np.testing.assert_array_equal(fitted.predict_proba(logits), fitted.head_.predict_proba(logits))
    assert (fitted.predict(logits) != fitted.predict_proba(logits).argmax(axis=1)).any()


def test_the_outcome_is_that_of_the_out_of_fold_decisions(fitted):
    logits, labels = make_samples()
    outcome = fitted.outcome_
    assert outcome.decided == pytest.approx(mean_cost(labels, fitted.held_out_))
    assert outcome.softmax == pytest.approx(mean_cost(labels, logits.argmax(axis=1)))
    assert outcome.improvement == pytest.approx(outcome.softmax - outcome.decided)
    assert outcome.improvement_interval[0] < outcome.improvement < outcome.improvement_interval[1]
    assert outcome.candidates[outcome.rule] == pytest.approx(outcome.decided, rel=0.2)
    assert outcome.proven
    assert outcome.verdict.startswith(f"Yes: expected cost {outcome.softmax:.3g} -> {outcome.decided:.3g} a sample (")
    assert "of the head's plain predictions" in repr(outcome)


def test_a_metric_is_raised_on_new_samples():
    rng = np.random.default_rng(0)
    rare = rng.choice(5, p=[0.6, 0.3, 0.04, 0.03, 0.03], size=5_000)
    logits, labels = make_samples(labels=rare)
    logits = logits + np.log([0.6, 0.3, 0.04, 0.03, 0.03])
    for metric, objective in METRICS.items():
        decider = Decider(SOFTMAX, metric=metric).fit(logits[:1_500], labels[:1_500])
        plain, decided = (
            objective.value(confusion_matrix(labels[1_500:], some, np.ones(3_500), 5))
            for some in (logits[1_500:].argmax(axis=1), decider.predict(logits[1_500:]))
        )
        assert decided > plain + 0.01, metric
        assert decider.outcome_.decided == pytest.approx(decided, abs=0.1)
        assert not decider.outcome_.is_cost


def test_any_callable_of_the_confusion_matrix_is_a_metric():
    def recall_of_two(confusion):
        return confusion[2, 2] / confusion[2].sum() - 0.001 * confusion[:, 2].sum() / confusion.sum()

    decider = Decider(SOFTMAX, metric=recall_of_two).fit(*make_samples())
    logits, labels = make_samples(seed=1)
    assert np.mean(decider.predict(logits)[labels == 2] == 2) > np.mean(logits.argmax(axis=1)[labels == 2] == 2)
    assert decider.outcome_.objective == "recall_of_two"


def test_zero_one_costs_decide_as_the_head_predicts():
    logits, labels = make_samples()
    decider = Decider(SoftmaxClassifier(temperature=1.0), costs=1.0 - np.eye(5)).fit(logits, labels)
    if decider.rule_ == "lowest expected cost":
        np.testing.assert_array_equal(decider.predict(logits), logits.argmax(axis=1))
    assert decider.outcome_.softmax == pytest.approx(np.mean(logits.argmax(axis=1) != labels))


def test_the_right_decision_need_not_be_free_and_costs_may_be_gains():
    logits, labels = make_samples()
    shifted = COSTS - 3.0 * np.arange(5)[:, None]  # what each true class costs or gains, whatever is decided
    decider = Decider(SOFTMAX, costs=shifted).fit(logits, labels)
    again = Decider(SOFTMAX, costs=COSTS).fit(logits, labels)
    np.testing.assert_array_equal(decider.predict(logits), again.predict(logits))
    assert decider.outcome_.improvement == pytest.approx(again.outcome_.improvement)
    assert decider.outcome_.softmax < 0


# ---- heads -----------------------------------------------------------------------------------------------------------


def test_the_default_head_is_auto_head_with_its_own_out_of_fold_probabilities():
    logits, labels = weak_samples(300)
    decider = Decider(costs=COSTS, n_jobs=1).fit(logits, labels)
    assert isinstance(decider.head_, AutoHead)
    np.testing.assert_array_equal(decider.held_out_proba_, decider.head_.held_out_proba_)
    assert decider.chosen_.startswith(decider.head_.chosen_)
    assert decider.outcome_.decided < decider.outcome_.softmax


def test_any_classifier_is_cross_validated():
    logits, labels = make_samples()
    decider = Decider(LogisticRegression(), costs=COSTS).fit(logits, NAMES[labels])
    in_sample = decider.predict_proba(logits)
    assert np.isfinite(decider.held_out_proba_).all()
    assert np.abs(in_sample - decider.held_out_proba_).max() > 1e-3
    new, truth = make_samples(seed=1, n_samples=2_000)
    codes = np.searchsorted(NAMES, decider.predict(new))
    assert mean_cost(truth, codes) < mean_cost(truth, new.argmax(axis=1))


def test_a_fold_without_a_class_gives_it_no_chance():
    logits, labels = make_samples(n_samples=120)
    labels = np.where(labels == 4, 3, labels)
    labels[:2] = 4
    decider = Decider(LogisticRegression(), costs=COSTS, cv=3).fit(logits, labels)
    np.testing.assert_allclose(decider.held_out_proba_.sum(axis=1), 1.0)


def test_sph_has_no_out_of_fold_probabilities_and_is_cross_validated():
    decider = Decider(SPHClassifier(), costs=COSTS).fit(*make_samples())
    assert np.isfinite(decider.held_out_proba_).all()


def test_a_fitted_head_and_costs_decide_without_labels():
    logits, labels = make_samples()
    head = SoftmaxClassifier().fit(pd.DataFrame(logits, columns=NAMES), NAMES[labels])
    frame = pd.DataFrame(COSTS, index=NAMES, columns=NAMES).iloc[::-1]
    decider = Decider.from_fitted(head, costs=frame)
    expected = (head.predict_proba(pd.DataFrame(logits, columns=NAMES)) @ COSTS).argmin(axis=1)
    np.testing.assert_array_equal(decider.predict(pd.DataFrame(logits, columns=NAMES)), NAMES[expected])
    assert decider.outcome_ is None
    with pytest.raises(TypeError, match="from_fitted got a LogisticRegression"):
        Decider.from_fitted(LogisticRegression(), costs=COSTS)


# ---- samples ---------------------------------------------------------------------------------------------------------


def test_features_go_to_the_head():
    logits, labels = weak_samples(300)
    features = np.random.default_rng(0).normal(size=(300, 3)) + labels[:, None]
    decider = Decider(AutoHead(cv=2, budget="fast", n_jobs=1), costs=COSTS).fit(logits, labels, features=features)
    assert decider.features_width_ == 3
    assert decider.predict(logits, features).shape == (300,)
    if decider.fitted_head_.uses_features:
        with pytest.raises(ValueError, match="fitted with features"):
            decider.predict(logits)


def test_one_logit_of_a_binary_model_and_strings():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=400)
    logits = 2.0 * codes - 1.0 + 1.5 * rng.normal(size=400)
    decider = Decider(SOFTMAX, costs=[[0, 1], [10, 0]], classes=["ham", "spam"]).fit(
        logits, np.array(["ham", "spam"])[codes]
    )
    assert np.mean(decider.predict(logits) == "spam") > np.mean(logits > 0) + 0.1
    assert decider.predict_proba(logits).shape == (400, 2)


def test_a_class_without_labels_can_still_be_decided_for():
    logits, labels = make_samples()
    some = labels != 4
    costs = COSTS.copy()
    costs[:, 4] -= 20.0  # the decision for the last class pays, whatever the truth
    decider = Decider(SOFTMAX, costs=costs, classes=np.arange(5)).fit(logits[some], labels[some])
    assert decider.rule_ == "lowest expected cost"
    np.testing.assert_array_equal(decider.predict(logits), 4)
    Decider(SOFTMAX, metric="macro_f1", classes=np.arange(5)).fit(logits[some], labels[some])


def test_weights_and_groups_count():
    logits, labels = make_samples(n_samples=200)
    weights = np.where(labels == 2, 3.0, 1.0)
    weighted = Decider(SOFTMAX, costs=COSTS).fit(logits, labels, sample_weight=weights)
    expected = np.average(COSTS[labels, logits.argmax(axis=1)], weights=weights)
    assert weighted.outcome_.softmax == pytest.approx(expected)
    groups = np.arange(200) // 4
    grouped = Decider(SOFTMAX, costs=COSTS).fit(logits, labels, groups=groups)
    assert grouped.outcome_.groups == 50
    assert "200 samples in 50 groups" in grouped.outcome_.verdict
    zero = Decider(SOFTMAX, costs=COSTS).fit(logits, labels, sample_weight=(np.arange(200) < 150).astype(float))
    assert zero.outcome_.rows == 150


def test_nothing_depends_on_the_order_of_the_samples():
    logits, labels = make_samples(n_samples=200)
    order = np.random.default_rng(0).permutation(200)
    one = Decider(SOFTMAX, metric="macro_f1").fit(logits, labels)
    other = Decider(SOFTMAX, metric="macro_f1").fit(logits[order], labels[order])
    np.testing.assert_array_equal(one.held_out_[order], other.held_out_)
    assert one.outcome_ == other.outcome_
    new, _ = make_samples(seed=1)
    np.testing.assert_array_equal(one.predict(new), other.predict(new))


def test_samples_that_a_splitter_never_holds_out_are_no_evidence():
    logits, labels = make_samples(n_samples=200)
    decider = Decider(LogisticRegression(), costs=COSTS, cv=TimeSeriesSplit(4)).fit(logits, labels)
    assert decider.outcome_.rows == decider.held_out_mask_.sum() == 160


# ---- audit and files -------------------------------------------------------------------------------------------------


def test_the_verdict_of_an_audit_is_about_what_was_asked_for():
    logits, labels = make_samples()
    result = audit(logits, labels, Decider(SOFTMAX, costs=COSTS))
    assert result.verdict == result.head.outcome_.verdict
    assert "expected cost of softmax" in repr(result)
    assert result.to_dict()["outcome"]["rule"] == result.head.rule_
    by_metric = audit(logits, labels, Decider(SOFTMAX, metric="macro_f1"))
    assert "macro-F1" in by_metric.verdict


def test_an_audit_passes_class_weights_to_the_head_that_is_decided_on():
    logits, labels = weak_samples(300)
    inner = AutoHead(cv=2, budget="fast", n_jobs=1)
    result = audit(logits, labels, Decider(inner, costs=COSTS), class_weight={2: 5.0})
    assert result.head.head.class_weight == {2: 5.0}
    weights = np.where(labels == 2, 5.0, 1.0)
    expected = np.average(COSTS[labels, logits.argmax(axis=1)], weights=weights)
    assert result.outcome.softmax == pytest.approx(expected)


@pytest.mark.parametrize("asked", [{"costs": COSTS}, {"metric": "balanced_accuracy"}], ids=["costs", "metric"])
def test_a_decider_is_saved_and_loaded(asked, tmp_path):
    logits, labels = make_samples()
    decider = Decider(SOFTMAX, **asked).fit(logits, NAMES[labels])
    save(decider, tmp_path / "decider.npz")
    loaded = load(tmp_path / "decider.npz")
    new, _ = make_samples(seed=1)
    np.testing.assert_array_equal(loaded.predict(new), decider.predict(new))
    np.testing.assert_array_equal(loaded.predict_proba(new), decider.predict_proba(new))
    assert (loaded.outcome_, loaded.rule_, loaded.chosen_) == (decider.outcome_, decider.rule_, decider.chosen_)
    assert repr(loaded.head) == repr(SOFTMAX)
    again = clone(loaded).fit(logits, NAMES[labels])
    np.testing.assert_array_equal(again.predict(new), decider.predict(new))


def test_what_cannot_be_saved_is_told(tmp_path):
    logits, labels = make_samples()
    by_callable = Decider(SOFTMAX, metric=lambda confusion: np.trace(confusion)).fit(logits, labels)
    save(by_callable, tmp_path / "decider.npz")
    assert load(tmp_path / "decider.npz").metric is None
    other = Decider(LogisticRegression(), costs=COSTS).fit(logits, labels)
    with pytest.raises(TypeError, match="A Decider with a LogisticRegression cannot be saved"):
        save(other, tmp_path / "decider.npz")


def test_a_fitted_head_with_costs_is_saved_too(tmp_path):
    head = SPHClassifier().fit(*make_samples())
    decider = Decider.from_fitted(head, costs=COSTS)
    save(decider, tmp_path / "decider.npz")
    new, _ = make_samples(seed=1)
    np.testing.assert_array_equal(load(tmp_path / "decider.npz").predict(new), decider.predict(new))


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"costs": COSTS, "metric": "macro_f1"}])
def test_costs_or_a_metric_are_needed(asked):
    with pytest.raises(ValueError, match="Decider needs costs or a metric, one of the two"):
        Decider(SOFTMAX, **asked).fit(*make_samples(n_samples=50))


@pytest.mark.parametrize("head", [LogisticRegression, "auto", Decider(costs=COSTS)])
def test_what_is_no_head_is_refused(head):
    with pytest.raises(TypeError, match="head is"):
        Decider(head, costs=COSTS).fit(*make_samples(n_samples=50))


def test_a_metric_that_fails_is_refused_in_fit():
    with pytest.raises(ValueError, match=r"metric <lambda> failed"):
        Decider(SOFTMAX, metric=lambda confusion: confusion.recall).fit(*make_samples(n_samples=50))
    with pytest.raises(ValueError, match="costs has shape"):
        Decider(SOFTMAX, costs=np.eye(3)).fit(*make_samples(n_samples=50))


def test_check_refuses_to_judge_costs_by_errors_and_still_notices_drift(fitted):
    logits, labels = make_samples(seed=1)
    with pytest.raises(ValueError, match="check counts errors: leave the labels out"):
        check(fitted, logits, labels)
    assert not check(fitted, logits).drift.drifted
    assert check(fitted, 3 * logits).drift.drifted


def test_check_takes_a_decider_without_costs_with_labels():
    logits, labels = make_samples()
    decider = Decider(SOFTMAX, max_error=0.2).fit(logits, labels)
    assert check(decider, *make_samples(seed=1)).against_softmax.wins == 0


def test_where_plain_predictions_are_kept_nothing_changes():
    logits, labels = honest()  # of which no rule makes fewer errors

    def accuracy(confusion):
        return np.trace(confusion) / confusion.sum()

    decider = Decider(SOFTMAX, metric=accuracy).fit(logits, labels)
    assert decider.rule_ == "plain predictions"
    np.testing.assert_array_equal(decider.held_out_, decider.predict(logits))
    assert decider.outcome_.decided == decider.outcome_.softmax
    assert "stays at" in decider.outcome_.verdict


def test_copies_of_few_samples_promise_nothing():
    logits, labels = make_samples(n_samples=15, n_classes=3)
    copies = np.repeat(logits, 10, axis=0), np.repeat(labels, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decider = Decider(SOFTMAX, max_error=0.05).fit(*copies)
    assert decider.abstention_.n_kept == 0


def test_certainties_that_single_precision_cannot_tell_apart_are_equal():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=1_000)
    logits = 30.0 * np.eye(3)[labels] + rng.normal(scale=8.0, size=(1_000, 3))
    decider = Decider(SoftmaxClassifier(temperature=1.0), max_error=0.02).fit(logits, labels)
    assert decider.abstention_.threshold < 1 - 1e-7
