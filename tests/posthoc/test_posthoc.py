"""PostHocClassifier: any scikit-learn style model with a head after it, as one classifier."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from skorch import NeuralNetClassifier

from aftermax import AutoHead, PostHocClassifier, SPHClassifier, audit, load, save

X, Y = load_digits(return_X_y=True)
X = X / 16.0
PLACES = np.random.default_rng(0).permutation(len(Y))
TRAIN, VAL, TEST = PLACES[:60], PLACES[60:460], PLACES[460:1060]
NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
QUICK = GaussianNB(var_smoothing=0.1)  # a head that takes no time


@pytest.fixture(scope="module")
def model():
    return LogisticRegression().fit(X[TRAIN], Y[TRAIN])


def few(classes, rows=PLACES):
    """The rows of the first classes."""
    return rows[Y[rows] < classes]


# ---- a fitted model --------------------------------------------------------------------------------------------------


def test_a_fitted_model_gains_and_is_left_as_it_is(model):
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


def test_a_fitted_model_stays_as_it_is_where_scikit_learn_clones(model):
    wrapped = PostHocClassifier(model, AutoHead(cv=2))
    copy = clone(wrapped)
    assert wrapped.estimator is model
    assert copy.estimator.estimator is model
    assert copy.head is not wrapped.head
    assert clone(copy).estimator.estimator is model
    search = GridSearchCV(wrapped, {"head__alpha": [1e-9, 0.05]}, cv=2).fit(X[VAL], Y[VAL])
    assert not search.best_estimator_.refitted_
    np.testing.assert_array_equal(search.best_estimator_.estimator_.coef_, model.coef_)
    assert search.best_params_ == {"head__alpha": 0.05}
    with pytest.raises(ValueError, match="frozen"):
        GridSearchCV(wrapped, {"estimator__C": [1.0]}, cv=2).fit(X[VAL], Y[VAL])


def test_cross_validation_scores_the_model_that_was_passed(model):
    scores = cross_val_score(PostHocClassifier(model, QUICK), X[VAL], Y[VAL], cv=StratifiedKFold(3))
    by_hand = cross_val_score(QUICK, model.decision_function(X[VAL]), Y[VAL], cv=StratifiedKFold(3))
    np.testing.assert_array_equal(scores, by_hand)


def test_it_is_pickled_with_its_model_and_head(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(better)).predict(X[TEST]), better.predict(X[TEST]))


# ---- an estimator that is not fitted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", [None, 3, KFold(4, shuffle=True, random_state=0)])
def test_an_estimator_that_is_not_fitted_is_fitted_here_and_the_head_on_out_of_fold_scores(cv):
    rows, labels = X[VAL], NAMES[Y[VAL]]
    estimator = RidgeClassifier()
    better = PostHocClassifier(estimator, QUICK, cv=cv).fit(rows, labels)
    assert better.refitted_
    assert not hasattr(estimator, "classes_")
    splitter = StratifiedKFold(cv or 5) if cv is None or isinstance(cv, int) else cv
    logits = np.empty((len(rows), 10))
    for train, test in splitter.split(rows, labels):
        logits[test] = RidgeClassifier().fit(rows[train], labels[train]).decision_function(rows[test])
    np.testing.assert_array_equal(better.head_.theta_, clone(QUICK).fit(logits, labels).theta_)
    np.testing.assert_array_equal(better.estimator_.coef_, RidgeClassifier().fit(rows, labels).coef_)
    np.testing.assert_array_equal(better.classes_, np.sort(NAMES))


def test_a_fitted_model_is_fitted_anew_in_copies_if_cv_is_given():
    model = RidgeClassifier().fit(X[TRAIN], Y[TRAIN])
    before = pickle.dumps(model)
    better = PostHocClassifier(model, QUICK, cv=3, n_jobs=2).fit(X[VAL], Y[VAL])
    assert better.refitted_
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(better.estimator_.coef_, RidgeClassifier().fit(X[VAL], Y[VAL]).coef_)
    assert clone(better).estimator is not model


def test_folds_need_not_cover_all_rows():
    cv = ShuffleSplit(1, test_size=0.5, random_state=0)
    better = PostHocClassifier(RidgeClassifier(), AutoHead(cv=2), cv=cv).fit(X[VAL], Y[VAL])
    assert len(better.head_.held_out_) == 200
    assert better.score(X[TEST], Y[TEST]) > 0.85


def test_settings_of_both_parts_can_be_searched():
    grid = {"estimator__var_smoothing": [1e3, 0.1], "head__var_smoothing": [1e3, 0.1]}
    search = GridSearchCV(PostHocClassifier(GaussianNB(), GaussianNB(), cv=2), grid, cv=2).fit(X[VAL], Y[VAL])
    assert search.best_params_ == {"estimator__var_smoothing": 0.1, "head__var_smoothing": 0.1}
    assert search.best_estimator_.estimator_.var_smoothing == search.best_estimator_.head_.var_smoothing == 0.1


def test_a_class_that_a_sister_model_cannot_know_is_named():
    labels = NAMES[Y[VAL]]
    order = np.argsort(labels)
    with pytest.raises(ValueError, match=r"no rows of 'eight', 'five'.*spread each class"):
        PostHocClassifier(RidgeClassifier(), QUICK, cv=KFold(4)).fit(X[VAL][order], labels[order])


# ---- what the model says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [AutoHead(cv=2), QUICK])
def test_a_binary_model_has_half_its_score_for_each_class(head):
    train, val, test = few(2, TRAIN), few(2, VAL), few(2, TEST)
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
def test_scores_of_pairs_of_classes_are_not_taken_for_scores_of_classes(classes, wrap):
    train, val = few(classes), few(classes, VAL)
    model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")).fit(X[train], Y[train])
    for response_method in ("auto", "decision_function"):
        with pytest.raises(ValueError, match='pair by pair: set its decision_function_shape to "ovr"'):
            PostHocClassifier(wrap(model), QUICK, response_method=response_method).fit(X[val], Y[val])
    model.set_params(svc__decision_function_shape="ovr")
    better = PostHocClassifier(wrap(model), QUICK).fit(X[val], Y[val])
    np.testing.assert_array_equal(better.logits(X[val]), model.decision_function(X[val]))


class Pairs(ClassifierMixin, BaseEstimator):
    """A model with a score for each pair of classes, and maybe probabilities."""

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


def test_instead_of_scores_of_pairs_probabilities_are_taken_if_there_are_any():
    val = few(4, VAL)
    better = PostHocClassifier(Pairs().fit(X[val], Y[val]), QUICK).fit(X[val], Y[val])
    assert better.response_method_ == "predict_proba"
    with pytest.raises(ValueError, match=r"shape \(\d+, 6\) for 4 classes.*another response_method"):
        PostHocClassifier(Pairs("other").fit(X[val], Y[val]), QUICK).fit(X[val], Y[val])


class Vendor:
    """Somebody's own model: it answers, and that is all."""

    classes_ = ("no", "yes")

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])


