"""Decider with max_error: the head decides alone what it is certain enough of."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from aftermax import Decider, SoftmaxClassifier, audit, load, save
from aftermax.data import load_vmnist
from helpers.samples import make_samples

SOFTMAX = SoftmaxClassifier()


@pytest.fixture(scope="module")
def scores():
    return load_vmnist(trained_on=500)


@pytest.fixture(scope="module")
def fitted(scores):
    return Decider(SOFTMAX, max_error=0.05).fit(scores.val_logits, scores.val_labels)


def test_the_promise_is_kept_on_new_samples_of_which_as_many_are_certain(fitted, scores):
    certain = fitted.is_certain(scores.test_logits)
    wrong = fitted.predict(scores.test_logits) != scores.test_labels
    assert certain.dtype == bool
    assert certain.mean() == pytest.approx(fitted.abstention_.share, abs=0.03)
    assert wrong[certain].mean() <= 0.05 < wrong.mean()


def test_certain_samples_are_those_above_the_threshold(fitted, scores):
    largest = fitted.predict_proba(scores.test_logits).max(axis=1)
    np.testing.assert_array_equal(fitted.is_certain(scores.test_logits), largest >= fitted.abstention_.threshold)


def test_max_error_alone_changes_no_prediction(fitted, scores):
    assert (fitted.predict(scores.test_logits) == scores.test_logits.argmax(axis=1)).all()
    assert (fitted.outcome_, fitted.rule_) == (None, "plain predictions")


def test_beside_costs_the_probability_of_the_decision_is_what_counts(scores):
    costs = 1.0 - np.eye(10)
    costs[3] *= 10
    both = Decider(SOFTMAX, costs=costs, max_error=0.1).fit(scores.val_logits, scores.val_labels)
    probabilities, decided = both.predict_proba(scores.test_logits), both.predict(scores.test_logits)
    assert both.outcome_ is not None
    assert both.abstention_.keeps_any
    certainty = probabilities[np.arange(len(decided)), decided]
    np.testing.assert_array_equal(both.is_certain(scores.test_logits), certainty >= both.abstention_.threshold)
    assert (decided != probabilities.argmax(axis=1)).any()


def test_a_classifier_of_scikit_learn_can_be_decided_on(scores):
    head = Decider(LogisticRegression(max_iter=300), max_error=0.1).fit(
        scores.val_logits[:800], scores.val_labels[:800]
    )
    assert 0 < head.is_certain(scores.test_logits).mean() <= 1


def test_groups_are_what_the_promise_counts(scores):
    groups = np.arange(len(scores.val_labels)) // 8
    head = Decider(SOFTMAX, max_error=0.05).fit(scores.val_logits, scores.val_labels, groups=groups)
    assert head.abstention_.n_groups == groups.max() + 1
    assert (
        head.abstention_.share
        < Decider(SOFTMAX, max_error=0.05).fit(scores.val_logits, scores.val_labels).abstention_.share
    )


def test_weights_are_what_the_promise_weighs(scores):
    weights = np.where(scores.val_labels == 3, 5.0, 1.0)
    head = Decider(SOFTMAX, max_error=0.1).fit(scores.val_logits, scores.val_labels, sample_weight=weights)
    assert head.abstention_.weighted
    assert (
        not Decider(SOFTMAX, max_error=0.1)
        .fit(scores.val_logits, scores.val_labels, sample_weight=np.full(4_000, 2.0))
        .abstention_.weighted
    )


def test_with_too_few_samples_every_sample_is_for_a_person(scores):
    head = Decider(SOFTMAX, max_error=0.02).fit(scores.val_logits[:100], scores.val_labels[:100])
    assert "needs at least 149" in str(head.abstention_)
    assert not head.is_certain(scores.test_logits).any()


def test_a_decider_without_max_error_says_that_it_decides_everything():
    head = Decider(SOFTMAX, metric="macro_f1").fit(*make_samples())
    assert head.abstention_ is None
    with pytest.raises(ValueError, match="no max_error"):
        head.is_certain(make_samples()[0])


@pytest.mark.parametrize("max_error", [0, 1, -0.1, math.nan, "2 %"])
def test_an_impossible_largest_error_is_refused(max_error):
    with pytest.raises(ValueError, match=r"max_error=.*: choose"):
        Decider(SOFTMAX, max_error=max_error).fit(*make_samples())


@pytest.mark.parametrize("confidence", [0, 1, 95, math.nan])
def test_an_impossible_confidence_is_refused(confidence):
    with pytest.raises(ValueError, match=r"confidence=.*: choose"):
        Decider(SOFTMAX, max_error=0.1, confidence=confidence).fit(*make_samples())


def test_the_order_of_the_samples_does_not_matter(scores):
    order = np.random.default_rng(0).permutation(600)
    some = [
        Decider(SOFTMAX, max_error=0.1).fit(scores.val_logits[rows], scores.val_labels[rows])
        for rows in (np.arange(600), order)
    ]
    assert some[0].abstention_ == some[1].abstention_


# ---- saved and audited -----------------------------------------------------------------------------------------------


def test_a_saved_head_is_as_certain_as_before(fitted, scores, tmp_path):
    save(fitted, tmp_path / "head.npz")
    loaded = load(tmp_path / "head.npz")
    assert loaded.abstention_ == fitted.abstention_
    assert (loaded.max_error, loaded.confidence) == (0.05, 0.95)
    np.testing.assert_array_equal(loaded.is_certain(scores.test_logits), fitted.is_certain(scores.test_logits))
    assert clone(loaded).max_error == 0.05


def test_nothing_certain_is_saved_too(scores, tmp_path):
    head = Decider(SOFTMAX, max_error=0.02).fit(scores.val_logits[:100], scores.val_labels[:100])
    save(head, tmp_path / "head.npz")
    assert str(load(tmp_path / "head.npz").abstention_) == str(head.abstention_)


def test_a_head_whose_threshold_is_not_the_promised_one_is_refused(fitted, tmp_path):
    other = clone(fitted)
    other.__dict__.update(fitted.__dict__)
    other.abstention_ = replace(fitted.abstention_, threshold=0.1)
    with pytest.raises(ValueError, match="threshold"):
        save(other, tmp_path / "head.npz")


def test_an_audit_says_what_is_decided_alone_and_how_the_head_does(scores):
    logits, labels = scores.val_logits[:1_500], scores.val_labels[:1_500]
    result = audit(logits, labels, Decider(SOFTMAX, max_error=0.1))
    text = str(result)
    assert "Decides alone: " in text
    assert "of the samples, of which at most 10 % are wrong (confidence 95 %)." in text
    assert result.to_dict()["abstention"]["max_error"] == 0.1
    assert result.risk_coverage.before[-1] == pytest.approx(result.error_before)
    assert result.risk_coverage.after[-1] == pytest.approx(result.error_after)
    assert "risk_coverage" not in result.to_dict()
