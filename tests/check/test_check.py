"""check: a shipped head on new samples is kept, refitted or dropped, or it is said that this cannot be told."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import aftermax
from aftermax import AutoHead, PostHocClassifier, SPHClassifier, SPHClassifierCV
from aftermax.data import load_vmnist
from helpers.head_files import HEADS, features_of, named, weak
from helpers.samples import make_samples, weak_samples

GRID = {"certainty": [0.5, 0.9, 1.0], "distance_power": [1, 2]}


@pytest.fixture(scope="module")
def head():
    """A head that corrects the biases of the network's units."""
    return AutoHead(cv=3, n_jobs=1).fit(*weak_samples(400))


def drifted_samples(n_samples=500, seed=5):
    """Another network: softmax makes the best of its logits, and what the head corrects is no longer there."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(5, size=n_samples)
    return 1.5 * np.eye(5)[labels] + rng.normal(size=(n_samples, 5)), labels


# ---- with labels -----------------------------------------------------------------------------------------------------


def test_where_nothing_has_changed_a_good_head_is_kept(head):
    result = aftermax.check(head, *weak_samples(500, seed=9))
    assert result.action == "keep"
    assert result.verdict.startswith("Keep: the head makes ")
    assert result.against_softmax.p_fewer < 0.025
    assert not result.drift.drifted


def test_a_head_that_is_worse_than_softmax_on_drifted_samples_is_never_kept(head):
    for seed in range(3):
        result = aftermax.check(head, *drifted_samples(seed=seed))
        assert result.against_softmax.gain < 0
        assert result.against_softmax.p_more < 0.025
        assert result.verdict.split(":")[0] in ("Refit", "Drop")
        assert result.action in ("refit", "drop")
        assert result.drift.drifted


def test_if_no_head_helps_any_more_it_is_dropped(head):
    result = aftermax.check(head, *drifted_samples())
    assert result.action == "drop"
    assert result.verdict.endswith("is not proven to make fewer; go back to softmax.")


def test_if_the_biases_are_other_ones_now_it_is_refitted(head):
    logits, labels = make_samples(seed=7, n_samples=500)
    result = aftermax.check(head, logits - np.array([2.0, -1.0, 0.0, 1.0, -2.0]), labels)
    assert result.action == "refit"
    assert result.refit.against_head.p_fewer < 0.005
    better = result.refitted_head
    assert better.score(logits, labels) > head.score(logits - np.array([2.0, -1.0, 0.0, 1.0, -2.0]), labels)


@pytest.fixture(scope="module")
def kept():
    """A head that keeps softmax, as there is nothing to gain."""
    head = AutoHead(only_proven=True, cv=3).fit(*drifted_samples(200))
    assert head.chosen_ == "softmax"
    return head


def test_a_head_that_kept_softmax_is_refitted_once_there_is_something_to_gain(kept):
    result = aftermax.check(kept, *weak_samples(500))
    assert result.verdict.startswith("Refit: the head predicts as softmax does, and one that is fitted on these")


def test_a_head_that_kept_softmax_is_kept_where_nothing_is_better(kept):
    result = aftermax.check(kept, *drifted_samples(300, seed=8))
    assert result.verdict.startswith("Keep: the head predicts as softmax does (error ")
    assert result.verdict.endswith("and nothing is proven to be better.")


def test_twenty_samples_are_not_enough():
    scores = load_vmnist(trained_on=500)
    head = AutoHead(cv=3).fit(scores.val_logits[:500], scores.val_labels[:500])
    assert head.chosen_ != "softmax"
    for first in (0, 20, 40):
        some = slice(first, first + 20)
        result = aftermax.check(head, scores.test_logits[some], scores.test_labels[some])
        assert result.verdict.startswith("Not enough samples to tell: "), result.verdict
        assert result.action == "not enough"


def test_samples_of_the_fit_prove_nothing(head):
    logits, labels = weak_samples(400)
    result = aftermax.check(head, logits[::-1], labels[::-1])
    assert result.action == "not enough"
    assert result.verdict == (
        "Nothing can be told: these are samples that the head was fitted on, which prove nothing; pass samples that "
        "came later."
    )
    assert repr(result) == result.verdict
    new = weak_samples(400, seed=9)
    for part, some in ((300, "most"), (100, "some")):
        both = np.vstack([logits[:part], new[0][: 400 - part]]), np.concatenate([labels[:part], new[1][: 400 - part]])
        verdict = aftermax.check(head, *both).verdict
        assert verdict.startswith(
            f"Nothing can be told: {some} of these are samples that the head was fitted on, which"
        )
    assert "so nothing can be said about drift" in aftermax.check(head, logits).verdict


@pytest.mark.parametrize("head", [SPHClassifier(certainty=1.0), SPHClassifierCV(GRID, cv=3, n_repeats=1)])
def test_sph_is_checked_too_and_refitted_as_what_it_is(head):
    head.fit(*weak_samples(400))
    weights = np.tile([0.0, 1.0, 2.0, 3.0, 1.0], 100)
    same = aftermax.check(head, *weak_samples(500, seed=9), sample_weight=weights)
    assert same.against_softmax.n_samples == 400
    assert same.action == "keep"
    assert type(same.refitted_head) is type(head)
    assert aftermax.check(head, *drifted_samples()).action in ("refit", "drop")


def test_features_are_passed_on():
    logits, labels = weak()
    head = AutoHead(cv=2).fit(logits, labels, features=features_of(labels))
    new, classes = weak(300, seed=4)
    result = aftermax.check(head, new, classes, features=features_of(classes, seed=3))
    assert result.refitted_head.features_width_ == 2
    columns = np.hsplit(features_of(classes, seed=3), 2)
    assert aftermax.check(head, new, classes, features=columns).to_dict() == result.to_dict()
    with pytest.raises(ValueError, match="fitted with features: pass those of these samples too"):
        aftermax.check(head, new, classes)


def test_classes_may_be_text_and_some_of_them_missing():
    logits, labels = weak()
    animals = np.array(["ant", "bée", "cat"])
    head = AutoHead(cv=2).fit(named(logits), animals[labels])
    new, classes = weak(300, seed=4)
    few = classes != 2
    result = aftermax.check(head, named(new[few]), animals[classes[few]])
    assert result.against_softmax.n_samples == few.sum()
    one_class = aftermax.check(head, named(new[classes == 0]), animals[classes[classes == 0]])
    assert one_class.refit is None
    assert one_class.against_softmax is not None


def test_one_logit_is_as_good_as_two():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=900)
    logit = rng.normal(size=900) + 2.0 * labels + 1.0  # its bias is off
    head = AutoHead(cv=3).fit(logit[:400], labels[:400])
    result = aftermax.check(head, logit[400:], labels[400:])
    assert result.action == "keep"
    assert aftermax.check(head, logit[400:, None]).drift == result.drift
    assert aftermax.check(head, logit[:400], labels[:400]).was_fitted_on


def test_groups_are_what_counts_as_independent(head):
    logits, labels = weak_samples(60, seed=9)
    logits = np.repeat(logits, 10, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(600, 5))
    labels, patients = np.repeat(labels, 10), np.repeat(np.arange(60), 10)
    alone, together = aftermax.check(head, logits, labels), aftermax.check(head, logits, labels, groups=patients)
    assert alone.against_softmax.gain == together.against_softmax.gain
    assert together.against_softmax.p_fewer > 100 * alone.against_softmax.p_fewer
    low, high = zip(alone.against_softmax.gain_interval, together.against_softmax.gain_interval, strict=True)
    assert low[1] < low[0]
    assert high[1] > high[0]
    assert together.samples_needed is None


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples")  # class 0 has no weight
def test_weights_and_the_weights_of_the_heads_classes_count(head):
    logits, labels = weak_samples(500, seed=9)
    predicted, softmax = head.predict(logits), logits.argmax(axis=1)
    weights = np.where((softmax == labels) & (predicted != labels), 1.0, 0.0)
    weights[:50] = 0.01
    result = aftermax.check(head, logits, labels, sample_weight=weights)
    assert result.against_softmax.gain < 0
    balanced = AutoHead(cv=3, class_weight={0: 0.0}).fit(*weak_samples(400))
    found = aftermax.check(balanced, logits, labels).against_softmax
    others = labels != 0
    assert found.error_before == pytest.approx(np.mean((softmax != labels)[others]))
    assert found.error_after == pytest.approx(np.mean((balanced.predict(logits) != labels)[others]))


def test_what_is_counted_is_said(head):
    logits, labels = weak_samples(200, seed=9)
    patients, weights = np.arange(200) // 4, np.arange(200) + 1.0
    plain, grouped, both = (
        aftermax.check(head, logits, labels, **given)
        for given in ({}, {"groups": patients}, {"groups": patients, "sample_weight": weights})
    )
    assert (plain.groups, plain.weighted, plain.counted) == (None, False, "Every sample counts the same.")
    assert (grouped.groups, grouped.weighted) == (50, False)
    assert grouped.counted == "P-values and intervals count 50 groups, not samples."
    assert both.counted == f"Errors are weighted; wins and losses are plain counts. {grouped.counted}"
    assert both.counted in repr(both)
    assert (both.to_dict()["groups"], both.to_dict()["weighted"]) == (50, True)


def test_a_head_that_was_fitted_with_weights_asks_for_them(tmp_path):
    weights = np.linspace(0.5, 2.0, 400)
    for others, asks in (({}, True), ({"class_weight": "balanced"}, False)):  # those of classes are known
        fitted = AutoHead(cv=2, **others).fit(*weak_samples(400), sample_weight=weights)
        aftermax.save(fitted, tmp_path / "head.npz")
        for head in (fitted, aftermax.load(tmp_path / "head.npz")):
            samples = weak_samples(100, seed=9)
            without = aftermax.check(head, *samples)
            assert ("The head was fitted with sample weights" in repr(without)) == bool(without.hints) == asks
            assert not aftermax.check(head, *samples, sample_weight=weights[:100]).hints


def test_where_softmax_makes_no_error_that_is_said_in_words(head):
    logits, labels = weak_samples(500, seed=9)
    right = logits.argmax(axis=1) == labels
    worse = aftermax.check(head, logits[right], labels[right])
    number = np.count_nonzero(head.predict(logits[right]) != labels[right])
    assert number > 0
    words = f"softmax makes no errors on these {right.sum()} samples, and the head makes {number} (p "
    assert words in worse.verdict
    assert "no errors before" in repr(worse)
    both = right & (head.predict(logits) == labels)
    same = aftermax.check(head, logits[both], labels[both])
    assert same.verdict.startswith(
        f"Not enough samples to tell: softmax makes no errors on these {both.sum()} samples, and neither does the head"
    )


def test_one_sample_proves_nothing(head):
    logits, labels = weak_samples(1, seed=9)
    result = aftermax.check(head, logits, labels)
    assert result.action == "not enough"
    assert repr(result) == "Not enough samples to tell: one sample proves nothing; label more, and check again."


# ---- without labels --------------------------------------------------------------------------------------------------


def test_without_labels_it_is_said_whether_samples_look_alike_and_that_this_is_no_proof(head):
    same, drifted = (aftermax.check(head, some[0]) for some in (weak_samples(500, seed=9), drifted_samples()))
    assert same.verdict.startswith("The new samples look like those that the head was fitted on.")
    assert drifted.verdict.startswith("The new samples do not look like those that the head was fitted on: ")
    for result in (same, drifted):
        assert result.verdict.endswith("label some samples, and check again.")
        assert (result.action, result.against_softmax, result.refit) == ("not enough", None, None)


def test_of_few_samples_it_is_not_said_that_they_look_alike(head):
    for n_samples, start in ((1, "One sample is"), (5, "5 samples are")):
        result = aftermax.check(head, weak_samples(400, seed=9)[0][:n_samples])
        assert result.verdict.startswith(f"{start} too few to tell whether the logits have drifted: pass at least 20.")
        assert repr(result) == result.verdict
    far_off = aftermax.check(head, weak_samples(5, seed=9)[0] + np.array([50.0, 0, 0, 0, 0]))
    assert far_off.verdict.startswith("The new samples do not look like those that the head was fitted on")


def test_a_head_from_an_older_file_says_that_it_has_no_reference():
    head = aftermax.load(HEADS / "v2-sph.npz")
    result = aftermax.check(head, weak(50, seed=4)[0])
    assert result.drift is None
    assert result.verdict.startswith("The head has no reference, as its file is of an older format")
    assert "no reference" in repr(aftermax.check(head, *weak(50, seed=4)))


# ---- the result ------------------------------------------------------------------------------------------------------


def test_a_saved_head_gives_the_same_check(head, tmp_path):
    aftermax.save(head, tmp_path / "head.npz")
    samples = drifted_samples(200)
    assert aftermax.check(aftermax.load(tmp_path / "head.npz"), *samples) == aftermax.check(head, *samples)


def test_the_result_is_json_and_a_table(head):
    result = aftermax.check(head, *drifted_samples(200))
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["action"] == result.action
    assert plain["against_softmax"]["wins"] == result.against_softmax.wins
    assert plain["refit"]["against_head"]["p_fewer"] == result.refit.against_head.p_fewer
    assert len(plain["drift"]["changes"]) == 1 + 2 * 5
    text = repr(result)
    assert text.startswith(result.verdict)
    assert "this head against softmax" in text
    assert "a refit against this head" in text
    json.dumps(aftermax.check(head, drifted_samples()[0]).to_dict(), allow_nan=False)


def test_the_head_is_not_changed(head):
    before = json.dumps(head.candidates_.to_dict()), head.predict(weak_samples()[0]).tolist(), head.get_params()
    aftermax.check(head, *drifted_samples(200), random_state=3)
    assert (
        json.dumps(head.candidates_.to_dict()),
        head.predict(weak_samples()[0]).tolist(),
        head.get_params(),
    ) == before


def test_warnings_are_in_the_result_and_point_at_the_callers_line(head):
    logits, labels = make_samples(seed=9, home=5.0)
    with pytest.warns(UserWarning, match="The largest logit agrees with the label on only") as caught:
        result = aftermax.check(head, logits, (labels + 1) % 5)
    assert caught[0].filename == __file__
    assert any("The largest logit agrees" in message for message in result.warnings)
    assert "Warning: The largest logit agrees" in repr(result)


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_other_widths_and_what_is_not_finite_are_refused(head):
    logits, labels = weak_samples(30, seed=9)
    with pytest.raises(ValueError, match="X has 4 features, but AutoHead is expecting 5"):
        aftermax.check(head, logits[:, :4], labels)
    logits[3, 2] = np.nan
    with pytest.raises(ValueError, match="logits contain NaN at row 3, column 2"):
        aftermax.check(head, logits, labels)


def test_labels_that_do_not_fit_are_refused(head):
    logits, labels = weak_samples(30, seed=9)
    with pytest.raises(ValueError, match="labels hold 7, not among the classes of the columns"):
        aftermax.check(head, logits, np.where(labels == 4, 7, labels))
    with pytest.raises(ValueError, match="logits have 30 samples but there are 29 labels"):
        aftermax.check(head, logits, labels[1:])
    with pytest.raises(ValueError, match="groups has shape"):
        aftermax.check(head, logits, labels, groups=[1, 2])
    with pytest.raises(ValueError, match="sample_weight holds -1"):
        aftermax.check(head, logits, labels, sample_weight=np.full(30, -1.0))


def test_columns_in_another_order_are_refused(head):
    frame = pd.DataFrame(weak_samples(30)[0][:, ::-1], columns=[4, 3, 2, 1, 0])
    with pytest.raises(ValueError, match="put the columns in the order of classes_"):
        aftermax.check(head, frame)


def test_what_is_no_fitted_head_is_refused():
    logits, labels = weak_samples(30)
    with pytest.raises(NotFittedError, match="This AutoHead is not fitted yet: check is for a head that was fitted"):
        aftermax.check(AutoHead(), logits, labels)
    with pytest.raises(
        TypeError, match="check takes a head of aftermax, not LogisticRegression: pass a fitted AutoHead"
    ):
        aftermax.check(LogisticRegression(), logits, labels)
    with pytest.raises(TypeError, match="not PostHocClassifier: pass its head_, and the logits"):
        aftermax.check(PostHocClassifier(LogisticRegression()), logits, labels)
    with pytest.raises(TypeError, match=r"not str: load the file first, with aftermax\.load"):
        aftermax.check("head.npz", logits, labels)
    with pytest.raises(TypeError, match="not AutoHead: pass a fitted AutoHead"):
        aftermax.check(AutoHead, logits, labels)


def test_features_are_refused_by_a_head_without(head):
    with pytest.raises(ValueError, match="This head was fitted without features: pass logits only"):
        aftermax.check(head, weak_samples(30, seed=9)[0], features=np.ones((30, 2)))
