"""The peers on features: toy worlds with known answers, rare and missing classes."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from experiments.benchmark import peers_features
from experiments.benchmark.methods import METHODS
from experiments.benchmark.peers_features import (
    L2SP,
    PEERS_ON_BOTH,
    PEERS_ON_FEATURES,
    RBFSVC,
    SHRINKAGES,
    GaussianFeatures,
    Line,
    Probe,
    best_penalty,
    fitted,
)
from experiments.networks.samples import Samples

EVERY_PEER = [*PEERS_ON_FEATURES, *PEERS_ON_BOTH]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def world(seed, count=300, classes=4, told_by_features=True):
    """Logits that are right in half of the samples; features that are the class and noise, or noise only."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=count)
    said = np.where(rng.random(count) < 0.5, labels, rng.integers(classes, size=count))
    logits = 2.0 * np.eye(classes)[said] + 0.3 * rng.normal(size=(count, classes))
    told = 3.0 * np.eye(classes)[labels] if told_by_features else np.zeros((count, classes))
    noise = rng.normal(size=(count, classes + 4))
    features = noise + np.hstack([told, np.zeros((count, 4))])
    return Samples(logits, labels, features.astype(np.float32))


def fit(name, samples):
    method = METHODS[name]
    first, *others = method.inputs(samples)
    return method.make(samples.logits.shape[1]).fit(first, samples.labels, *others)


def accuracy(predictions, samples):
    return np.mean(predictions == samples.labels)


# ---- every peer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_PEER)
def test_where_the_features_tell_the_class_a_peer_on_features_finds_it(name):
    samples, test = world(0), world(1, 1000)
    head = fit(name, samples)
    assert accuracy(head.predict(*METHODS[name].inputs(test)), test) > 0.9
    assert accuracy(test.logits.argmax(axis=1), test) < 0.7


@pytest.mark.parametrize("name", EVERY_PEER)
def test_a_peer_predicts_column_numbers_even_if_classes_are_rare_or_missing(name):
    samples, test = world(0, 120, classes=6), world(1, 500, classes=6)
    kept = (samples.labels != 1) & (samples.labels != 5)  # no samples of these
    kept[np.flatnonzero(samples.labels == 3)[1:]] = False  # and one of this
    head = fit(name, Samples(*(part[kept] for part in samples)))
    inputs = METHODS[name].inputs(test)
    predictions = head.predict(*inputs)
    assert predictions.shape == (500,)
    assert predictions.dtype.kind == "i"
    assert set(predictions) <= set(range(6))
    if name in PEERS_ON_FEATURES:
        assert not {1, 5} & set(predictions)
    if hasattr(head, "predict_proba"):
        probabilities = head.predict_proba(*inputs)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-5)
        np.testing.assert_array_equal(head.classes_[probabilities.argmax(axis=1)], predictions)


@pytest.mark.parametrize("name", PEERS_ON_BOTH)
def test_where_the_features_tell_nothing_a_peer_that_sees_the_logits_does_little_harm(name):
    samples, test = world(0, told_by_features=False), world(1, 2000, told_by_features=False)
    predictions = fit(name, samples).predict(*METHODS[name].inputs(test))
    assert accuracy(predictions, test) > accuracy(test.logits.argmax(axis=1), test) - 0.03


@pytest.mark.parametrize("name", PEERS_ON_BOTH)
def test_a_feature_that_is_constant_changes_nothing(name):
    samples, test = world(0), world(1)
    more = [part._replace(features=np.pad(part.features, ((0, 0), (0, 1)))) for part in (samples, test)]
    before = fit(name, samples).predict_proba(*METHODS[name].inputs(test))
    after = fit(name, more[0]).predict_proba(*METHODS[name].inputs(more[1]))
    np.testing.assert_allclose(after, before, atol=1e-4)


# ---- logistic regression ---------------------------------------------------------------------------------------------


def test_l2sp_with_a_huge_penalty_is_softmax_with_a_slope(monkeypatch):
    monkeypatch.setattr(peers_features, "PENALTIES", (1e12,))
    samples, test = world(0), world(1)
    head = L2SP().fit(samples.logits, samples.labels, samples.features)
    np.testing.assert_array_equal(head.predict(test.logits, test.features), test.logits.argmax(axis=1))
    expected = np.exp(log_softmax(head.line_.slope * test.logits, axis=1))
    np.testing.assert_allclose(head.predict_proba(test.logits, test.features), expected, atol=1e-6)


