"""The logits of models: binary, without a decision function, of other packages, in pipelines."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from skorch import NeuralNetClassifier

from aftermax import AutoHead, PostHocClassifier
from helpers.digits import NAMES, QUICK, TEST, TRAIN, VAL, X, Y, of_first_classes


@pytest.mark.parametrize("head", [AutoHead(cv=2), QUICK])
def test_a_binary_model_has_half_its_score_for_each_class(head):
    train, val, test = of_first_classes(2, TRAIN), of_first_classes(2, VAL), of_first_classes(2, TEST)
    model = RidgeClassifier().fit(X[train], NAMES[Y[train]])
    better = PostHocClassifier(model, head).fit(X[val], NAMES[Y[val]])
    z = model.decision_function(X[test])
    np.testing.assert_array_equal(better.logits(X[test]), np.column_stack([-z / 2, z / 2]))
    assert better.score(X[test], NAMES[Y[test]]) > 0.95
    assert better.predict_proba(X[test]).shape == (len(test), 2)


@pytest.mark.parametrize("model", [GaussianNB(), KNeighborsClassifier(3), MLPClassifier((8,), max_iter=20, tol=10.0)])
def test_models_without_a_decision_function_give_log_probabilities(model):
    model.fit(X[TRAIN], Y[TRAIN])
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    assert better.response_method_ == "predict_proba"
    logits = np.log(np.clip(model.predict_proba(X[TEST]), 1e-12, None))
    np.testing.assert_array_equal(better.logits(X[TEST]), logits)
    assert np.isfinite(logits).all()


def test_probabilities_can_be_asked_for(model):
    better = PostHocClassifier(model, QUICK, response_method="predict_proba").fit(X[VAL], Y[VAL])
    assert better.response_method_ == "predict_proba"
    np.testing.assert_allclose(better.logits(X[TEST]), model.predict_log_proba(X[TEST]), rtol=1e-9)


@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.parametrize("wrap", [lambda model: model, FrozenEstimator])
def test_one_vs_one_scores_are_refused(classes, wrap):
    train, val = of_first_classes(classes), of_first_classes(classes, VAL)
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")).fit(X[train], Y[train])
    for response_method in ("auto", "decision_function"):
        with pytest.raises(ValueError, match='pair by pair: set its decision_function_shape to "ovr"'):
            PostHocClassifier(wrap(model), QUICK, response_method=response_method).fit(X[val], Y[val])
    model.set_params(svc__decision_function_shape="ovr")
    better = PostHocClassifier(wrap(model), QUICK).fit(X[val], Y[val])
    np.testing.assert_array_equal(better.logits(X[val]), model.decision_function(X[val]))


class Pairs(ClassifierMixin, BaseEstimator):
    """A model with a score for each pair of classes, and with probabilities."""

    def __init__(self, decision_function_shape="ovo"):
        self.decision_function_shape = decision_function_shape

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return np.zeros((len(X), 6))

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_instead_of_one_vs_one_scores_probabilities_are_used_if_there_are_any():
    val = of_first_classes(4, VAL)
    better = PostHocClassifier(Pairs().fit(X[val], Y[val]), QUICK).fit(X[val], Y[val])
    assert better.response_method_ == "predict_proba"
    with pytest.raises(ValueError, match=r"shape \(\d+, 6\) for 4 classes.*another response_method"):
        PostHocClassifier(Pairs("other").fit(X[val], Y[val]), QUICK).fit(X[val], Y[val])


class Vendor:
    """A model that is not scikit-learn's: it has classes and probabilities, and that is all."""

    classes_ = ("no", "yes")

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])


def test_a_model_needs_classes_and_predict_proba_only():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(200, 1))
    labels = np.where(samples[:, 0] > 0.5, "yes", "no")
    better = PostHocClassifier(Vendor(), AutoHead(cv=2)).fit(samples, labels)
    assert not better.refitted_
    assert better.score(samples, labels) > 0.95 > np.mean((samples[:, 0] > 0) == (labels == "yes"))
    assert not hasattr(better, "n_features_in_")
    assert cross_val_score(PostHocClassifier(Vendor(), QUICK), samples, labels, cv=3).min() > 0.9


