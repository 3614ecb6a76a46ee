"""What a classifier gains: the estimate, its intervals, its correction for having been selected; groups and weights."""

import numpy as np
import pytest

from aftermax._utils import comparison
from aftermax._utils.comparison import Comparison, promised_gain, summed
from aftermax._utils.paired_tests import one_sided_mcnemar, sign_flip_p_value


def of_counts(wins, losses, errors, n_samples):
    """Each sample for itself: wins, losses, wrong in both, right in both."""
    kinds = np.repeat([0, 1, 2, 3], [wins, losses, errors - wins, n_samples - errors - losses])
    return Comparison.of(np.isin(kinds, [1, 3]), np.isin(kinds, [0, 3]))


def test_the_gain_is_the_share_of_errors_gone_and_its_test_is_mcnemars():
    one = of_counts(30, 10, 100, 1000)
    assert one.gain == 0.2
    assert one.z_score == pytest.approx(20 / np.sqrt(40))
    assert one.p_value == one_sided_mcnemar(30, 10)
    assert of_counts(10, 30, 100, 1000).gain == -0.2


def test_over_no_errors_a_gain_is_counted_in_samples():
    before, after = np.ones(4, dtype=bool), np.array([True, True, True, False])
    assert Comparison.of(before, after).gain == -1.0
    assert Comparison.of(before, after, np.array([1.0, 2.0, 1.0, 4.0])).gain == -2.0
    assert Comparison.of(before, before).gain == 0.0


def test_weights_count_as_often_as_they_say():
    rng = np.random.default_rng(0)
    before, after, weights = rng.random(200) < 0.7, rng.random(200) < 0.8, rng.integers(1, 4, size=200)
    weighted = Comparison.of(before, after, weights.astype(float))
    repeated = Comparison.of(np.repeat(before, weights), np.repeat(after, weights))
    assert weighted.gain == pytest.approx(repeated.gain)
    assert weighted.p_value > repeated.p_value  # but they are not more samples


def test_a_group_is_one_however_many_samples_it_has():
    rng = np.random.default_rng(0)
    before, after = rng.random(60) < 0.6, rng.random(60) < 0.8
    alone = Comparison.of(before, after)
    copied = Comparison.of(np.repeat(before, 5), np.repeat(after, 5), groups=np.repeat(np.arange(60), 5))
    assert len(copied.drops) == 60
    assert copied.gain == alone.gain
    assert copied.p_value == alone.p_value
    np.testing.assert_allclose(copied.intervals()[0], alone.intervals()[0], atol=0.03)
    careless = Comparison.of(np.repeat(before, 5), np.repeat(after, 5))
    assert careless.p_value < alone.p_value
    assert np.ptp(careless.intervals()[0]) < 0.6 * np.ptp(alone.intervals()[0])


def test_wins_and_losses_within_a_group_cancel():
    before, after = np.array([True, False, False, True]), np.array([False, True, True, True])
    one = Comparison.of(before, after, groups=np.array([0, 0, 1, 1]))
    assert one.drops.tolist() == [0.0, 1.0]
    assert one.errors.tolist() == [1.0, 1.0]
    assert one.p_value == 0.5


def test_sums_of_groups():
    values = np.array([1.0, 2.0, 4.0])
    assert summed(values, None) is values
    assert summed(values, np.array([1, 0, 1])).tolist() == [2.0, 5.0]


# ---- intervals -------------------------------------------------------------------------------------------------------


def test_the_first_interval_covers_the_true_gain_and_the_second_the_gain_on_new_samples():
    rng = np.random.default_rng(1)
    chances = np.array([0.06, 0.03, 0.14, 0.77])
    true = (chances[0] - chances[1]) / (chances[0] + chances[2])
    covered = np.zeros(3)
    for old, new in rng.multinomial(600, chances, size=(300, 2)):
        (low, high), (new_low, new_high) = of_counts(old[0], old[1], old[0] + old[2], 600).intervals()
        gain_on_new = (new[0] - new[1]) / (new[0] + new[2])
        covered += [low <= true <= high, new_low <= gain_on_new <= new_high, low <= gain_on_new <= high]
    of_true, of_new, of_new_by_first = covered / 300
    assert 0.92 < of_true < 0.98
    assert 0.92 < of_new < 0.98
    assert of_new_by_first < 0.9  # so two intervals are needed


def test_an_interval_has_a_width_even_if_nothing_changed():
    for errors in (0, 20):
        (low, high), (new_low, new_high) = of_counts(0, 0, errors, 50).intervals()
        assert low < 0 < high
        assert new_low <= 0 <= new_high


def test_a_gain_is_significant_about_where_its_interval_lies_above_0():
    for wins in range(1, 30):
        one = of_counts(wins, 8, 100, 1000)
        if one.p_value < 0.02:
            assert one.intervals()[0][0] > 0
        if one.p_value > 0.05:
            assert one.intervals()[0][0] < 0