def test_the_slope_is_that_with_the_least_log_loss():
    rng = np.random.default_rng(0)
    logits = 3 * rng.normal(size=(4000, 3))
    chances = np.exp(log_softmax(logits, axis=1))
    labels = (chances.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)  # drawn from softmax itself
    line = fitted(5 * logits, np.zeros((4000, 2)), labels, 1e12, Line(1.0, np.zeros((3, 3))))
    assert line.slope == pytest.approx(1 / 5, rel=0.1)


def test_a_fit_is_scikit_learns_logistic_regression_but_for_the_penalty_on_the_biases():
    samples = world(0)
    centred = samples.features - np.mean(samples.features, axis=0, dtype=np.float64)
    logits = np.zeros((300, 4))
    line = fitted(logits, centred, samples.labels, 5.0, Line(1.0, np.zeros((9, 4))))
    with_ones = np.hstack([np.ones((300, 1)), centred])
    theirs = LogisticRegression(C=1 / 5, fit_intercept=False, tol=1e-8, max_iter=1000).fit(with_ones, samples.labels)
    np.testing.assert_allclose(np.exp(line.log_proba(logits, centred)), theirs.predict_proba(with_ones), atol=2e-3)


def test_the_penalty_is_strong_where_the_features_tell_nothing_and_weak_where_they_do():
    told, untold = (world(0, told_by_features=told) for told in (True, False))
    penalties = [best_penalty(one.logits, one.features.astype(float), one.labels) for one in (told, untold)]
    assert penalties[0] <= 30
    assert penalties[1] >= 300


def test_the_probe_does_not_depend_on_the_logits():
    assert METHODS["probe"].inputs(world(0)) == (pytest.approx(world(0).features),)
    assert "penalty" in Probe().fit(world(0).features, world(0).labels).best_params_


# ---- SVC and Gaussians -----------------------------------------------------------------------------------------------


def test_the_svc_is_scikit_learns():
    samples, test = world(0), world(1)
    head = RBFSVC().fit(samples.features, samples.labels)
    scale = StandardScaler().fit(samples.features)
    gamma = head.best_params_["gamma"] / samples.features.shape[1]
    theirs = SVC(C=head.best_params_["C"], kernel=lambda a, b: rbf_kernel(a, b, gamma))
    theirs.fit(scale.transform(samples.features).astype(float), samples.labels)
    expected = theirs.predict(scale.transform(test.features).astype(float))
    assert np.mean(head.predict(test.features) == expected) > 0.99


def test_the_gaussians_are_scikit_learns_lda():
    samples = world(0)
    head = GaussianFeatures().fit(samples.logits, samples.labels, samples.features)
    scaled = StandardScaler().fit_transform(samples.features).astype(float)
    for shrinkage in SHRINKAGES:
        means = np.array([scaled[samples.labels == number].mean(axis=0) for number in range(4)])
        within = scaled - means[samples.labels]
        covariance = (1 - shrinkage) * within.T @ within / 300 + shrinkage * np.eye(8)
        theirs = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Fixed(covariance))
        expected = theirs.fit(scaled, samples.labels).predict_log_proba(scaled)
        ours = head.linear_log_proba(samples.logits, samples.features, shrinkage)
        np.testing.assert_allclose(ours, expected, atol=1e-4)


class Fixed:
    """A covariance that is given, for scikit-learn's LDA; it asks once for each class, and takes their mean."""

    def __init__(self, covariance):
        self.covariance_ = covariance

    def fit(self, X):
        return self


def test_a_class_without_samples_has_softmaxs_log_probability():
    samples, test = world(0, classes=5), world(1, classes=5)
    kept = samples.labels != 2
    head = GaussianFeatures().fit(*(part[kept] for part in samples))
    logs = head.linear_log_proba(test.logits, test.features, 0.1)
    np.testing.assert_allclose(logs[:, 2], log_softmax(test.logits, axis=1)[:, 2])
