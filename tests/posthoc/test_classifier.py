"""PostHocClassifier: a fitted model and a head as one classifier; labels and parameters that are refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from aftermax import AutoHead, PostHocClassifier, SPHClassifier, audit, load, save
from helpers.digits import NAMES, QUICK, TEST, TRAIN, VAL, X, Y, of_first_classes


def test_a_fitted_model_gains_and_is_not_changed(model):
    before = pickle.dumps(model)
    better = PostHocClassifier(model).fit(X[VAL], Y[VAL])
    assert isinstance(better.head_, AutoHead)
    assert better.estimator_ is better.estimator is model
    assert not better.refitted_
    assert pickle.dumps(model) == before
    head = AutoHead().fit(model.decision_function(X[VAL]), Y[VAL])
    logits = model.decision_function(X[TEST])
    np.testing.assert_array_equal(better.predict(X[TEST]), head.predict(logits))
    np.testing.assert_array_equal(better.predict_proba(X[TEST]), head.predict_proba(logits))
    np.testing.assert_array_equal(better.logits(X[TEST]), logits)
    assert 1 - better.score(X[TEST], Y[TEST]) < 0.7 * (1 - model.score(X[TEST], Y[TEST]))
    assert audit(better.logits(X[VAL]), Y[VAL], QUICK).wins > 0


@pytest.mark.parametrize("cv", [None, 3])
def test_a_frozen_model_is_the_same_with_any_cv(model, cv):
    frozen = PostHocClassifier(FrozenEstimator(model), QUICK, cv=cv).fit(X[VAL], Y[VAL])
    plain = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    assert not frozen.refitted_
    np.testing.assert_array_equal(frozen.predict_proba(X[TEST]), plain.predict_proba(X[TEST]))


def test_a_fitted_model_stays_frozen_where_scikit_learn_clones(model):
    wrapped = PostHocClassifier(model, AutoHead(cv=2, only_proven=True))
    copy = clone(wrapped)
    assert wrapped.estimator is model
    assert copy.estimator.estimator is model
    assert copy.head is not wrapped.head
    assert clone(copy).estimator.estimator is model
    wrapped.head.set_params(only_proven=True)
    search = GridSearchCV(wrapped, {"head__alpha": [1e-9, 0.05]}, cv=2).fit(X[VAL], Y[VAL])
    assert not search.best_estimator_.refitted_
    np.testing.assert_array_equal(search.best_estimator_.estimator_.coef_, model.coef_)
    assert search.best_params_ == {"head__alpha": 0.05}


def test_a_search_over_parameters_of_a_frozen_model_is_told_to_train_it_with_cv(model):
    message = r"estimator__C is a parameter of the model, .* anew: PostHocClassifier\(model, cv=5\), without Frozen"
    grid = {"estimator__C": [0.1, 1.0], "head__var_smoothing": [1e-9]}
    search = GridSearchCV(PostHocClassifier(model, QUICK), grid, cv=2)
    for wrapped in (model, FrozenEstimator(model)):
        search.set_params(estimator=PostHocClassifier(wrapped, QUICK))
        with pytest.raises(ValueError, match=message):
            search.fit(X[VAL], Y[VAL])
    as_advised = GridSearchCV(PostHocClassifier(model, QUICK, cv=2), grid, cv=2).fit(X[VAL], Y[VAL])
    assert as_advised.best_params_["estimator__C"] == as_advised.best_estimator_.estimator_.C
    assert clone(search.estimator).set_params(estimator=LogisticRegression(), estimator__C=3.0).estimator.C == 3.0


def test_cross_validation_scores_the_model_that_was_passed(model):
    scores = cross_val_score(PostHocClassifier(model, QUICK), X[VAL], Y[VAL], cv=StratifiedKFold(3))
    by_hand = cross_val_score(QUICK, model.decision_function(X[VAL]), Y[VAL], cv=StratifiedKFold(3))
    np.testing.assert_array_equal(scores, by_hand)


def test_it_is_pickled_with_its_model_and_head(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(better)).predict(X[TEST]), better.predict(X[TEST]))


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled .* 'four', 'zero':UserWarning")
@pytest.mark.filterwarnings("ignore:No sample has the label 'four', 'zero':UserWarning")
@pytest.mark.parametrize("head", [AutoHead(cv=2), SPHClassifier(), QUICK])
def test_labelled_samples_may_lack_a_class_that_the_model_knows(model, head):
    val = VAL[~np.isin(Y[VAL], (0, 4))]
    named = LogisticRegression().fit(X[TRAIN], NAMES[Y[TRAIN]])
    better = PostHocClassifier(named, head).fit(X[val], NAMES[Y[val]])
    np.testing.assert_array_equal(better.classes_, np.sort(NAMES))
    probabilities = better.predict_proba(X[TEST])
    assert probabilities.shape == (len(TEST), 10)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(better.classes_[probabilities.argmax(axis=1)], better.predict(X[TEST]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (NAMES[Y[VAL]], r"labels hold 'eight', 'five'.* not among the classes of the model \(0, 1.*encode these too"),
        (np.where(Y[VAL] == 3, 11, Y[VAL]), "labels hold 11, not among"),
        (Y[VAL][:-1], "400 samples but there are 399 labels"),
        (np.where(Y[VAL] == 3, np.nan, Y[VAL]), "NaN or None at row"),
        (np.eye(10)[Y[VAL]], "argmax"),
        (np.zeros(400, dtype=int), "one class only"),
        (None, "y to be passed"),
    ],
)
def test_invalid_labels_are_refused(model, labels, message):
    better = PostHocClassifier(model).fit if labels is None else PostHocClassifier(model, AutoHead(cv=2)).fit
    with pytest.raises(ValueError, match=message):
        better(X[VAL], labels)


def test_a_failed_fit_leaves_nothing_fitted(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    with pytest.raises(ValueError, match="labels hold"):
        better.fit(X[VAL], Y[VAL] + 1)
    with pytest.raises(NotFittedError):
        better.predict(X[TEST])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"estimator": LogisticRegression}, TypeError, r"estimator is the class LogisticRegression: pass an instance"),
        ({"head": AutoHead}, TypeError, r"head is the class AutoHead"),
        ({"head": "auto"}, TypeError, "head is of type str"),
        ({"cv": "prefit"}, ValueError, "leave cv out"),
        ({"cv": iter([])}, ValueError, "cv gives no splits: pass folds, or a list of splits"),
        ({"response_method": "predict"}, ValueError, "response_method='predict' is not known"),
        ({"response_method": "decision_function", "estimator": GaussianNB()}, TypeError, "no decision_function"),
        ({"estimator": LinearRegression().fit(X, Y)}, TypeError, "LinearRegression, not a classifier"),
        ({"estimator": LinearRegression()}, TypeError, "LinearRegression, not a classifier"),
        ({"estimator": None}, TypeError, "NoneType, not a classifier"),
        ({"estimator": FrozenEstimator(LogisticRegression())}, NotFittedError, "Fit it first"),
        ({"head": AutoHead(classes=NAMES)}, ValueError, "contradict the model's"),
        ({"head": AutoHead(classes=np.arange(10)[::-1])}, ValueError, "contradict the model's"),
    ],
)
def test_invalid_parts_are_refused(model, params, error, message):
    with pytest.raises(error, match=message):
        PostHocClassifier(**{"estimator": model, "head": QUICK} | params).fit(X[VAL], Y[VAL])


def test_a_head_that_is_fitted_already_can_be_frozen_too(model):
    head = AutoHead(cv=2).fit(model.decision_function(X[VAL]), Y[VAL])
    both = PostHocClassifier(model, FrozenEstimator(head)).fit(X[VAL[:50]], Y[VAL[:50]])
    np.testing.assert_array_equal(both.predict(X[TEST]), head.predict(model.decision_function(X[TEST])))


def test_a_model_and_a_head_from_a_file_are_put_together(model, tmp_path):
    better = PostHocClassifier(model, SPHClassifier()).fit(X[VAL], Y[VAL])
    save(better.head_, tmp_path / "head.npz")
    again = PostHocClassifier.from_fitted(model, load(tmp_path / "head.npz"))
    assert again.estimator_ is model
    assert not again.refitted_
    assert again.n_features_in_ == 64
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), better.predict_proba(X[TEST]))
    other = LogisticRegression().fit(X[of_first_classes(4)], Y[of_first_classes(4)])
    with pytest.raises(ValueError, match="are not the model's \\(0, 1, 2, 3\\): pass the model that the head was"):
        PostHocClassifier.from_fitted(other, better.head_)
    with pytest.raises(NotFittedError):
        PostHocClassifier.from_fitted(model, AutoHead())
    with pytest.raises(NotFittedError, match="Fit it first"):
        PostHocClassifier.from_fitted(LogisticRegression(), better.head_)


def test_a_fitted_model_gives_logits_before_the_head_is_fitted(model):
    wrapped = PostHocClassifier(model, response_method="predict_proba")
    np.testing.assert_allclose(np.exp(wrapped.logits(X[TEST])), model.predict_proba(X[TEST]).clip(1e-12))
    with pytest.raises(NotFittedError):
        wrapped.predict(X[TEST])
    with pytest.raises(NotFittedError):
        PostHocClassifier(LogisticRegression()).logits(X[TEST])


def test_parameters_of_a_head_that_is_left_out_are_refused_with_what_to_do(model):
    with pytest.raises(ValueError, match=r"write it out, PostHocClassifier\(model, head=AutoHead\(\)\)"):
        PostHocClassifier(model).set_params(head__alpha=0.1)


def test_a_head_without_probabilities_says_so(model):
    better = PostHocClassifier(model, LinearSVC()).fit(X[VAL], Y[VAL])
    assert better.score(X[TEST], Y[TEST]) > 0.8
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        better.predict_proba(X[TEST])