def test_a_model_that_can_only_answer_will_do():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 1))
    labels = np.where(rows[:, 0] > 0.5, "yes", "no")
    better = PostHocClassifier(Vendor(), AutoHead(cv=2)).fit(rows, labels)
    assert not better.refitted_
    assert better.score(rows, labels) > 0.95 > np.mean((rows[:, 0] > 0) == (labels == "yes"))
    assert not hasattr(better, "n_features_in_")
    assert cross_val_score(PostHocClassifier(Vendor(), QUICK), rows, labels, cv=3).min() > 0.9


# ---- models of other packages, pipelines -----------------------------------------------------------------------------


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
    train, val = few(2, VAL), few(2, TEST)
    binary = PostHocClassifier(clone(model).fit(X[train], labels[train]), QUICK).fit(X[val], labels[val])
    assert binary.logits(X[val]).shape == (len(val), 2)
    assert binary.score(X[val], labels[val]) > 0.95


def net():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    options = {"max_epochs": 15, "lr": 0.5, "train_split": None, "verbose": 0, "classes": np.arange(10)}
    return NeuralNetClassifier(module, criterion=torch.nn.CrossEntropyLoss, **options)


def test_skorch_fitted_and_not():
    rows = X.astype(np.float32)
    unfitted = PostHocClassifier(net(), QUICK, cv=2).fit(rows[VAL], Y[VAL])
    assert unfitted.refitted_
    model = net().fit(rows[TRAIN], Y[TRAIN])
    weights = [value.clone() for value in model.module_.parameters()]
    better = PostHocClassifier(model, QUICK).fit(rows[VAL], Y[VAL])
    assert (better.refitted_, better.response_method_) == (False, "predict_proba")
    assert all(torch.equal(*pair) for pair in zip(weights, model.module_.parameters(), strict=True))
    assert better.score(rows[TEST], Y[TEST]) > model.score(rows[TEST], Y[TEST])


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


def test_rows_are_passed_on_untouched():
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


