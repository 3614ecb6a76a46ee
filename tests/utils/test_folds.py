"""Folds, and keys and an order that depend on the samples' content."""

import numpy as np
import pytest
from scipy.stats import kstest

from aftermax._utils.folds import (
    content_order,
    group_folds,
    keyed_folds,
    keyed_uniform,
    ranked_folds,
    row_hashes,
    sample_keys,
    splits_of,
    stratified_folds,
)
from helpers.samples import make_samples
from helpers.splits import covered_once


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_every_class_and_all_samples_are_spread_evenly_over_the_folds(folds):
    _, codes = make_samples(n_samples=101)
    fold_of = stratified_folds(codes, folds, np.random.default_rng(0))
    for selected in (codes >= 0, *(codes == j for j in range(5))):
        sizes = np.bincount(fold_of[selected], minlength=folds)
        assert np.ptp(sizes) <= 1


def test_classes_with_fewer_samples_than_folds_are_no_obstacle():
    assert sorted(stratified_folds(np.array([0, 0, 0, 1]), 4, np.random.default_rng(0))) == [0, 1, 2, 3]


def test_the_order_depends_on_the_content_only():
    logits, codes = make_samples(n_samples=50)
    logits = np.round(logits * 4) / 4  # many samples with the same margin, and sums without rounding
    shuffled = np.random.default_rng(0).permutation(50)
    order, again = content_order(logits, codes), content_order(logits[shuffled], codes[shuffled])
    np.testing.assert_array_equal(logits[order], logits[shuffled][again])
    np.testing.assert_array_equal(order, content_order(logits + 4.0, codes))


def test_ranked_folds_deal_the_samples_of_each_class_in_turn():
    codes = np.array([0, 1, 0, 0, 1, 0])
    order = np.array([5, 3, 2, 0, 4, 1])
    assert ranked_folds(codes, order, 2)[order].tolist() == [0, 1, 0, 1, 0, 1]


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_keys_follow_from_the_content_and_not_from_where_a_sample_stands():
    logits, _ = make_samples(n_samples=500)
    shuffled = np.random.default_rng(0).permutation(500)
    np.testing.assert_array_equal(sample_keys(logits[shuffled]), sample_keys(logits)[shuffled])


def test_a_constant_added_to_the_logits_and_another_order_of_the_classes_change_no_key():
    logits = np.round(make_samples(n_samples=500)[0] * 1024) / 1024  # so that sums have no rounding
    keys = sample_keys(logits)
    np.testing.assert_array_equal(sample_keys(logits + 16.0), keys)
    np.testing.assert_array_equal(sample_keys(logits[:, [3, 0, 4, 1, 2]]), keys)


@pytest.mark.parametrize("n_classes", [2, 5, 100])
def test_rounding_to_float32_changes_hardly_any_key(n_classes):
    logits, _ = make_samples(n_samples=2000, n_classes=n_classes)
    keys = sample_keys(logits)
    assert np.mean(sample_keys(logits.astype(np.float32).astype(np.float64)) == keys) > 0.99
    assert np.mean(sample_keys(logits + np.random.default_rng(0).normal(size=(2000, 1))) == keys) > 0.99
    assert np.mean(sample_keys(1.2 * logits) == keys) < 0.5  # other logits have other keys


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_samples_have_keys_of_their_own_even_if_they_are_close_together(n_classes):
    rng = np.random.default_rng(0)
    assert len(np.unique(sample_keys(rng.normal(size=(5000, n_classes))))) == 5000
    assert len(np.unique(sample_keys(5.0 + 1e-3 * rng.normal(size=(500, n_classes)) + np.eye(n_classes)[0]))) == 500


def test_the_key_of_a_sample_does_not_tell_its_class():
    logits, codes = make_samples(n_samples=4000, home=6.0)
    uniform = keyed_uniform(sample_keys(logits), 3)
    for code in range(5):
        assert kstest(uniform[codes == code], "uniform").pvalue > 1e-3
    margin = np.diff(np.sort(logits, axis=1)[:, -2:], axis=1)[:, 0]
    assert abs(np.corrcoef(uniform, margin)[0, 1]) < 0.05


def test_masked_classes_have_no_say():
    logits, _ = make_samples(n_samples=300)
    masked = [np.column_stack([logits, np.full(300, depth)]) for depth in (-1e4, -1e9)]
    np.testing.assert_array_equal(*map(sample_keys, masked))


