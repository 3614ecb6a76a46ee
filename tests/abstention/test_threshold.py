"""The threshold on certainty, and the promise that it keeps."""

import math

import numpy as np
import pytest

from aftermax._abstention.bounds import binomial_upper_bound
from aftermax._abstention.record import Abstention
from aftermax._abstention.threshold import choose_threshold


def drawn(n_samples, seed=0, sharpness=0.3):
    """Certainties that are calibrated: a prediction is right with that probability."""
    rng = np.random.default_rng(seed)
    certainty = 1 - rng.uniform(0, 1, size=n_samples) ** (1 / sharpness) / 2
    return certainty, rng.random(n_samples) < certainty


def test_the_kept_samples_are_the_most_certain_ones_and_their_bound_holds():
    certainty, right = drawn(2_000)
    found = choose_threshold(certainty, right, 0.02)
    kept = certainty >= found.threshold
    assert found.n_kept == kept.sum() > 500
    assert found.share == kept.mean()
    assert found.error == pytest.approx(1 - right[kept].mean())
    assert found.upper_bound == pytest.approx(binomial_upper_bound((~right[kept]).sum(), kept.sum(), 0.95))
    assert found.upper_bound <= 0.02


def test_one_more_sample_would_break_the_bound():
    certainty, right = drawn(2_000)
    found = choose_threshold(certainty, right, 0.02)
    order = np.argsort(-certainty)[: found.n_kept + 1]
    assert binomial_upper_bound((~right[order]).sum(), found.n_kept + 1, 0.95) > 0.02


def test_a_larger_error_and_a_lower_confidence_keep_more():
    certainty, right = drawn(2_000)
    shares = [choose_threshold(certainty, right, error).share for error in (0.02, 0.05, 0.1)]
    assert shares == sorted(shares)
    assert shares[0] < shares[1]
    assert choose_threshold(certainty, right, 0.02, confidence=0.8).share > shares[0]


def test_the_order_of_the_samples_does_not_matter():
    certainty, right = drawn(600)
    certainty = certainty.round(2)
    groups = np.repeat(np.arange(200), 3)
    order = np.random.default_rng(1).permutation(600)
    for extra in ({}, {"groups": groups}, {"weights": 1.0 + groups % 3}):
        moved = {name: values[order] for name, values in extra.items()}
        assert choose_threshold(certainty, right, 0.1, **extra) == choose_threshold(
            certainty[order], right[order], 0.1, **moved
        )


@pytest.mark.parametrize("max_error", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("n_samples", [100, 400])
def test_the_promise_is_kept_where_it_is_hardest(max_error, n_samples):
    """However certain, samples are wrong a little too often: keeping any of them breaks the promise."""
    rng = np.random.default_rng(0)
    wrong = rng.random((1_000, n_samples)) < 1.001 * max_error
    certainty = rng.random((1_000, n_samples))
    broken = [choose_threshold(*one, max_error).keeps_any for one in zip(certainty, ~wrong, strict=True)]
    assert np.mean(broken) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1_000)


def test_choosing_the_best_of_all_thresholds_instead_would_break_it():
    """The world of the test above can fail: a threshold that is chosen by looking, with a bound of its own."""
    rng = np.random.default_rng(0)
    wrong = rng.random((1_000, 400)) < 0.05
    errors = wrong.cumsum(axis=1)
    bounds = np.array([binomial_upper_bound(e, 400, 0.95) for e in range(60)])
    allowed = [max((e for e in range(25) if binomial_upper_bound(e, k, 0.95) <= 0.05), default=-1) for k in (100, 200)]
    broken = (errors[:, 99] <= allowed[0]) | (errors[:, 199] <= allowed[1]) | (bounds[errors[:, 399]] <= 0.05)
    assert np.mean(broken) > 0.07


def test_the_promise_is_kept_for_patients_whose_samples_are_alike():
    rng, broken = np.random.default_rng(0), []
    for _ in range(300):
        sizes = rng.integers(4, 9, size=200)
        groups = np.repeat(np.arange(200), sizes)
        wrong = (rng.random(200) < 0.051)[groups]
        certainty = np.repeat(rng.random(200), sizes) + 0.01 * rng.random(len(groups))
        broken.append(choose_threshold(certainty, ~wrong, 0.05, groups=groups).keeps_any)
    assert np.mean(broken) <= 0.05


def test_without_groups_the_promise_to_patients_would_be_broken():
    rng, broken = np.random.default_rng(0), []
    for _ in range(300):
        groups = np.repeat(np.arange(200), 6)
        wrong = (rng.random(200) < 0.051)[groups]
        broken.append(choose_threshold(np.repeat(rng.random(200), 6), ~wrong, 0.05).keeps_any)
    assert np.mean(broken) > 0.1


