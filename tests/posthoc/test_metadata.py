"""Sample weights and other metadata, and which part gets them."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from aftermax import AutoHead, PostHocClassifier, SPHClassifier, SPHClassifierCV
from helpers.digits import QUICK, TEST, VAL, WEIGHTS, X, Y


def test_weights_go_to_the_head_and_to_a_model_that_is_fitted_here(model):
    better = PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    by_hand = clone(QUICK).fit(model.decision_function(X[VAL]), Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(better.head_.theta_, by_hand.theta_)
    refitted = PostHocClassifier(RidgeClassifier(), QUICK, cv=2).fit(X[VAL], Y[VAL], sample_weight=list(WEIGHTS))
    whole = RidgeClassifier().fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(refitted.estimator_.coef_, whole.coef_)


def test_weights_that_a_part_cannot_take_are_refused_or_warned_of(model):
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit takes no sample_weight: leave it out, or the head"):
        PostHocClassifier(model, KNeighborsClassifier()).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    with pytest.warns(
        UserWarning, match="KNeighborsClassifier.fit takes no sample_weight: the head weights the samples"
    ):
        PostHocClassifier(KNeighborsClassifier(), QUICK, cv=2).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match=r"fit got 'features'.*enable_metadata_routing"):
        PostHocClassifier(model, QUICK).fit(X[VAL], Y[VAL], features=WEIGHTS)


class Recording(GaussianNB):
    """Remembers the samples and weights that it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.samples_, self.weights_ = X, sample_weight
        return super().fit(X, y, sample_weight)


def test_weights_stay_with_their_samples_in_folds():
    some, others = np.arange(50, 200), np.arange(200, 350)
    splits = [(others, some), (some, others)]  # not all samples, and not from the first on
    better = PostHocClassifier(RidgeClassifier(), Recording(), cv=splits).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS)
    np.testing.assert_array_equal(better.head_.weights_, WEIGHTS[50:350])
    for (train, test), logits in zip(splits, (better.head_.samples_[:150], better.head_.samples_[150:]), strict=True):
        other = RidgeClassifier().fit(X[VAL[train]], Y[VAL[train]], sample_weight=WEIGHTS[train])
        np.testing.assert_allclose(logits, other.decision_function(X[VAL[test]]))


# ---- groups ----------------------------------------------------------------------------------------------------------


GROUPS = np.array([f"patient {number}" for number in np.arange(len(VAL)) // 4])
SPH = SPHClassifierCV({"certainty": [0.5, 0.9]}, cv=2, n_repeats=1)


class Remembering(GaussianNB):
    """Remembers the groups that it was fitted with."""

    def fit(self, X, y, groups=None):
        self.groups_ = groups
        return super().fit(X, y)


@pytest.mark.parametrize("head", [AutoHead(cv=2), SPH])
def test_groups_go_to_the_head(model, head):
    better = PostHocClassifier(model, head).fit(X[VAL], Y[VAL], groups=GROUPS)
    logits = model.decision_function(X[VAL])
    by_hand = clone(head).fit(logits, Y[VAL], groups=GROUPS)
    np.testing.assert_array_equal(better.head_.held_out_, by_hand.held_out_)
    assert better.head_.p_value_ == by_hand.p_value_
    without = clone(head).fit(logits, Y[VAL])
    assert (by_hand.held_out_ != without.held_out_).any()


def test_groups_that_a_head_cannot_take_are_refused(model):
    with pytest.raises(
        TypeError, match=r"SPHClassifier\.fit takes no groups: leave them out, or the head, for AutoHead"
    ):
        PostHocClassifier(model, SPHClassifier()).fit(X[VAL], Y[VAL], groups=GROUPS)


def test_the_name_of_a_column_is_no_groups(model):
    for estimator, cv in ((model, None), (clone(model), 3)):
        with pytest.raises(ValueError, match=r"groups is 'patient': pass an array with a value for each sample\."):
            PostHocClassifier(estimator, cv=cv).fit(X[VAL], Y[VAL], groups="patient")


class Folds(GroupKFold):
    """Remembers the groups that it was called with."""

    def split(self, X, y=None, groups=None):
        self.groups_ = groups
        return super().split(X, y, groups)


def test_groups_go_to_the_splitter_where_the_model_is_fitted():
    folds = Folds(3)
    better = PostHocClassifier(RidgeClassifier(), Remembering(), cv=folds).fit(X[VAL], Y[VAL], groups=list(GROUPS))
    np.testing.assert_array_equal(folds.groups_, GROUPS)
    np.testing.assert_array_equal(better.head_.groups_, GROUPS)


class Samples(RidgeClassifier):
    """Remembers each set of samples that it was fitted on, and the one that it predicts."""

    fitted_on: ClassVar[list] = []

    def fit(self, X, y):
        self.fitted_on.append(X[:, -1])
        return super().fit(X, y)


@pytest.mark.parametrize("cv", [None, 3])
def test_folds_that_are_only_numbered_keep_groups_whole(cv):
    Samples.fitted_on.clear()
    numbered = np.column_stack([X[VAL], np.arange(len(VAL))])  # so that a model knows which samples it was fitted on
    PostHocClassifier(Samples(), Remembering(), cv=cv).fit(numbered, Y[VAL], groups=GROUPS)
    whole, *parts = Samples.fitted_on
    assert len(whole) == len(VAL)
    assert len(parts) == (cv or 5)
    for part in parts:
        inside = np.isin(np.arange(len(VAL)), part)
        assert not set(GROUPS[inside]) & set(GROUPS[~inside])


# ---- metadata routing ------------------------------------------------------------------------------------------------


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
def test_a_fitted_model_needs_no_metadata_requests(model):
    better = PostHocClassifier(model).fit(X[VAL], Y[VAL], sample_weight=WEIGHTS, groups=GROUPS)
    assert better.head_.candidates_.weighted
    by_hand = AutoHead().fit(model.decision_function(X[VAL]), Y[VAL], sample_weight=WEIGHTS, groups=GROUPS)
    assert better.head_.p_value_ == by_hand.p_value_
    assert better.predict(X[TEST]).shape == TEST.shape
    PostHocClassifier(GaussianNB(), QUICK, cv=2).fit(X[VAL], Y[VAL])


@pytest.mark.usefixtures("routing")
def test_groups_go_where_they_are_requested():
    asks = Remembering().set_fit_request(groups=True)
    does_not = Remembering().set_fit_request(groups=False)
    for head in (asks, does_not):
        folds = Folds(3)
        better = PostHocClassifier(RidgeClassifier(), head, cv=folds).fit(X[VAL], Y[VAL], groups=GROUPS)
        np.testing.assert_array_equal(folds.groups_, GROUPS)
        np.testing.assert_array_equal(better.head_.groups_, GROUPS if head is asks else None)


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
    halves = np.hsplit(X[TEST], 2)
    np.testing.assert_array_equal(better.predict(X[TEST], features=halves), by_hand.predict(logits, X[TEST]))
    np.testing.assert_array_equal(
        better.predict_proba(X[TEST], features=X[TEST]), by_hand.predict_proba(logits, X[TEST])
    )
