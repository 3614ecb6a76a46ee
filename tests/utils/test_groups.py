"""Groups: what users pass, and identical samples."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax, logit
from sklearn.tree import DecisionTreeClassifier

from aftermax._utils.groups import as_groups, joined_groups
from aftermax._utils.one_logit import log_odds, two_columns
from aftermax._utils.softmax import softmax
from helpers.samples import make_samples


def same_partition(first, second):
    return len(np.unique(np.column_stack([first, second]), axis=0)) == len(np.unique(first)) == len(np.unique(second))


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        [20, 10, 20, 30],
        np.array(["b", "a", "b", 3], dtype=object),
        np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]"),
    ],
)
def test_groups_of_any_kind_are_numbered(groups):
    found = as_groups(groups, 4)
    assert found.dtype == np.int64
    assert same_partition(found, [0, 1, 0, 2])
    assert sorted(set(found.tolist())) == [0, 1, 2]


def test_no_groups_are_no_groups():
    assert as_groups(None, 4) is None


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], r"groups has shape \(3,\) but there are 4 samples"),
        ([[1], [2], [3], [4]], r"groups has shape \(4, 1\) but there are 4 samples"),
        ([1.0, np.nan, 2.0, 3.0], "groups holds NaN or None at row 1"),
        (["a", "b", None, "b"], "groups holds NaN or None at row 2"),
        ([7, 7, 7, 7], "groups holds one group only"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        as_groups(groups, 4)


# ---- identical samples -----------------------------------------------------------------------------------------------


def test_where_every_sample_is_another_there_is_nothing_to_join():
    logits, codes = make_samples(n_samples=100)
    groups = np.arange(100) // 5
    assert joined_groups(None, logits, codes) is None
    assert joined_groups(groups, logits, codes) is groups


def test_copies_belong_together_and_many_are_warned_of():
    logits, codes = make_samples(n_samples=100)
    which = np.concatenate([np.arange(100), np.arange(20)])
    with pytest.warns(UserWarning, match="33% of the samples are identical to another one: .*pass groups"):
        found = joined_groups(None, logits[which], codes[which])
    assert same_partition(found, which)


def test_a_few_copies_belong_together_without_a_warning():
    logits, codes = make_samples(n_samples=100)
    which = np.concatenate([np.arange(100), [7]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = joined_groups(None, logits[which], codes[which])
    assert same_partition(found, which)


def test_features_tell_samples_apart_and_have_to_be_the_same_too():
    logits, codes = make_samples(n_samples=60)
    which = np.repeat(np.arange(30), 2)
    features = np.arange(60.0)[:, None]
    assert joined_groups(None, logits[which], codes[which], features) is None
    with pytest.warns(UserWarning, match="100% of the samples are identical"):
        found = joined_groups(None, logits[which], codes[which], features[which])
    assert same_partition(found, which)


def test_groups_that_share_a_copy_are_one():
    logits, codes = make_samples(n_samples=8)
    logits[5], codes[5] = logits[0], codes[0]  # of the groups 0 and 2
    found = joined_groups(np.array([0, 0, 1, 1, 2, 2, 3, 3]), logits, codes)
    assert same_partition(found, [0, 0, 1, 1, 0, 0, 3, 3])


def test_samples_to_which_a_tree_gives_the_same_scores_are_not_copies():
    logits, codes = make_samples(n_samples=600, home=1.0)
    tree = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(logits[:300], codes[:300])
    scores = np.log(np.clip(tree.predict_proba(logits[300:]), 1e-6, 1))
    assert len(np.unique(scores, axis=0)) <= 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, scores, codes[300:]) is None
        groups = np.arange(300) // 10
        assert joined_groups(groups, scores, codes[300:]) is groups


def test_copies_stay_copies_if_a_few_of_their_labels_were_mistaken():
    logits, codes = make_samples(n_samples=200, home=1.0)
    which = np.repeat(np.arange(200), 2)
    labels = codes[which]
    wrong = np.flatnonzero(logits[which].argmax(axis=1) != labels)
    labels[wrong[:4:2]] = (labels[wrong[:4:2]] + 1) % 5
    with pytest.warns(UserWarning, match="are identical"):
        assert same_partition(joined_groups(None, logits[which], labels), which)


@pytest.mark.parametrize("n_erring", [0, 1, 2])
def test_samples_that_were_drawn_again_to_balance_the_classes_are_copies(n_erring):
    """Also where too few of them err for their labels to tell."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [300, 300, 5])
    logits = rng.normal(size=(605, 3)) + 9 * np.eye(3)[codes]
    logits[600 : 600 + n_erring, 0] += 20
    which = np.concatenate([np.arange(600), np.repeat(np.arange(600, 605), 60)])
    with pytest.warns(UserWarning, match="are identical"):
        assert same_partition(joined_groups(None, logits[which], codes[which]), which)


