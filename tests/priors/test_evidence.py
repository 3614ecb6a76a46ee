"""Both tests hold their level, and find what they are for."""

import numpy as np
import pytest

from aftermax._priors.estimate import estimate
from aftermax._priors.evidence import moved_p_value
from aftermax._priors.labelled import LabelledSummary
from aftermax._utils.softmax import softmax
from helpers.label_shift import world

EQUAL = np.full(4, 0.25)


def summary(n_samples, seed, groups=None):
    logits, labels = world(EQUAL, n_samples, seed)
    return LabelledSummary.of(softmax(logits), labels, np.ones(n_samples), groups)


def p_moved(labelled, logits, groups=None):
    calibration, reference = next(iter(labelled.worlds()))
    return moved_p_value(calibration(softmax(logits)), reference, labelled.effective_samples, groups)


@pytest.mark.parametrize(("n_labelled", "n_new"), [(200, 100), (200, 2_000), (1_000, 1_000)])
def test_without_a_move_p_values_are_small_as_rarely_as_they_should(n_labelled, n_new):
    found = [p_moved(summary(n_labelled, seed), world(EQUAL, n_new, 10_000 + seed)[0]) for seed in range(200)]
    assert np.mean(np.array(found) < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(np.array(found) < 0.5) > 0.35


def test_a_move_is_found():
    logits, _ = world([0.4, 0.3, 0.2, 0.1], 300, seed=1)
    assert p_moved(summary(1_000, 0), logits) < 0.001


def test_groups_of_copies_are_counted_once():
    logits, _ = world([0.31, 0.25, 0.25, 0.19], 250, seed=3)
    copies = np.repeat(logits, 20, axis=0)
    alone, together = (
        p_moved(summary(5_000, 0), copies),
        p_moved(summary(5_000, 0), copies, np.repeat(np.arange(250), 20)),
    )
    assert alone < 0.001 < together


def test_labelled_groups_make_fewer_effective_samples():
    logits, labels = world(EQUAL, 200, seed=0)
    copied, groups = np.repeat(logits, 10, axis=0), np.repeat(np.arange(200), 10)
    found = LabelledSummary.of(softmax(copied), np.repeat(labels, 10), np.ones(2_000), groups)
    assert 150 < found.effective_samples < 250


def label_shift_p(logits, seed=0):
    found = summary(1_000, seed)
    probabilities = softmax(logits)
    rng = np.random.default_rng(0)
    return estimate(probabilities, probabilities.argmax(axis=1), found, None, rng).p_label_shift


def test_other_proportions_alone_are_label_shift():
    found = [label_shift_p(world([0.7, 0.2, 0.05, 0.05], 1_000, seed=100 + seed)[0], seed) for seed in range(20)]
    assert np.mean(np.array(found) < 0.01) <= 0.1


def test_samples_that_look_otherwise_are_more_than_label_shift():
    logits, _ = world(EQUAL, 1_000, seed=5)
    noisy = logits / 3 + np.random.default_rng(0).normal(size=logits.shape)
    assert label_shift_p(noisy) < 0.01
