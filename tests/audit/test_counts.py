"""Counts by class and by pair of classes."""

import math

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from aftermax import audit
from aftermax._audit.counts import ClassCounts, PairCounts, most_changed


def test_pairs_that_are_confused_more_are_shown_too():
    labels = np.repeat([0, 1], 50)
    before, after = labels.copy(), labels.copy()
    before[:10] = 1  # zeros predicted as ones, all corrected
    after[50:57] = 0  # ones predicted as zeros, by the head only
    logits = np.eye(2)[before] * 2.0 + np.arange(100)[:, None] / 1000  # so that none is a copy

    class Fixed(BaseEstimator, ClassifierMixin):
        def fit(self, X, y):
            self.classes_, self.held_out_ = np.unique(y), after
            return self

        def predict(self, X):
            return after

    result = audit(logits, labels, Fixed())
    assert result.pairs == (PairCounts(0, 1, 10, 0),)
    assert result.tangled == (PairCounts(1, 0, 0, 7),)
    assert result.other_errors == (0, 0)


def test_the_recall_of_a_class():
    assert ClassCounts("cat", 10, 6, 4, 1).recall == (0.4, 0.7)
    assert all(map(math.isnan, ClassCounts("cat", 0, 0, 0, 0).recall))


def test_of_many_classes_those_that_change_most_are_shown_and_the_rest_is_summed():
    many = tuple(ClassCounts(j, 10, 5, j % 7, j % 5) for j in range(40))
    shown, (rest,) = most_changed(many)
    assert len(shown) == 15
    assert [one.net for one in shown] == sorted((one.net for one in shown), reverse=True)
    assert min(abs(one.net) for one in shown) >= max(abs(one.net) for one in set(many) - set(shown))
    assert rest == ClassCounts("25 others", 250, 125, *(sum(one[k] for one in set(many) - set(shown)) for k in (3, 4)))
    assert most_changed(many[:16])[1] == []


def test_classes_that_get_worse_are_shown_even_if_many_others_get_better_by_more():
    better = tuple(ClassCounts(j, 90, 50, 20 + j % 7, 0) for j in range(2_000))
    worse = tuple(ClassCounts(j, 90, 50, 0, 1 + j % 3) for j in range(2_000, 2_300))
    shown, (rest,) = most_changed(better + worse)
    assert [one.net for one in shown] == [26] * 10 + [-3] * 5
    assert rest.name == "2,285 others"
    assert rest.net == sum(one.net for one in better + worse) - sum(one.net for one in shown)


def test_as_many_classes_are_shown_as_asked_for():
    many = tuple(ClassCounts(j, 10, 5, j % 3, j % 2) for j in range(40))
    for most in (1, 2, 3, 30, 38):
        shown, (rest,) = most_changed(many, most)
        assert len(shown) == most
        assert rest.name == f"{40 - most} others"