def test_rounded_probabilities_are_no_copies():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=2_000)
    logits = 3 * rng.normal(size=(2_000, 3)) + 9 * np.eye(3)[codes]
    rounded = np.log(np.maximum(np.round(softmax(logits), 2), 1e-3))
    assert np.unique(rounded, axis=0, return_counts=True)[1].max() > 400
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, rounded, rounded.argmax(axis=1)) is None


@pytest.mark.parametrize("n_copies", [2, 3, 6, 12, 40])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_inputs_that_several_people_labelled_belong_together_though_their_labels_differ(n_copies, n_classes):
    rng = np.random.default_rng(0)
    logits, codes = make_samples(n_samples=150, n_classes=n_classes, home=1.0)
    which = np.repeat(np.arange(150), n_copies)
    labels = np.where(rng.random(len(which)) < 0.85, codes[which], rng.integers(n_classes, size=len(which)))
    with pytest.warns(UserWarning, match="are identical"):
        assert same_partition(joined_groups(None, logits[which], labels), which)


ROUNDED = {
    "three digits of probabilities": lambda logits: np.log(np.maximum(np.round(softmax(logits), 3), 1e-4)),
    "one digit of logits": lambda logits: np.round(logits, 1),
    "half precision": lambda logits: logits.astype(np.float16).astype(np.float64),
}


@pytest.mark.parametrize("rounded", ROUNDED.values(), ids=ROUNDED)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_inputs_that_several_people_labelled_belong_together_though_their_scores_are_rounded(rounded, n_classes):
    """Their labels are more alike than their scores explain."""
    rng = np.random.default_rng(0)
    logits, codes = make_samples(n_samples=200, n_classes=n_classes, home=1.0)
    which = np.repeat(np.arange(200), 4)
    labels = np.where(rng.random(len(which)) < 0.9, codes[which], rng.integers(n_classes, size=len(which)))
    scores = rounded(logits)[which]
    with pytest.warns(UserWarning, match="are identical"):
        found = joined_groups(None, scores, labels)
    assert same_partition(found, np.unique(scores, axis=0, return_inverse=True)[1])


BINARY = {
    "two digits": lambda odds: np.round(odds, 2),
    "half precision": lambda odds: odds.astype(np.float16).astype(np.float64),
    "brain floats": lambda odds: (
        (odds.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)
    ),
    "probabilities in half precision": lambda odds: logit((1 / (1 + np.exp(-odds))).astype(np.float16).astype(float)),
}


@pytest.mark.parametrize("rounded", BINARY.values(), ids=BINARY)
@pytest.mark.parametrize("n_samples", [500, 2_000])
def test_rounded_scores_of_a_binary_model_are_no_copies(rounded, n_samples):
    rng = np.random.default_rng(0)
    odds = rng.normal(size=n_samples)
    labels = (rng.random(n_samples) < 1 / (1 + np.exp(-odds))).astype(int)
    scores = rounded(odds)
    assert len(np.unique(scores)) < n_samples
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, np.column_stack([-scores / 2, scores / 2]), labels) is None


def test_people_of_whom_the_model_knows_a_few_small_numbers_are_no_copies():
    """As a clinic's risk score: many have the same, and some have it, some do not."""
    rng = np.random.default_rng(0)
    odds = rng.integers(3, size=(1_500, 4)) @ np.sqrt([0.2, 0.3, 0.7, 1.1]) - 2.5
    labels = (rng.random(1_500) < 1 / (1 + np.exp(-odds))).astype(int)
    assert len(np.unique(odds)) == 81
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, np.column_stack([np.zeros(1_500), odds]), labels) is None