# ---- labels and heads ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples. 'four', 'zero':UserWarning")
@pytest.mark.parametrize("head", [AutoHead(cv=2), SPHClassifier(), QUICK])
def test_labelled_rows_may_lack_a_class_that_the_model_knows(model, head):
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
        (Y[VAL][:-1], "400 rows but there are 399 labels"),
        (np.where(Y[VAL] == 3, np.nan, Y[VAL]), "NaN or None at row"),
        (np.eye(10)[Y[VAL]], "argmax"),
        (np.zeros(400, dtype=int), "one class only"),
        (None, "y to be passed"),
    ],
)
def test_labels_that_cannot_be_are_refused(model, labels, message):
    better = PostHocClassifier(model).fit if labels is None else PostHocClassifier(model, AutoHead(cv=2)).fit
    with pytest.raises(ValueError, match=message):
        better(X[VAL], labels)


def test_rows_that_the_model_cannot_take_are_refused_as_it_does(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    for rows, message in ((X[:5, :9], "9 features"), (X[:0], "0 sample"), (X[:5] * np.nan, "NaN")):
        with pytest.raises(ValueError, match=message):
            better.predict(rows)


def test_a_failed_fit_leaves_nothing_fitted(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL])
    with pytest.raises(ValueError, match="labels hold"):
        better.fit(X[VAL], Y[VAL] + 1)
    with pytest.raises(NotFittedError):
        better.predict(X[TEST])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"estimator": LogisticRegression}, TypeError, r"estimator is the class LogisticRegression: pass an instance"),
        ({"head": AutoHead}, TypeError, r"head is the class AutoHead"),
        ({"head": "auto"}, TypeError, "head is of type str"),
        ({"cv": "prefit"}, ValueError, "leave cv out"),
        ({"cv": iter([])}, ValueError, "cv gives no splits: pass folds, or a list of splits"),
        ({"response_method": "predict"}, ValueError, "response_method='predict' is not known"),
        ({"response_method": "decision_function", "estimator": GaussianNB()}, TypeError, "no decision_function"),
        ({"estimator": LinearRegression().fit(X, Y)}, TypeError, "LinearRegression, no classifier"),
        ({"estimator": LinearRegression()}, TypeError, "LinearRegression, no classifier"),
        ({"estimator": None}, TypeError, "NoneType, no classifier"),
        ({"estimator": FrozenEstimator(LogisticRegression())}, NotFittedError, "Fit it first"),
        ({"head": AutoHead(classes=NAMES)}, ValueError, "contradict the model's"),
        ({"head": AutoHead(classes=np.arange(10)[::-1])}, ValueError, "contradict the model's"),
    ],
)
def test_parts_that_do_not_fit_are_refused(model, settings, error, message):
    with pytest.raises(error, match=message):
        PostHocClassifier(**{"estimator": model, "head": QUICK} | settings).fit(X[VAL], Y[VAL])


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
    other = LogisticRegression().fit(X[few(4)], Y[few(4)])
    with pytest.raises(ValueError, match="are not the model's \\(0, 1, 2, 3\\): pass the model that the head was"):
        PostHocClassifier.from_fitted(other, better.head_)
    with pytest.raises(NotFittedError):
        PostHocClassifier.from_fitted(model, AutoHead())
    with pytest.raises(NotFittedError, match="Fit it first"):
        PostHocClassifier.from_fitted(LogisticRegression(), better.head_)


def test_a_fitted_model_can_be_asked_before_a_head_is(model):
    wrapped = PostHocClassifier(model, response_method="predict_proba")
    np.testing.assert_allclose(np.exp(wrapped.logits(X[TEST])), model.predict_proba(X[TEST]).clip(1e-12))
    with pytest.raises(NotFittedError):
        wrapped.predict(X[TEST])
    with pytest.raises(NotFittedError):
        PostHocClassifier(LogisticRegression()).logits(X[TEST])


def test_settings_of_a_head_that_is_left_out_are_refused_with_what_to_do(model):
    with pytest.raises(ValueError, match=r"write it out, PostHocClassifier\(model, head=AutoHead\(\)\)"):
        PostHocClassifier(model).set_params(head__alpha=0.1)


def test_a_head_without_probabilities_says_so(model):
    better = PostHocClassifier(model, LinearSVC()).fit(X[VAL], Y[VAL])
    assert better.score(X[TEST], Y[TEST]) > 0.8
    with pytest.raises(AttributeError, match="LinearSVC has no predict_proba"):
        better.predict_proba(X[TEST])


# ---- weights and metadata --------------------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(1).uniform(0.1, 2.0, len(VAL))


