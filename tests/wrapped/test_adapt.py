"""adapt_priors: a head that assumes the class proportions of a new world, or stays as it is and says why."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import aftermax
from aftermax import AutoHead, Decider, SoftmaxClassifier, SPHClassifier, adapt_priors, load, save
from aftermax._wrapped.adapted import AdaptedHead
from helpers.label_shift import world

EQUAL, TRUE = np.full(4, 0.25), np.array([0.65, 0.2, 0.1, 0.05])
NAMES = np.array(["ant", "bee", "cat", "dog"])


@pytest.fixture(scope="module")
def head():
    logits, labels = world(EQUAL, 600, seed=0)
    return SoftmaxClassifier().fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def new():
    return world(TRUE, 800, seed=1)[0]


@pytest.fixture(scope="module")
def adapted(head, new):
    return adapt_priors(head, new)


def error(head, seed=2):
    logits, labels = world(TRUE, 5_000, seed)
    return (head.predict(logits) != NAMES[labels]).mean()


# ---- where the proportions have moved --------------------------------------------------------------------------------


def test_a_head_that_is_adapted_makes_fewer_errors(head, adapted):
    assert adapted.adaptation_.adapted
    assert isinstance(adapted.fitted_head_, AdaptedHead)
    assert error(adapted) < 0.9 * error(head)


def test_the_adaptation_tells_proportions_with_intervals(adapted):
    found = adapted.adaptation_
    assert found.classes == tuple(NAMES)
    assert found.n_samples == 800
    np.testing.assert_allclose(found.shares, TRUE, atol=0.06)
    assert all(low <= share <= high for share, (low, high) in zip(found.shares, found.intervals, strict=True))
    np.testing.assert_allclose(found.assumed_shares, EQUAL, atol=0.05)
    assert found.p_value < 0.001
    text = repr(found)
    assert text.startswith("Adapted: the class proportions have moved (p < 0.0001); ")
    assert "95 % interval" in text
    assert [line.split()[0] for line in text.splitlines()[-4:]] == list(NAMES)


def test_the_head_that_was_passed_is_not_changed(head, new):
    before = head.predict_proba(new)
    adapt_priors(head, new)
    assert head.adaptation_ is None
    np.testing.assert_array_equal(head.predict_proba(new), before)


def test_probabilities_are_calibrated_in_the_new_world(adapted):
    logits, labels = world(TRUE, 20_000, seed=3)
    shares = np.bincount(labels) / len(labels)
    np.testing.assert_allclose(adapted.predict_proba(logits).mean(axis=0), shares, atol=0.03)


def test_the_result_does_not_depend_on_the_order_of_the_samples(head, new, adapted):
    assert adapt_priors(head, new[::-1]).adaptation_ == adapted.adaptation_


def test_adapting_twice_starts_from_how_the_head_was_fitted(adapted, new):
    again = adapt_priors(adapted, new)
    assert again.adaptation_ == adapted.adaptation_
    assert not isinstance(again.fitted_head_.inner, AdaptedHead)
    back = adapt_priors(adapted, world(EQUAL, 800, seed=9)[0])
    assert not back.adaptation_.adapted
    assert back.fitted_head_.kind == "softmax"


def test_fit_forgets_the_adaptation(adapted):
    logits, labels = world(EQUAL, 300, seed=5)
    again = clone(adapted).fit(logits, NAMES[labels])
    assert again.adaptation_ is None
    assert again.fitted_head_.kind == "softmax"


def test_check_tells_the_gain_when_labels_come(adapted):
    logits, labels = world(TRUE, 1_000, seed=4)
    result = aftermax.check(adapted, logits, NAMES[labels])
    assert not result.keeps_softmax
    assert result.against_softmax.gain > 0.1


def test_auto_heads_are_adapted(new):
    logits, labels = world(EQUAL, 400, seed=0)
    head = AutoHead(budget="fast", cv=3).fit(logits * 2.0 + [1.0, 0.0, 0.0, -1.0], labels)
    adapted = adapt_priors(head, new * 2.0 + [1.0, 0.0, 0.0, -1.0])
    np.testing.assert_allclose(adapted.adaptation_.shares, TRUE, atol=0.08)
    assert adapted.adaptation_.is_calibrated


def test_the_ratio_is_to_the_shares_that_a_weighted_head_assumes(new):
    logits, labels = world([0.7, 0.1, 0.1, 0.1], 600, seed=0)
    head = AutoHead(budget="fast", cv=3, class_weight="balanced").fit(logits, labels)
    found = adapt_priors(head, new).adaptation_
    np.testing.assert_allclose(found.assumed_shares, EQUAL, atol=0.03)
    np.testing.assert_allclose(found.shares, TRUE, atol=0.08)


def test_one_logit_is_adapted():
    logits, labels = world(np.array([0.5, 0.5]), 600, seed=0)
    head = SoftmaxClassifier().fit(logits[:, 1] - logits[:, 0], labels)
    shifted, classes = world(np.array([0.93, 0.07]), 600, seed=1)
    adapted = adapt_priors(head, shifted[:, 1] - shifted[:, 0])
    assert adapted.adaptation_.adapted
    assert abs(adapted.adaptation_.shares[1] - 0.07) < 0.05
    test = shifted[:, 1] - shifted[:, 0]
    assert (adapted.predict(test) != classes).mean() < (head.predict(test) != classes).mean()


def test_a_class_without_labels_is_named_and_never_adapted(new):
    logits, labels = world(EQUAL, 600, seed=0)
    kept = labels != 3
    head = SoftmaxClassifier(classes=[0, 1, 2, 3]).fit(logits[kept], labels[kept])
    found = adapt_priors(head, new).adaptation_
    assert found.reason.endswith("No labelled sample has the class 3: its proportion cannot be told.")
    assert np.isfinite(found.shares).all()


def test_data_frames_and_groups_are_taken():
    logits, labels = world(EQUAL, 300, seed=0)
    head = SoftmaxClassifier().fit(pd.DataFrame(logits, columns=NAMES), NAMES[labels])
    new, groups = world(TRUE, 300, seed=1)[0], np.arange(300) // 3
    found = adapt_priors(head, pd.DataFrame(new, columns=NAMES), groups=groups).adaptation_
    assert found.n_groups == 100
    assert "300 unlabelled samples of 100 groups" in found.verdict


# ---- where they have not, or more has --------------------------------------------------------------------------------


def test_where_nothing_has_moved_the_head_stays_as_it_is(head):
    logits = world(EQUAL, 500, seed=6)[0]
    same = adapt_priors(head, logits)
    assert not same.adaptation_.adapted
    assert same.adaptation_.reason.startswith("that the class proportions have moved is not proven")
    np.testing.assert_array_equal(same.predict_proba(logits), head.predict_proba(logits))


def test_a_mild_move_that_would_gain_little_is_told_and_not_adapted_to(head):
    found = adapt_priors(head, world([0.28, 0.26, 0.25, 0.21], 5_000, seed=7)[0]).adaptation_
    assert not found.adapted
    if found.p_value < 0.05:
        assert "not likely enough" in found.reason


def test_without_the_guard_it_is_adapted_in_any_case(head):
    found = adapt_priors(head, world(EQUAL, 500, seed=6)[0], guard=False)
    assert found.adaptation_.adapted
    assert isinstance(found.fitted_head_, AdaptedHead)


def test_other_samples_are_warned_of_and_change_nothing(head, new):
    with pytest.warns(UserWarning, match="more or less certain of these samples.* The head stays as it is"):
        same = adapt_priors(head, new * 0.3)
    assert not same.adaptation_.adapted
    assert "more than the class proportions has changed" in same.adaptation_.reason


# ---- what it cannot do -----------------------------------------------------------------------------------------------


def test_a_head_without_out_of_fold_probabilities_says_so(head, new):
    old = load_as_older(head)
    found = adapt_priors(old, new).adaptation_
    assert not found.is_calibrated
    assert "taken as they are" in repr(found)
    np.testing.assert_allclose(found.shares, TRUE, atol=0.08)


def load_as_older(head):
    """As from a file of before there were summaries of labelled samples."""
    from copy import copy

    older = copy(head)
    older.labelled_summary_ = None
    return older


def test_a_head_that_knows_no_class_shares_is_refused(new):
    logits, labels = world(EQUAL, 200, seed=0)
    with pytest.raises(ValueError, match="does not know the class proportions"):
        adapt_priors(SPHClassifier().fit(logits, labels), new)


def test_other_objects_and_unfitted_heads_are_refused(new):
    with pytest.raises(TypeError, match="LogisticRegression cannot be adapted"):
        adapt_priors(LogisticRegression(), new)
    with pytest.raises(NotFittedError, match="call fit before you adapt it"):
        adapt_priors(SoftmaxClassifier(), new)


def test_too_few_samples_are_refused(head, new):
    with pytest.raises(ValueError, match="There are 19 unlabelled samples: pass at least 20"):
        adapt_priors(head, new[:19])


def test_samples_that_are_no_logits_of_these_classes_are_refused(head, new):
    broken = new.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        adapt_priors(head, broken)
    with pytest.raises(ValueError, match=r"3 columns|3 features"):
        adapt_priors(head, new[:, :3])
    with pytest.raises(ValueError, match="fitted without features"):
        adapt_priors(fitted_without_features(), new, features=new)


def fitted_without_features():
    logits, labels = world(EQUAL, 200, seed=0)
    return AutoHead(budget="fast", cv=3).fit(logits, labels)


def test_probabilities_are_warned_of(head, new):
    probabilities = head.predict_proba(new)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapt_priors(head, probabilities)
    assert any("look like probabilities" in str(one.message) for one in caught)


def test_many_classes_are_refused():
    logits, labels = np.random.default_rng(0).normal(size=(600, 300)), np.arange(600) % 300
    head = SoftmaxClassifier().fit(logits, labels)
    assert head.labelled_summary_ is None
    with pytest.raises(ValueError, match=r"300 classes\. Proportions of more than 256 classes"):
        adapt_priors(head, logits)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_an_adapted_head_comes_back_from_its_file(adapted, new, tmp_path):
    save(adapted, tmp_path / "head.npz")
    loaded = load(tmp_path / "head.npz")
    assert loaded.adaptation_ == adapted.adaptation_
    np.testing.assert_array_equal(loaded.predict_proba(new), adapted.predict_proba(new))
    again = adapt_priors(loaded, new)
    assert again.adaptation_ == adapted.adaptation_


def test_json_holds_all_of_it(adapted):
    found = adapted.adaptation_.to_dict()
    assert found["adapted"] is True
    assert [one["class"] for one in found["classes"]] == list(NAMES)
    assert found["verdict"].startswith("Adapted: ")


def test_a_decider_is_decided_on_again_with_the_adapted_head(new, tmp_path):
    logits, labels = world(EQUAL, 600, seed=0)
    costs = 1.0 - np.eye(4)
    decider = Decider(SoftmaxClassifier(), costs=costs).fit(logits, NAMES[labels])
    with pytest.raises(ValueError, match=r"decider\.head_.*from_fitted\(adapted"):
        adapt_priors(decider, new)
    adapted = adapt_priors(decider.head_, new)
    assert adapted.adaptation_.adapted
    again = Decider.from_fitted(adapted, costs=costs)
    np.testing.assert_array_equal(again.predict(new), adapted.predict(new))
    save(again, tmp_path / "head.npz")
    np.testing.assert_array_equal(load(tmp_path / "head.npz").predict_proba(new), adapted.predict_proba(new))


def test_check_judges_an_adapted_head_by_its_own_predictions():
    logits, labels = world(EQUAL, 600, seed=0)
    kept = AutoHead(cv=2, only_proven=True, alpha=0.0).fit(logits, NAMES[labels])
    assert kept.chosen_ == "softmax"
    adapted = adapt_priors(kept, world(TRUE, 800, seed=1)[0])
    assert adapted.adaptation_.adapted
    new_logits, new_labels = world(TRUE, 500, seed=3)
    result = aftermax.check(adapted, new_logits, NAMES[new_labels])
    assert (result.chosen, result.action) == ("adapted", "keep")


def test_copies_among_the_unlabelled_samples_are_warned_of(head, new):
    with pytest.warns(UserWarning, match="90% of the unlabelled samples repeat another one"):
        adapt_priors(head, np.repeat(new[:50], 10, axis=0))
