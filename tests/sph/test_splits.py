"""Groups and folds of one's own: what is held out together, and what the proof of SPHClassifierCV is made of."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, RepeatedKFold, TimeSeriesSplit

from aftermax import SPHClassifierCV
from aftermax._utils.comparison import Comparison
from helpers.samples import make_samples, weak_samples

SMALL = {"certainty": [0.5, 0.9], "distance_power": [1.0, 2.0]}
WIDE = {
    "certainty": [0.5, 0.7, 0.9, 1.0],
    "min_separation": [0.0, 0.5, 1.0],
    "weight_power": [0.0, 1.0, 2.0],
    "veto_distance": [np.inf, 1.5, 2.0, 3.0],
    "min_gain": [-0.05, 0.0, 0.05],
    "distance_power": [1.0, 2.0],
}


def patients(seed, n_patients=100):
    """A patient's samples are alike and have one label. The logits say all there is to know: nothing can be gained."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 9, size=n_patients)
    scores = rng.normal(size=(n_patients, 5))
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(5, p=share) for share in shares])
    groups = np.arange(n_patients).repeat(sizes)
    return scores[groups] + 0.05 * rng.normal(size=(len(groups), 5)), labels[groups], groups


def test_similar_samples_of_patients_prove_nothing_if_the_patients_are_known():
    accepted = {"known": 0, "unknown": 0}
    for seed in range(12):
        logits, labels, groups = patients(seed)
        for patient, given in (("known", groups), ("unknown", None)):
            head = SPHClassifierCV(WIDE, n_repeats=1).fit(logits, labels, groups=given)
            accepted[patient] += not head.fell_back_
    assert accepted["known"] == 0
    assert accepted["unknown"] > 4  # folds divide the patients: each is fitted on, and then predicted


def test_a_gain_is_proven_with_groups_too_and_counted_in_groups():
    logits, labels = weak_samples(450)
    groups = np.arange(450) // 3
    head = SPHClassifierCV(SMALL).fit(logits, labels, groups=groups)
    assert not head.fell_back_
    found = Comparison.of(logits.argmax(axis=1) == labels, head.held_out_ == labels, groups=groups)
    assert head.p_value_ == pytest.approx(found.p_value, rel=1e-3)
    assert head.held_out_mask_.all()


def test_neither_the_names_of_groups_nor_the_order_of_samples_have_an_effect():
    logits, labels = weak_samples(300)
    groups, order = np.arange(300) // 3, np.random.default_rng(0).permutation(300)
    names = np.array([f"patient {(7 * number) % 100}" for number in groups])
    one = SPHClassifierCV(SMALL).fit(logits, labels, groups=groups)
    other = SPHClassifierCV(SMALL).fit(logits[order], labels[order], groups=names[order])
    np.testing.assert_array_equal(one.held_out_[order], other.held_out_)
    np.testing.assert_array_equal(one.cv_results_["wins"], other.cv_results_["wins"])


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_few_groups_are_enough_to_say_no(n_groups):
    logits, labels = make_samples(n_samples=60, n_classes=3)
    head = SPHClassifierCV(SMALL).fit(logits, labels, groups=np.arange(60) % n_groups)
    assert head.fell_back_
    assert head.p_value_ >= 0.5**n_groups


def test_a_splitter_makes_the_folds_of_the_proof():
    logits, labels = weak_samples(300)
    groups = np.arange(300) // 5
    folds = np.empty(300, dtype=int)
    for number, (_, test) in enumerate(GroupKFold(4).split(logits, labels, groups)):
        folds[test] = number
    by_groups = SPHClassifierCV(SMALL, cv=GroupKFold(4)).fit(logits, labels, groups=groups)
    pairs = list(PredefinedSplit(folds).split())
    by_pairs = SPHClassifierCV(SMALL, cv=pairs).fit(logits, labels, groups=groups)
    np.testing.assert_array_equal(by_groups.held_out_, by_pairs.held_out_)
    assert by_groups.p_value_ == by_pairs.p_value_
    assert not by_groups.fell_back_


def test_samples_that_a_splitter_never_holds_out_are_not_part_of_the_gain():
    logits, labels = weak_samples(400)
    head = SPHClassifierCV(SMALL, cv=TimeSeriesSplit(3)).fit(logits, labels)
    held_out = head.held_out_mask_
    np.testing.assert_array_equal(held_out, np.arange(400) >= 100)
    before, after = logits.argmax(axis=1) == labels, head.held_out_ == labels
    np.testing.assert_array_equal(after[~held_out], before[~held_out])
    assert head.p_value_ == Comparison.of(before[held_out], after[held_out]).p_value
    assert (after != before)[held_out].any()


def test_samples_that_are_held_out_several_times_count_once():
    logits, labels = weak_samples(300)
    head = SPHClassifierCV(SMALL, cv=RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)).fit(logits, labels)
    before, after = logits.argmax(axis=1) == labels, head.held_out_ == labels
    assert head.p_value_ == Comparison.of(before, after).p_value
    assert after.mean() > before.mean()


def test_of_several_predictions_of_a_sample_the_mean_probability_decides_and_not_the_last():
    logits, labels = weak_samples(300)
    one, other = (list(KFold(3, shuffle=True, random_state=seed).split(logits)) for seed in (0, 1))
    alone = [SPHClassifierCV({"certainty": [1.0]}, cv=splits).fit(logits, labels) for splits in (one, other)]
    assert (alone[0].held_out_ != alone[1].held_out_).any()
    both = [
        SPHClassifierCV({"certainty": [1.0]}, cv=splits).fit(logits, labels) for splits in (one + other, other + one)
    ]
    np.testing.assert_array_equal(both[0].held_out_, both[1].held_out_)


def test_samples_of_weight_0_are_taken_out_of_the_splits():
    logits, labels = weak_samples(300)
    weights = np.ones(300)
    weights[:50] = 0.0
    head = SPHClassifierCV(SMALL, cv=KFold(6)).fit(logits, labels, sample_weight=weights)
    expected = SPHClassifierCV(SMALL, cv=KFold(5)).fit(logits[50:], labels[50:])
    np.testing.assert_array_equal(head.held_out_[50:], expected.held_out_)
    nothing = [(np.arange(50), np.arange(50, 300))]
    with pytest.raises(ValueError, match="cv has no split with samples of positive weight on both of its sides"):
        SPHClassifierCV(SMALL, cv=nothing).fit(logits, labels, sample_weight=weights)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ("five", "cv='five' is not possible: pass a number of folds, a splitter"),
        ([], "cv gives no splits"),
        ([(np.arange(40), np.arange(30, 50))], "fits on some of the samples that it holds out"),
        ([(np.arange(40), np.array([50]))], "from 0 to 49"),
    ],
)
def test_splits_that_cannot_be_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        SPHClassifierCV(SMALL, cv=cv).fit(*weak_samples(50))
