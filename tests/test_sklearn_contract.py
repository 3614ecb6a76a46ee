"""What scikit-learn expects of a classifier."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from aftermax import AutoHead, Decider, PostHocClassifier, SoftmaxClassifier, SPHClassifier, SPHClassifierCV
from helpers.samples import make_samples

# These checks have two features and three classes; SPH needs one response unit for each class.
EXPECTED_FAILURES = {
    "check_classifiers_classes": "three classes in two columns",
    "check_classifiers_train": "three classes in two columns",
    "check_estimators_fit_returns_self": "three classes in two columns",
    "check_estimators_overwrite_params": "three classes in two columns",
    "check_readonly_memmap_input": "three classes in two columns",
    "check_class_weight_classifiers": "three classes in two columns",
    "check_sample_weight_equivalence_on_dense_data": "repeated samples are held out together",
}


EXPECTED_OF_POST_HOC = {
    "check_sample_weight_equivalence_on_dense_data": "repeated samples are held out together",
    "check_sample_weight_equivalence_on_sparse_data": "repeated samples are held out together",
}


def expected(estimator):
    if isinstance(estimator, PostHocClassifier):
        return EXPECTED_OF_POST_HOC if isinstance(estimator.head, AutoHead) else {}
    return EXPECTED_FAILURES


SMALL = SPHClassifierCV({"certainty": [0.5, 0.9]}, cv=2, n_repeats=1)
DECIDER = Decider(SoftmaxClassifier(), metric="balanced_accuracy")
POST_HOC = [PostHocClassifier(LogisticRegression(), head, cv=3) for head in (LogisticRegression(), AutoHead(cv=2))]


@parametrize_with_checks(
    [SPHClassifier(), SMALL, AutoHead(cv=2), SoftmaxClassifier(), DECIDER, *POST_HOC], expected_failed_checks=expected
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled:UserWarning")
@pytest.mark.filterwarnings("ignore:No sample has the label:UserWarning")
@pytest.mark.filterwarnings("ignore:.* of the samples are identical:UserWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_what_the_failed_checks_look_at_holds_with_a_unit_per_class(validation):
    logits, labels = validation
    head = SPHClassifier()
    before = head.get_params()
    assert head.fit(logits, labels) is head
    assert head.get_params() == before
    frozen = logits.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(head.predict(frozen), head.predict(logits))
    names = np.array(["one", "two", "three", "four", "five"])[labels]
    named = SPHClassifier(classes=["one", "two", "three", "four", "five"]).fit(logits, names)
    np.testing.assert_array_equal(named.classes_, ["one", "two", "three", "four", "five"])
    np.testing.assert_array_equal(named.predict(logits), named.classes_[head.predict(logits)])


def test_clone_keeps_every_hyperparameter():
    head = SPHClassifier(certainty=0.7, veto_distance=3.0, veto_count=2, center="median", classes=["a", "b"])
    assert clone(head).get_params() == head.get_params()


def test_works_in_a_grid_search(validation, unseen):
    search = GridSearchCV(SPHClassifier(), {"certainty": [0.0, 0.6, 0.9], "center": ["mean", "median"]}, cv=3, n_jobs=2)
    search.fit(*validation)
    assert search.best_params_["certainty"] in (0.0, 0.6, 0.9)
    assert 0.0 < search.score(*unseen) <= 1.0


def test_works_in_a_pipeline_that_makes_the_logits(validation):
    logits, labels = validation
    pipeline = make_pipeline(FunctionTransformer(lambda x: 2.0 * x), SPHClassifier()).fit(logits / 2.0, labels)
    np.testing.assert_array_equal(pipeline.predict(logits / 2.0), SPHClassifier().fit(logits, labels).predict(logits))


def test_folds_that_lack_a_class_are_no_obstacle():
    logits, labels = make_samples(n_samples=60, n_classes=4)
    labels = np.where(labels == 3, 0, labels)
    labels[0] = 3
    assert np.isfinite(cross_val_score(SPHClassifier(), logits, labels, cv=KFold(3))).all()


def test_its_probabilities_feed_scikit_learns_calibration(validation):
    logits, labels = validation
    calibrated = CalibratedClassifierCV(SPHClassifier(), method="sigmoid", cv=2).fit(logits, labels)
    np.testing.assert_allclose(calibrated.predict_proba(logits).sum(axis=1), 1.0)
