"""What a service tells: the best classes only, or rounded probabilities."""

import numpy as np
from scipy.special import log_softmax, softmax

from experiments.zeroshot.answers import all_logits, rounded_logits, top_k_logits

LABELLED, TEST = np.random.default_rng(0).normal(size=(2, 40, 12)) * 2


def test_all_logits_are_as_they_are():
    labelled, test = all_logits(LABELLED, TEST)
    assert labelled is LABELLED
    assert test is TEST


def test_the_best_five_are_told_exactly_and_all_others_share_the_rest():
    labelled, test = top_k_logits(LABELLED, TEST)
    logs = log_softmax(LABELLED, axis=1)
    told = np.argsort(-logs, axis=1)[:, :5]
    np.testing.assert_allclose(np.take_along_axis(labelled, told, axis=1), np.take_along_axis(logs, told, axis=1))
    untold = np.argsort(-logs, axis=1)[:, 5:]
    others = np.take_along_axis(labelled, untold, axis=1)
    np.testing.assert_allclose(others, np.repeat(others[:, :1], 7, axis=1))
    assert (others[:, 0] <= np.take_along_axis(logs, told, axis=1).min(axis=1) + 1e-9).all()
    np.testing.assert_array_equal(test.argmax(axis=1), TEST.argmax(axis=1))


def test_a_told_class_is_never_behind_one_that_is_not():
    sure = np.array([[60.0, 1.0, 0.0]])
    labelled, test = top_k_logits(LABELLED[:, :3], sure, k=2)
    assert test[0, 1] > test[0, 2]
    assert labelled.min() >= test[0, 2]


def test_more_classes_than_there_are_are_all_of_them():
    np.testing.assert_allclose(top_k_logits(LABELLED, k=20)[0], log_softmax(LABELLED, axis=1))


def test_probabilities_of_two_digits():
    _, test = rounded_logits(LABELLED, TEST)
    rounded = np.round(softmax(TEST, axis=1), 2)
    np.testing.assert_allclose(test[rounded > 0], np.log(rounded[rounded > 0]))
    assert (test[rounded == 0] <= np.log(0.01) + 1e-9).all()
