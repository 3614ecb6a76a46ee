"""The peers: real scores, few samples, rare and missing classes."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from aftermax.data import load_vmnist
from experiments.benchmark import peers
from experiments.benchmark.peers import PEERS, SHRINKAGES, WEIGHTS, Folds, SoftmaxQDA
from helpers.samples import make_samples


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def some_samples(count=150):
    scores = load_vmnist(100)
    return scores.val_logits[:count].astype(float), scores.val_labels[:count], scores.test_logits.astype(float)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_predicts_column_numbers_even_if_classes_are_rare_or_missing(name):
    logits, labels, test = some_samples()
    kept = (labels != 3) & (labels != 9)  # no samples of these
    kept[np.flatnonzero(labels == 7)[1:]] = False  # and one of this
    head = PEERS[name]().fit(logits[kept], labels[kept])
    predictions = head.predict(test)
    assert predictions.shape == (4000,)
    assert predictions.dtype.kind == "i"
    assert set(predictions) <= set(range(10))
    if name not in ("qda", "sms"):  # these start from the logits
        assert not {3, 9} & set(predictions)
    if hasattr(head, "predict_proba"):
        probabilities = head.predict_proba(test)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-5)
        np.testing.assert_array_equal(head.classes_[probabilities.argmax(axis=1)], predictions)


@pytest.mark.parametrize("name", sorted(set(PEERS) - {"naive_bayes", "boosting"}))
def test_a_peer_is_better_than_softmax_on_a_weak_network(name):
    logits, labels, test = some_samples(1000)
    truth = load_vmnist(100).test_labels
    head = PEERS[name]().fit(logits, labels)
    assert np.mean(head.predict(test) == truth) > np.mean(test.argmax(axis=1) == truth) + 0.03


def test_the_search_for_an_svc_has_twelve_candidates_and_three_folds():
    search = peers.svc().fit(*make_samples(n_samples=60, n_classes=3))
    assert len(search.cv_results_["params"]) == 12
    assert search.n_splits_ == 3


def test_every_sample_is_held_out_once_and_a_class_with_three_samples_once_in_each_fold():
    labels = np.repeat([0, 1, 2], [20, 3, 1])
    held_out = [test for _, test in Folds().split(None, labels)]
    assert sorted(np.concatenate(held_out)) == list(range(24))
    assert [np.count_nonzero(labels[test] == 1) for test in held_out] == [1, 1, 1]
    for train, test in Folds().split(None, labels):
        assert not set(train) & set(test)


def test_qda_is_scikit_learns_where_that_one_can_be_fitted():
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.preprocessing import StandardScaler

    logits, labels = make_samples(n_samples=600, n_classes=4)
    head = SoftmaxQDA().fit(logits, labels)
    scale = StandardScaler().fit(logits)
    for shrinkage in SHRINKAGES:
        theirs = QuadraticDiscriminantAnalysis(reg_param=shrinkage).fit(scale.transform(logits), labels)
        expected = theirs.predict_log_proba(scale.transform(logits))
        np.testing.assert_allclose(head.quadratic_log_proba(logits, shrinkage), expected, atol=1e-6)


def test_qda_and_softmax_are_mixed_as_was_chosen():
    logits, labels = make_samples(n_samples=600, n_classes=4)
    head = SoftmaxQDA().fit(logits, labels)
    shrinkage, weight = head.best_params_.values()
    assert shrinkage in SHRINKAGES
    assert weight in WEIGHTS
    mixed = weight * head.quadratic_log_proba(logits, shrinkage) + (1 - weight) * logits  # up to normalisation
    np.testing.assert_array_equal(head.predict(logits), mixed.argmax(axis=1))
    expected = np.exp(mixed) / np.exp(mixed).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(head.predict_proba(logits), expected, atol=1e-9)


def test_the_mixture_leaves_softmax_alone_where_qda_has_nothing_to_add():
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(3000, 4))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (chances.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)  # drawn from softmax itself
    head = SoftmaxQDA().fit(logits, labels)
    assert head.best_params_["weight"] <= 0.1


def test_a_missing_probmetrics_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "probmetrics.calibrators", None)
    with pytest.raises(ImportError, match=r"probmetrics: pip install --editable '\.\[dev\]'"):
        PEERS["sms"]().fit(*make_samples(n_samples=60, n_classes=3))
