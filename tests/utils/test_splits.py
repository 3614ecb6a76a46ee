"""From ``cv`` to splits."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, TimeSeriesSplit

from aftermax._utils.folds import sample_keys
from aftermax._utils.splits import check_cv_parameter, given_splits, random_splits
from helpers.samples import make_samples
from helpers.splits import covered_once


@pytest.mark.parametrize("cv", [None, 2, np.int64(5), KFold(3), [([0], [1])], (pair for pair in [([0], [1])])])
def test_numbers_splitters_and_splits_may_be_passed(cv):
    check_cv_parameter(cv)


@pytest.mark.parametrize("cv", [1, 0, -3, True, 2.5, "five", b"five", "GroupKFold"])
def test_anything_else_is_refused(cv):
    with pytest.raises(ValueError, match=r"cv=.* is not possible"):
        check_cv_parameter(cv)


# ---- at random -------------------------------------------------------------------------------------------------------


def test_every_sample_is_held_out_once_in_each_repeat():
    keys = sample_keys(make_samples(n_samples=200)[0])
    splits = random_splits(keys, None, 4, 3, np.random.default_rng(0))
    assert len(splits) == 12
    for repeat in range(3):
        assert covered_once(splits[4 * repeat : 4 * repeat + 4], 200)
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(200))
    assert not np.array_equal(splits[0][1], splits[4][1])


def test_groups_are_never_split():
    groups = np.random.default_rng(0).integers(20, size=200)
    keys = sample_keys(make_samples(n_samples=200)[0], groups)
    splits = random_splits(keys, groups, 4, 2, np.random.default_rng(0))
    assert covered_once(splits[:4], 200)
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("n_samples", [2, 3, 5])
def test_a_handful_of_samples_is_split_too(n_samples):
    for seed in range(20):
        keys = sample_keys(make_samples(n_samples=n_samples)[0])
        splits = random_splits(keys, None, 10, 1, np.random.default_rng(seed))
        assert covered_once(splits, n_samples)
        assert all(len(train) and len(test) for train, test in splits)


# ---- given -----------------------------------------------------------------------------------------------------------


def test_splitters_of_scikit_learn_get_labels_and_groups():
    logits, labels = make_samples(n_samples=60)
    groups = np.arange(60) // 6
    splits = given_splits(GroupKFold(5), logits, labels, groups)
    for (train, test), (their_train, their_test) in zip(
        splits, GroupKFold(5).split(logits, labels, groups), strict=True
    ):
        np.testing.assert_array_equal(train, their_train)
        np.testing.assert_array_equal(test, their_test)
    assert len(given_splits(TimeSeriesSplit(4), logits, labels, None)) == 4


@pytest.mark.parametrize("cv", [GroupKFold(2), LeaveOneGroupOut()])
def test_splitters_of_groups_without_groups_are_refused(cv):
    with pytest.raises(
        ValueError, match=f"cv={type(cv).__name__} needs groups: pass groups=, the group of each sample"
    ):
        given_splits(cv, np.zeros((4, 2)), np.arange(4), None)


def test_splits_may_be_masks_and_hold_an_index_twice():
    mask = np.arange(6) < 4
    ((train, test),) = given_splits([(mask, ~mask)], None, np.zeros(6), None)
    assert (train.tolist(), test.tolist()) == ([0, 1, 2, 3], [4, 5])
    ((train, test),) = given_splits(iter([([3, 1, 1], [0, 0])]), None, np.zeros(6), None)
    assert (train.tolist(), test.tolist()) == ([1, 3], [0])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], r"cv gives no splits: .*generator gives its splits only once"),
        ([([0, 1], [2, 6])], "cv holds .*: pass pairs of arrays.*from 0 to 5"),
        ([([0, 1], [-1])], "pass pairs of arrays"),
        ([([0.0, 1.5], [2])], "pass pairs of arrays"),
        ([([[0], [1]], [2])], "pass pairs of arrays"),
        ([([0, 1], [2], [3])], "pass pairs of arrays"),
        ([7], "pass pairs of arrays"),
        ([([], [2])], "cv has a split without samples to fit on"),
        ([([2], [])], "without samples that are held out"),
        ([([0, 1, 2], [2, 3])], "cv has a split that fits on some of the samples that it holds out"),
    ],
)
def test_splits_that_cannot_be_used_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        given_splits(cv, None, np.zeros(6), None)