def test_weights_go_to_the_head_and_to_a_model_that_is_fitted_here(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    by_hand = clone(QUICK).fit(model.decision_function(X[VAL]), Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(better.head_.theta_, by_hand.theta_)
    refitted = PostHocClassifier(RidgeClassifier(), QUICK, cv=2).fit(X[VAL], Y[VAL], sample_weight=list(WEIGHTS))
    whole = RidgeClassifier().fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(refitted.estimator_.coef_, whole.coef_)


def test_weights_that_a_part_cannot_take_are_spoken_about(model):
    with pytest.raises(TypeError, match=r"SPHClassifier\.fit takes no sample_weight"):
        PostHocClassifier(model, SPHClassifier()).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    with pytest.warns(UserWarning, match="KNeighborsClassifier.fit takes no sample_weight: the head weighs the rows"):
        PostHocClassifier(KNeighborsClassifier(), QUICK, cv=2).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match=r"fit got 'groups'.*enable_metadata_routing"):
        PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL], groups=WEIGHTS)


class Recording(GaussianNB):
    """Remembers the rows and weights that it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.rows_, self.weights_ = X, sample_weight
        return super().fit(X, y, sample_weight)


def test_weights_stay_with_their_rows_in_folds():
    some, others = np.arange(50, 200), np.arange(200, 350)
    splits = [(others, some), (some, others)]  # not all rows, and not from the first on
    better = PostHocClassifier(RidgeClassifier(), Recording(), cv=splits).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(better.head_.weights_, WEIGHTS[50:350])
    for (train, test), said in zip(splits, (better.head_.rows_[:150], better.head_.rows_[150:]), strict=True):
        sister = RidgeClassifier().fit(X[VAL[train]], Y[VAL[train]], sample_weight=WEIGHTS[train])
        np.testing.assert_allclose(said, sister.decision_function(X[VAL[test]]))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_metadata_go_where_they_are_requested():
    groups = np.arange(len(VAL)) % 7
    asks = Recording().set_fit_request(sample_weight=True)
    does_not = Recording().set_fit_request(sample_weight=False)
    for estimator, head in ((asks, does_not), (does_not, asks), (asks, asks)):
        better = PostHocClassifier(estimator, head, cv=GroupKFold(3))
        better.fit(X[VAL], Y[VAL], sample_weight=WEIGHTS, groups=groups)
        for asked, fitted in ((estimator, better.estimator_), (head, better.head_)):
            np.testing.assert_array_equal(fitted.weights_, WEIGHTS if asked is asks else None)
    accuracy = make_scorer(accuracy_score).set_score_request(sample_weight=False)
    search = GridSearchCV(better, {"head__var_smoothing": [0.1, 1.0]}, cv=2, scoring=accuracy)
    search.fit(X[VAL], Y[VAL], sample_weight=WEIGHTS, groups=groups)
    np.testing.assert_array_equal(search.best_estimator_.head_.weights_, WEIGHTS)
    with pytest.raises(TypeError, match="unexpected"):
        better.fit(X[VAL], Y[VAL], nonsense=WEIGHTS)


@pytest.mark.usefixtures("routing")
def test_a_fitted_model_need_not_say_what_it_requests(model):
    better = PostHocClassifier(model).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    assert better.head_.candidates_.weighted
    assert better.predict(X[TEST]).shape == TEST.shape
    PostHocClassifier(GaussianNB(), QUICK, cv=2).fit(X[VAL], Y[VAL])


@pytest.mark.usefixtures("routing")
def test_what_is_requested_to_score_is_kept_by_a_clone(model):
    head = Recording().set_fit_request(sample_weight=True)
    weighed = clone(PostHocClassifier(model, head).set_score_request(sample_weight=True))
    search = GridSearchCV(weighed, {"head__var_smoothing": [0.1]}, cv=2).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(search.best_estimator_.head_.weights_, WEIGHTS)


@pytest.mark.usefixtures("routing")
def test_features_reach_a_head_that_requests_them(model):
    head = AutoHead(cv=2).set_fit_request(features=True)
    head.set_predict_request(features=True).set_predict_proba_request(features=True)
    better = PostHocClassifier(model, head).fit(X[VAL], Y[VAL], features=X[VAL])
    by_hand = AutoHead(cv=2).fit(model.decision_function(X[VAL]), Y[VAL], features=X[VAL])
    logits = model.decision_function(X[TEST])
    np.testing.assert_array_equal(better.predict(X[TEST], features=X[TEST]), by_hand.predict(logits, X[TEST]))
    np.testing.assert_array_equal(
        better.predict_proba(X[TEST], features=X[TEST]), by_hand.predict_proba(logits, X[TEST])
    )