@pytest.mark.parametrize("n_classes", [3, 40])
def test_hard_decisions_are_no_copies_though_some_classes_are_easier_than_others(n_classes):
    rng = np.random.default_rng(0)
    predicted = rng.integers(n_classes, size=2_000)
    right = rng.random(2_000) < np.linspace(0.4, 1, n_classes)[predicted]
    labels = np.where(right, predicted, rng.integers(n_classes, size=2_000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, np.log(np.eye(n_classes)[predicted] + 1e-12), labels) is None


def test_texts_that_come_again_and_again_belong_together_though_their_labels_differ():
    rng = np.random.default_rng(1)
    logits, codes = make_samples(n_samples=300, home=1.0)
    which = np.concatenate([np.arange(300), np.repeat(np.arange(30), rng.integers(1, 60, size=30))])
    labels = np.where(rng.random(len(which)) < 0.8, codes[which], rng.integers(5, size=len(which)))
    with pytest.warns(UserWarning, match="are identical"):
        assert same_partition(joined_groups(None, logits[which], labels), which)


@pytest.mark.parametrize(("votes", "n_samples"), [(100, 300), (300, 900), (1_000, 2_000)])
@pytest.mark.parametrize("least", [1e-12, 1e-3])
def test_votes_for_one_of_two_classes_are_no_copies(votes, n_samples, least):
    rng = np.random.default_rng(0)
    chances = rng.beta(2, 2, size=n_samples)
    shares = np.clip(rng.binomial(votes, chances) / votes, least, 1 - least)
    logits = np.log(np.column_stack([1 - shares, shares]))
    assert len(np.unique(logits, axis=0)) < n_samples
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, logits, (rng.random(n_samples) < chances).astype(int)) is None


@pytest.mark.parametrize("n_classes", [2, 5])
def test_probabilities_that_single_precision_takes_for_1_are_no_copies(n_classes):
    logits, codes = make_samples(n_samples=300, n_classes=n_classes, home=3.0)
    probabilities = softmax(12 * logits).astype(np.float32)
    given = np.log(np.maximum(probabilities, 1e-6), dtype=np.float64)
    assert len(np.unique(given, axis=0)) < 0.8 * len(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, given, codes) is None


def saturated(seed, n_samples=800):
    """Log-odds of a binary model, many of them far from 0, and labels that they often get wrong."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=n_samples)
    return (codes - 0.4) * 25 + 14 * rng.normal(size=n_samples), codes


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_log_odds_of_probabilities_that_are_clipped_are_no_copies(precision, seed):
    odds, codes = saturated(seed)
    probabilities = (1 / (1 + np.exp(-odds))).astype(precision)
    given = two_columns(log_odds(probabilities[:, None]))
    assert len(np.unique(given, axis=0)) < 0.9 * len(given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joined_groups(None, given, codes) is None


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_inputs_that_several_people_labelled_are_found_among_log_odds_that_are_clipped(scale):
    rng = np.random.default_rng(0)
    odds, codes = saturated(0, n_samples=150)
    which = np.repeat(np.arange(150), 3)
    given = two_columns(log_odds(1 / (1 + np.exp(-odds / scale))[:, None]))[which]
    labels = np.where(rng.random(len(which)) < 0.85, codes[which], 1 - codes[which])
    with pytest.warns(UserWarning, match="are identical"):
        found = joined_groups(None, given, labels)
    assert same_partition(found, np.unique(given, axis=0, return_inverse=True)[1])


def test_inputs_that_several_people_labelled_are_found_among_those_that_are_certain():
    rng = np.random.default_rng(0)
    logits, codes = make_samples(n_samples=150, home=2.0)
    which = np.repeat(np.arange(150), 3)
    given = log_softmax(10 * logits[which], axis=1)
    labels = np.where(rng.random(len(which)) < 0.85, codes[which], rng.integers(5, size=len(which)))
    assert np.mean(given.max(axis=1) > -1e-5) > 0.3
    with pytest.warns(UserWarning, match="are identical"):
        assert same_partition(joined_groups(None, given, labels), which)