def test_intervals_do_not_depend_on_the_order_or_the_unit_of_weights():
    rng = np.random.default_rng(0)
    before, after, weights = rng.random(300) < 0.7, rng.random(300) < 0.8, rng.choice([1.0, 2.5], size=300)
    order = rng.permutation(300)
    one = Comparison.of(before, after, weights)
    assert Comparison.of(before[order], after[order], weights[order]).intervals() == one.intervals()
    scaled = Comparison.of(before, after, 8.0 * weights)  # a power of two, without rounding
    assert scaled.intervals() == one.intervals()


def test_where_groups_are_all_different_the_approximation_is_close_to_the_draws(monkeypatch):
    rng = np.random.default_rng(0)
    before, after, weights = rng.random(900) < 0.7, rng.random(900) < 0.8, rng.uniform(0.5, 2.0, size=900)
    one = Comparison.of(before, after, weights)
    drawn = one.intervals()
    monkeypatch.setattr(comparison, "MOST_KINDS", 10)
    np.testing.assert_allclose(one.intervals(), drawn, atol=0.03)
    assert one.intervals() != drawn


# ---- selected for being good -----------------------------------------------------------------------------------------


def test_a_gain_that_was_selected_is_shrunk_by_its_uncertainty():
    one = of_counts(30, 10, 100, 1000)
    assert one.selected_gain == pytest.approx(0.2 * (1 - 40 / 20**2))
    assert of_counts(500, 100, 1000, 5000).selected_gain == pytest.approx(0.4, rel=0.01)
    assert of_counts(5, 4, 100, 1000).selected_gain == 0.0  # less than one standard deviation
    assert of_counts(4, 5, 100, 1000).selected_gain == 0.0
    assert of_counts(0, 0, 100, 1000).selected_gain == 0.0


def test_the_best_of_several_is_promised_less_wrongly_than_it_looks():
    """Of eight heads of the same true gain, the one that looks best: its own gain is too large, the promise less so."""
    rng = np.random.default_rng(3)
    chances, n_samples = np.array([0.04, 0.03, 0.16, 0.77]), 400
    true = 0.05
    own, promised = [], []
    for _ in range(200):
        heads = [of_counts(w, x, w + both, n_samples) for w, x, both, _ in rng.multinomial(n_samples, chances, size=8)]
        best = max(heads, key=lambda one: one.gain)
        own.append(best.gain - true)
        promised.append(best.selected_gain - true)
    assert np.mean(own) > 0.05
    assert abs(np.mean(promised)) < 0.75 * np.mean(own)


def test_softmax_that_is_kept_promises_nothing_and_is_sure_of_it():
    one = of_counts(30, 10, 100, 1000)
    assert promised_gain(one, kept_softmax=True) == (0.0, (0.0, 0.0), (0.0, 0.0))
    assert promised_gain(one, kept_softmax=False) == (one.selected_gain, *one.intervals())


def test_the_p_value_is_that_of_the_drops():
    drops = np.array([3.0, -1.0, 2.0, 0.0, 1.0])
    assert Comparison(drops, np.abs(drops)).p_value == sign_flip_p_value(drops)


def test_intervals_are_those_of_jeffreys_prior():
    """By draws of another kind: half a win, loss, wrong and right one added to what was counted."""
    wins, losses, wrong, right = 2, 1, 2, 25
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.array([wins, losses, wrong, right]) + 0.5, size=200_000)
    again = np.array([rng.multinomial(30, one) for one in shares[:60_000]])
    with np.errstate(divide="ignore", invalid="ignore"):
        true = (shares[:, 0] - shares[:, 1]) / (shares[:, 0] + shares[:, 2])
        observed = (again[:, 0] - again[:, 1]) / (again[:, 0] + again[:, 2])
    none = again[:, 0] + again[:, 2] == 0
    observed[none] = -again[none, 1]
    found = of_counts(wins, losses, wins + wrong, 30).intervals()
    np.testing.assert_allclose(found[0], np.quantile(true, [0.025, 0.975]), atol=0.05)
    np.testing.assert_allclose(found[1], np.quantile(observed, [0.025, 0.975]), atol=0.05)


def test_of_few_groups_the_intervals_hold_those_by_students_t():
    before = np.array([True, False, False, False, True, False])
    after = np.array([True, True, False, True, True, True])
    few = Comparison.of(before, after)
    joined, by_t = few.intervals(), few._normal_intervals()
    for (low, high), (low_by_t, high_by_t) in zip(joined, by_t, strict=True):
        assert low <= low_by_t < high_by_t <= high
    assert joined[0][0] == by_t[0][0] or joined[0][1] == by_t[0][1]