def test_lightgbm_fitted_and_not():
    labels = NAMES[Y]
    model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1, min_child_samples=3)
    unfitted = PostHocClassifier(model, QUICK, cv=2).fit(X[VAL], labels[VAL])
    assert unfitted.refitted_
    assert unfitted.score(X[TEST], labels[TEST]) > 0.75
    model.fit(X[TRAIN], labels[TRAIN])
    better = PostHocClassifier(model, AutoHead(cv=2)).fit(X[VAL], labels[VAL])
    assert not better.refitted_
    assert better.score(X[TEST], labels[TEST]) > model.score(X[TEST], labels[TEST]) + 0.05
    train, val = of_first_classes(2, VAL), of_first_classes(2, TEST)
    binary = PostHocClassifier(clone(model).fit(X[train], labels[train]), QUICK).fit(X[val], labels[val])
    assert binary.logits(X[val]).shape == (len(val), 2)
    assert binary.score(X[val], labels[val]) > 0.95


def net():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    options = {"max_epochs": 15, "lr": 0.5, "train_split": None, "verbose": 0, "classes": np.arange(10)}
    return NeuralNetClassifier(module, criterion=torch.nn.CrossEntropyLoss, **options)


def test_skorch_fitted_and_not():
    samples = X.astype(np.float32)
    unfitted = PostHocClassifier(net(), QUICK, cv=2).fit(samples[VAL], Y[VAL])
    assert unfitted.refitted_
    model = net().fit(samples[TRAIN], Y[TRAIN])
    weights = [value.clone() for value in model.module_.parameters()]
    better = PostHocClassifier(model, QUICK).fit(samples[VAL], Y[VAL])
    assert (better.refitted_, better.response_method_) == (False, "predict_proba")
    assert all(torch.equal(*pair) for pair in zip(weights, model.module_.parameters(), strict=True))
    assert better.score(samples[TEST], Y[TEST]) > model.score(samples[TEST], Y[TEST])


def test_a_pipeline_before_it_and_inside_it():
    inside = PostHocClassifier(make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], Y[TRAIN]), QUICK)
    inside.fit(X[VAL], Y[VAL])
    assert not inside.refitted_
    scaler = StandardScaler().fit(X[TRAIN])
    model = LogisticRegression().fit(scaler.transform(X[TRAIN]), Y[TRAIN])
    before = make_pipeline(FrozenEstimator(scaler), PostHocClassifier(model, QUICK)).fit(X[VAL], Y[VAL])
    np.testing.assert_allclose(inside.predict_proba(X[TEST]), before.predict_proba(X[TEST]), rtol=1e-9)
    unfitted = make_pipeline(StandardScaler(), PostHocClassifier(LogisticRegression(), QUICK, cv=2))
    assert cross_val_score(unfitted, X[VAL], Y[VAL], cv=2).min() > 0.8


def test_samples_are_passed_on_unchanged():
    frame = pd.DataFrame(X, columns=[f"pixel {n}" for n in range(64)])
    model = RidgeClassifier().fit(frame.iloc[TRAIN], Y[TRAIN])
    better = PostHocClassifier(model, QUICK).fit(frame.iloc[VAL], pd.Series(Y[VAL]))
    assert better.n_features_in_ == 64
    np.testing.assert_array_equal(better.feature_names_in_, frame.columns)
    refitted = PostHocClassifier(RidgeClassifier(), QUICK, cv=2).fit(frame.iloc[VAL], Y[VAL])
    np.testing.assert_array_equal(refitted.feature_names_in_, frame.columns)
    matrix = sparse.csr_matrix(X)
    thin = PostHocClassifier(RidgeClassifier(), QUICK, cv=2).fit(matrix[VAL], Y[VAL])
    assert thin.score(matrix[TEST], Y[TEST]) > 0.8
    assert thin.__sklearn_tags__().input_tags.sparse
    texts, labels = ["a good day", "a bad day", "good", "bad night"] * 10, ["up", "down", "up", "down"] * 10
    words = make_pipeline(CountVectorizer(), LogisticRegression())
    for estimator in (words, clone(words).fit(texts, labels)):
        assert PostHocClassifier(estimator, QUICK).fit(texts, labels).predict(["good good"]) == ["up"]


def test_samples_that_the_model_refuses_are_refused(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    for samples, message in ((X[:5, :9], "9 features"), (X[:0], "0 sample"), (X[:5] * np.nan, "NaN")):
        with pytest.raises(ValueError, match=message):
            better.predict(samples)