def test_samples_of_a_group_share_a_key_and_groups_do_not():
    logits, _ = make_samples(n_samples=300)
    groups = np.random.default_rng(0).integers(40, size=300)
    keys = sample_keys(logits, groups)
    assert len(np.unique(keys)) == len(np.unique(np.column_stack([groups, keys]), axis=0)) == len(np.unique(groups))


def test_logits_that_are_all_the_same_have_keys_too():
    assert sample_keys(np.zeros((6, 3))).shape == (6,)
    assert sample_keys(np.zeros((1, 2))).shape == (1,)


# ---- folds by keys ---------------------------------------------------------------------------------------------------


def test_keyed_folds_are_of_about_equal_size_and_another_salt_gives_others():
    keys = sample_keys(make_samples(n_samples=3000)[0])
    folds, others = keyed_folds(keys, 5, 0), keyed_folds(keys, 5, 1)
    for some in (folds, others):
        assert np.abs(np.bincount(some, minlength=5) - 600).max() < 4.5 * np.sqrt(3000 * 0.2 * 0.8)
    assert np.mean(folds == others) == pytest.approx(0.2, abs=0.04)  # independent of each other
    np.testing.assert_array_equal(keyed_folds(keys, 5, 0), folds)


def test_a_sample_stays_in_its_fold_if_others_come_or_go():
    keys = sample_keys(make_samples(n_samples=300)[0])
    np.testing.assert_array_equal(keyed_folds(keys[:100], 5, 3), keyed_folds(keys, 5, 3)[:100])


def test_there_are_at_least_two_folds_wherever_there_are_two_keys():
    for seed in range(50):
        keys = np.random.default_rng(seed).integers(2**62, size=2).astype(np.uint64)
        assert len(np.unique(keyed_folds(keys, 5, seed))) == 2
        assert len(np.unique(keyed_folds(keys[[0, 0, 1, 1, 1]], 2, seed))) == 2
    np.testing.assert_array_equal(
        keyed_folds(np.zeros(3, dtype=np.uint64), 5, 0), np.full(3, keyed_folds(np.zeros(1, dtype=np.uint64), 5, 0)[0])
    )


def test_folds_are_not_stratified():
    """With stratified folds a class is as frequent outside of a fold as within; of new samples that is not so."""
    logits, codes = make_samples(n_samples=300)
    shares = [np.bincount(codes[keyed_folds(sample_keys(logits), 5, salt) == 0], minlength=5) for salt in range(60)]
    spread = np.var([share / share.sum() for share in shares], axis=0).mean()
    assert spread == pytest.approx(0.2 * 0.8 / 60, rel=0.4)


# ---- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 5])
def test_groups_are_held_out_as_a_whole_and_folds_have_about_the_same_number_of_samples(folds):
    groups = np.random.default_rng(0).integers(60, size=1000)
    fold_of = group_folds(groups, folds, np.random.default_rng(1))
    assert len(np.unique(np.column_stack([groups, fold_of]), axis=0)) == 60
    assert np.ptp(np.bincount(fold_of)) <= np.bincount(groups).max()
    assert (fold_of != group_folds(groups, folds, np.random.default_rng(2))).any()


def test_with_fewer_groups_than_folds_each_group_is_a_fold():
    folds = group_folds(np.array([0, 1, 1, 2]), 10, np.random.default_rng(0))
    assert sorted(folds[[0, 1, 3]].tolist()) == [0, 1, 2]


def test_splits_hold_out_every_sample_once():
    folds = np.array([2, 0, 2, 5])
    splits = splits_of(folds)
    assert [(train.tolist(), test.tolist()) for train, test in splits] == [
        ([0, 2, 3], [1]),
        ([1, 3], [0, 2]),
        ([0, 1, 2], [3]),
    ]
    assert covered_once(splits, 4)
    assert not covered_once(splits[:2], 4)
    assert not covered_once([*splits, splits[0]], 4)


def test_equal_rows_have_equal_hashes_and_others_do_not():
    values = np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0], [1.0, 1e-300]])
    hashes = row_hashes(values)
    assert hashes[0] == hashes[1]
    assert len(set(hashes.tolist())) == 3
