"""An estimator that is fitted here, and its out-of-fold logits."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from aftermax import AutoHead, PostHocClassifier
from helpers.digits import NAMES, QUICK, TEST, TRAIN, VAL, X, Y


@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True, random_state=0)])
def test_an_estimator_that_is_not_fitted_is_fitted_here_and_the_head_on_out_of_fold_logits(cv):
    samples, labels = X[VAL], NAMES[Y[VAL]]
    estimator = RidgeClassifier()
    better = PostHocClassifier(estimator, QUICK, cv=cv).fit(samples, labels)
    assert better.refitted_
    assert not hasattr(estimator, "classes_")
    splitter = StratifiedKFold(cv or 5) if cv is None or isinstance(cv, int) else cv
    logits = np.empty((len(samples), 10))
    for train, test in splitter.split(samples, labels):
        logits[test] = RidgeClassifier().fit(samples[train], labels[train]).decision_function(samples[test])
    np.testing.assert_array_equal(better.head_.theta_, clone(QUICK).fit(logits, labels).theta_)
    np.testing.assert_array_equal(better.estimator_.coef_, RidgeClassifier().fit(samples, labels).coef_)
    np.testing.assert_array_equal(better.classes_, np.sort(NAMES))


def test_clones_of_a_fitted_model_are_fitted_again_if_cv_is_given():
    model = RidgeClassifier().fit(X[TRAIN], Y[TRAIN])
    before = pickle.dumps(model)
    better = PostHocClassifier(model, QUICK, cv=3, n_jobs=2).fit(X[VAL], Y[VAL])
    assert better.refitted_
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(better.estimator_.coef_, RidgeClassifier().fit(X[VAL], Y[VAL]).coef_)
    assert clone(better).estimator is not model


def test_folds_need_not_cover_all_samples():
    cv = ShuffleSplit(1, test_size=0.5, random_state=0)
    better = PostHocClassifier(RidgeClassifier(), AutoHead(cv=2), cv=cv).fit(X[VAL], Y[VAL])
    assert len(better.head_.held_out_) == 200
    assert better.score(X[TEST], Y[TEST]) > 0.85


def test_parameters_of_both_parts_can_be_searched():
    grid = {"estimator__var_smoothing": [1e3, 0.1], "head__var_smoothing": [1e3, 0.1]}
    search = GridSearchCV(PostHocClassifier(GaussianNB(), GaussianNB(), cv=2), grid, cv=2).fit(X[VAL], Y[VAL])
    assert search.best_params_ == {"estimator__var_smoothing": 0.1, "head__var_smoothing": 0.1}
    assert search.best_estimator_.estimator_.var_smoothing == search.best_estimator_.head_.var_smoothing == 0.1


def test_a_class_that_is_in_one_fold_only_is_named():
    labels = NAMES[Y[VAL]]
    order = np.argsort(labels)
    with pytest.raises(ValueError, match=r"no samples of 'eight', 'five'.*stratified folds"):
        PostHocClassifier(RidgeClassifier(), QUICK, cv=KFold(4)).fit(X[VAL][order], labels[order])