def test_groups_keep_less_than_samples_and_more_groups_keep_more():
    certainty, right = drawn(3_000)
    shares = [choose_threshold(certainty, right, 0.05, groups=np.arange(3_000) // size).share for size in (1, 2, 6, 60)]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0.0


def test_equal_weights_change_nothing_and_zero_leaves_samples_out():
    certainty, right = drawn(800)
    plain = choose_threshold(certainty, right, 0.05)
    doubled = choose_threshold(certainty, right, 0.05, weights=np.full(800, 2.0))
    assert (doubled.threshold, doubled.share) == (plain.threshold, plain.share)
    more, weights = np.append(certainty, [1.0, 1.0]), np.append(np.ones(800), [0.0, 0.0])
    assert choose_threshold(more, np.append(right, [False, False]), 0.05, weights=weights).share == plain.share


def test_weighted_errors_are_what_is_promised():
    certainty, right = drawn(2_000)
    heavy = np.where(right, 1.0, 5.0)  # each error counts as five
    found = choose_threshold(certainty, right, 0.1, weights=heavy)
    kept = certainty >= found.threshold
    assert found.error == pytest.approx(heavy[kept & ~right].sum() / heavy[kept].sum())
    assert found.upper_bound <= 0.1
    assert found.share < choose_threshold(certainty, right, 0.1).share


def test_equally_certain_samples_are_kept_together_or_not_at_all():
    certainty, right = drawn(2_000)
    rounded = np.minimum(certainty.round(1), 0.9)
    found = choose_threshold(rounded, right, 0.05)
    assert 0 < found.n_kept == (rounded >= 0.9).sum()


def test_certainties_that_are_all_equal_keep_all_or_nothing():
    right = np.arange(500) >= 5
    assert choose_threshold(np.full(500, 0.7), right, 0.05).share == 1.0
    assert choose_threshold(np.full(500, 0.7), np.arange(500) >= 30, 0.05).share == 0.0


def test_if_all_are_right_all_are_kept():
    found = choose_threshold(np.linspace(0.4, 0.9, 200), np.ones(200, dtype=bool), 0.02)
    assert (found.share, found.error, found.n_kept) == (1.0, 0.0, 200)
    assert 0.399 < found.threshold <= 0.4


def test_if_all_are_wrong_none_is_kept():
    found = choose_threshold(np.linspace(0.4, 0.9, 200), np.zeros(200, dtype=bool), 0.02)
    assert (found.share, found.n_kept, found.threshold) == (0.0, 0, math.inf)
    assert math.isnan(found.error)
    assert "not proven even for the most certain of the 200 samples" in str(found)


def test_too_few_samples_say_how_many_are_needed():
    found = choose_threshold(np.linspace(0.4, 0.9, 148), np.ones(148, dtype=bool), 0.02)
    assert not found.keeps_any
    assert "needs at least 149 labelled samples" in str(found)
    assert "there are 148" in str(found)
    in_groups = choose_threshold(np.linspace(0.4, 0.9, 300), np.ones(300, dtype=bool), 0.02, groups=np.arange(300) // 3)
    assert "149 labelled groups" in str(in_groups)
    assert "there are 100" in str(in_groups)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5, math.nan, math.inf, "2 %", None, True])
@pytest.mark.parametrize("name", ["max_error", "confidence"])
def test_an_impossible_error_or_confidence_is_refused(name, value):
    limits = {"max_error": 0.02, "confidence": 0.95} | {name: value}
    with pytest.raises(ValueError, match=f"{name}=.*: choose"):
        choose_threshold([0.5, 0.6], [True, False], **limits)


@pytest.mark.parametrize(
    ("certainty", "right", "extra", "message"),
    [
        ([], [], {}, "one value of each"),
        ([0.5, 0.6], [True], {}, "one value of each"),
        ([[0.5, 0.6]], [[True, False]], {}, "one value of each"),
        ([0.5, math.nan], [True, False], {}, "never held out"),
        ([0.5, 0.6], [True, False], {"groups": [1]}, "groups has shape"),
        ([0.5, 0.6], [True, False], {"weights": [1.0]}, "weights has shape"),
        ([0.5, 0.6], [True, False], {"weights": [1.0, -1.0]}, "not negative"),
        ([0.5, 0.6], [True, False], {"weights": [0.0, 0.0]}, "not all zero"),
    ],
)
def test_input_that_does_not_fit_is_refused(certainty, right, extra, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold(certainty, right, 0.02, **extra)


def test_a_record_is_stored_and_read_again():
    for found in (choose_threshold(*drawn(500), 0.05), choose_threshold(*drawn(20), 0.05, groups=np.arange(20) // 2)):
        again = Abstention.from_state(found.to_state())
        assert str(again) == str(found)
        assert again.threshold == found.threshold


@pytest.mark.parametrize(
    "change",
    [{"max_error": 2.0}, {"n_kept": 501}, {"n_kept": 0}, {"threshold": math.nan}, {"needed": 0}, {"weighted": 1}],
)
def test_a_damaged_record_is_refused(change):
    state = choose_threshold(*drawn(500), 0.05).to_state()
    with pytest.raises(ValueError, match=next(iter(change)).replace("n_kept", "keeps")):
        Abstention.from_state(state | change)
    with pytest.raises(ValueError, match="fields"):
        Abstention.from_state({name: value for name, value in state.items() if name != "share"})


# ---- what an attack found --------------------------------------------------------------------------------------------


def test_nothing_is_promised_where_one_group_has_most_of_the_samples():
    groups = np.r_[np.arange(59), np.full(1_000, 59)]
    found = choose_threshold(np.full(1_059, 0.9), np.ones(1_059, dtype=bool), 0.05, groups=groups)
    assert found.n_kept == 0
    heavy = choose_threshold(np.full(60, 0.9), np.ones(60, dtype=bool), 0.05, weights=np.r_[np.ones(59), 1_000.0])
    assert heavy.n_kept == 0


def test_rare_heavy_samples_that_err_often_do_not_break_the_promise():
    """Two samples in a hundred weigh 49 and are wrong with probability 0.3; of the others, one in a hundred is."""
    broken = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        heavy = rng.random(300) < 0.02
        right = rng.random(300) >= np.where(heavy, 0.3, 0.01)  # an error of 0.155 by weight
        found = choose_threshold(np.full(300, 0.9), right, 0.1, weights=np.where(heavy, 49.0, 1.0))
        broken += found.n_kept > 0
    assert broken <= 10


@pytest.mark.parametrize("max_error", [1e-12, 0.0, 1.0])
def test_an_error_that_no_labels_can_prove_is_refused(max_error):
    with pytest.raises(ValueError, match="max_error="):
        choose_threshold(np.full(60, 0.9), np.ones(60, dtype=bool), max_error)
