"""The shares of unlabelled samples: near the truth, within their intervals, and what a head gains by them."""

import numpy as np
import pytest

from aftermax._priors.estimate import estimate
from aftermax._priors.labelled import LabelledSummary
from aftermax._utils.softmax import softmax
from helpers.label_shift import world

EQUAL, TRUE = np.full(4, 0.25), np.array([0.6, 0.25, 0.1, 0.05])


def found(shares, n_new=1_000, n_labelled=500, seed=0, groups=None):
    logits, labels = world(EQUAL, n_labelled, seed)
    summary = LabelledSummary.of(softmax(logits), labels, np.ones(n_labelled))
    probabilities = softmax(world(shares, n_new, 1_000 + seed)[0])
    rng = np.random.default_rng(seed)
    return estimate(probabilities, probabilities.argmax(axis=1), summary, groups, rng)


@pytest.fixture(scope="module")
def many():
    return [found(TRUE, seed=seed) for seed in range(40)]


def test_shares_are_near_the_true_ones(many):
    np.testing.assert_allclose(np.mean([one.shares for one in many], axis=0), TRUE, atol=0.02)


def test_intervals_hold_the_true_shares_about_as_often_as_they_say(many):
    held = [(one.intervals[:, 0] <= TRUE) & (one.intervals[:, 1] >= TRUE) for one in many]
    assert np.mean(held) > 0.85


def test_without_a_move_the_shares_are_shrunk_to_the_assumed_ones():
    nothing = [found(EQUAL, n_new=200, seed=seed) for seed in range(10)]
    assert np.mean([np.abs(one.shares - one.assumed).sum() for one in nothing]) < 0.06
    assert np.mean([one.least_gain > 0.02 for one in nothing]) <= 0.1


def test_what_is_promised_is_about_what_is_gained():
    logits, labels = world(TRUE, 20_000, seed=77)
    one = found(TRUE, n_new=2_000, n_labelled=2_000)
    before = (logits.argmax(axis=1) != labels).mean()
    adapted = one.slope * np.log(softmax(logits)) + one.offsets
    gain = 1 - (adapted.argmax(axis=1) != labels).mean() / before
    assert one.least_gain < one.gain
    assert abs(one.gain - gain) < 0.06


def test_groups_widen_the_intervals():
    alone = found(TRUE, n_new=1_000)
    groups = np.sort(np.arange(1_000) % 10)
    together = found(TRUE, n_new=1_000, groups=groups)
    np.testing.assert_allclose(alone.shares, together.shares, atol=0.02)
    assert (np.diff(together.intervals) != np.diff(alone.intervals)).all()
