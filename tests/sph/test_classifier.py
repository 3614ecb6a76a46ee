"""What a user of SPHClassifier sees."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from aftermax import SPHClassifier
from aftermax.sph._fit import trusted_classes
from aftermax.sph._pooling import pooled_scores
from aftermax.sph.pooled_temperature import fit_temperature
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def test_a_weak_model_gains():
    logits, labels = make_samples(seed=5, n_samples=4000, home=1.5)
    test, truth = make_samples(seed=6, n_samples=4000, home=1.5)
    head = SPHClassifier().fit(logits, labels)
    assert head.score(test, truth) > np.mean(test.argmax(axis=1) == truth) + 0.05


def test_string_labels_give_the_same_predictions_as_numbers(validation, unseen):
    logits, labels = validation
    numbers = SPHClassifier().fit(logits, labels).predict(unseen[0])
    for names in (NAMES, NAMES.astype(object)):
        np.testing.assert_array_equal(SPHClassifier().fit(logits, names[labels]).predict(unseen[0]), NAMES[numbers])


def test_classes_names_the_columns_when_they_are_not_sorted(validation, unseen):
    logits, labels = validation
    order = np.array([3, 0, 4, 1, 2])
    sorted_head = SPHClassifier().fit(logits, NAMES[labels])
    head = SPHClassifier(classes=NAMES[order]).fit(logits[:, order], NAMES[labels])
    np.testing.assert_array_equal(head.classes_, NAMES[order])
    np.testing.assert_array_equal(head.predict(unseen[0][:, order]), sorted_head.predict(unseen[0]))


def test_classes_lets_the_validation_samples_lack_a_class(validation, unseen):
    logits, labels = validation
    head = SPHClassifier(classes=NAMES).fit(logits[labels != 2], NAMES[labels[labels != 2]])
    np.testing.assert_array_equal(head.classes_, NAMES)
    predictions, routes = head.predict(unseen[0]), head.route(unseen[0])
    assert not (predictions[routes == "pooled"] == "cat").any()
    assert (predictions[routes != "pooled"] == "cat").any()
    assert not head.trusted_[2]
    assert not head.weights_[2].any()
    assert np.isnan(head.separation_[2]).all()


def test_whole_numbers_are_column_numbers_when_a_class_is_missing(validation, unseen):
    logits, labels = validation
    kept = labels != 2
    expected = SPHClassifier(classes=range(5)).fit(logits[kept], labels[kept]).predict(unseen[0])
    for dtype in (np.int64, np.uint8, np.float64):
        head = SPHClassifier().fit(logits[kept], labels[kept].astype(dtype))
        np.testing.assert_array_equal(head.classes_, np.arange(5))
        np.testing.assert_array_equal(head.predict(unseen[0]), expected)


def test_a_data_frame_with_class_names_as_headings_is_understood(validation, unseen):
    logits, labels = validation
    order = [4, 2, 0, 1, 3]
    frame = pd.DataFrame(logits, columns=NAMES)[NAMES[order]]
    head = SPHClassifier().fit(frame, pd.Series(NAMES[labels]))
    np.testing.assert_array_equal(head.classes_, NAMES[order])
    expected = SPHClassifier().fit(logits, NAMES[labels]).predict(unseen[0])
    np.testing.assert_array_equal(head.predict(pd.DataFrame(unseen[0], columns=NAMES)[NAMES[order]]), expected)


def test_a_data_frame_with_other_headings_goes_by_sorted_labels(validation):
    logits, labels = validation
    head = SPHClassifier().fit(pd.DataFrame(logits, columns=[str(j) for j in range(5)]), labels)
    np.testing.assert_array_equal(head.classes_, np.arange(5))
    assert head.classes_.dtype.kind == "i"


@pytest.mark.parametrize("convert", [np.float16, np.int64, ">f8", "list", "fortran", "every second", "read-only"])
def test_any_kind_of_array_gives_the_predictions_of_its_values(validation, unseen, convert):
    logits, labels = np.round(4 * validation[0]), validation[1]
    test = np.round(4 * unseen[0])
    expected = SPHClassifier().fit(logits, labels)

    def converted(values):
        if convert == "list":
            return values.tolist()
        if convert == "fortran":
            return np.asfortranarray(values)
        if convert == "every second":
            return np.repeat(values, 2, axis=1)[:, ::2]
        if convert == "read-only":
            return np.frombuffer(values.tobytes()).reshape(values.shape)
        return values.astype(convert)

    head = SPHClassifier().fit(converted(logits), labels)
    np.testing.assert_array_equal(head.weights_, expected.weights_)
    np.testing.assert_array_equal(head.predict_proba(converted(test)), expected.predict_proba(test))


def test_samples_that_keep_softmax_have_softmax_probabilities(validation, unseen):
    head = SPHClassifier().fit(*validation)
    head.trusted_[0] = False
    routes, probabilities = head.route(unseen[0]), head.predict_proba(unseen[0])
    assert {"softmax", "pooled", "reverted"} == set(routes)
    kept = routes != "pooled"
    np.testing.assert_allclose(probabilities[kept], softmax(unseen[0][kept], axis=1), rtol=1e-12)
    assert not np.allclose(probabilities[~kept], softmax(unseen[0][~kept], axis=1))


def pooled_samples(head, logits, labels):
    """Mean probability of the prediction, how often it is right, and the log loss, all on pooled samples."""
    pooled = head.route(logits) == "pooled"
    probabilities = head.predict_proba(logits)[pooled]
    right = probabilities.argmax(axis=1) == labels[pooled]
    return probabilities.max(axis=1).mean(), right.mean(), log_loss(labels[pooled], probabilities, labels=head.classes_)


@pytest.mark.parametrize("hyperparameters", [{}, {"veto_distance": 2.5}, {"distance_power": 1.0}, {"center": "median"}])
def test_pooled_probabilities_are_calibrated(hyperparameters):
    head = SPHClassifier(**hyperparameters).fit(*make_samples(seed=7, n_samples=6000, home=1.5))
    test = make_samples(seed=8, n_samples=6000, home=1.5)
    confidence, accuracy, loss = pooled_samples(head, *test)
    assert abs(confidence - accuracy) < 0.05
    fitted = head.fitted_head_
    for factor in (0.7, 1.4):
        head.fitted_head_ = replace(fitted, temperature=fitted.temperature * factor)
        assert pooled_samples(head, *test)[2] > loss


def test_with_many_samples_the_temperature_comes_from_the_samples_that_will_be_pooled():
    logits, labels = make_samples(seed=1, n_samples=2000)
    head = SPHClassifier(min_gain=0.2).fit(logits, labels)
    assert 0 < head.trusted_.sum() < 5
    pooled = head.route(logits) == "pooled"
    scores = pooled_scores(logits[pooled], head.fitted_head_.rule)
    expected = fit_temperature(scores, head.predict(logits[pooled]), labels[pooled])
    np.testing.assert_allclose(head.temperature_, expected, rtol=1e-6)


@pytest.mark.parametrize("n_each", [20, 50, 150])
def test_with_few_samples_for_each_class_the_probabilities_do_not_promise_too_much(n_each):
    promised, kept = [], []
    for seed in range(5):
        head = SPHClassifier().fit(*make_samples(seed, n_classes=10, home=1.5, labels=np.arange(10 * n_each) % 10))
        confidence, accuracy, _ = pooled_samples(head, *make_samples(seed=99, n_samples=4000, n_classes=10, home=1.5))
        promised.append(confidence)
        kept.append(accuracy)
    assert np.mean(promised) < np.mean(kept) + 0.03


def test_the_gate_is_exact_however_the_other_logits_lie():
    """The shortcut that spares the exponentials holds even where all other classes come second together."""
    logits, labels = make_samples(n_samples=300, n_classes=5)
    head = SPHClassifier(certainty=0.9, min_gain=-1.0).fit(logits, labels)
    edge = np.log(4 * 0.9 / 0.1)
    leads = edge + np.array([-1e-2, -1e-4, -1e-7, -1e-9, 1e-9, 1e-7, 1e-4, 1e-2])
    samples = np.zeros((8, 5))
    samples[:, 2] = leads
    np.testing.assert_array_equal(head.route(samples) == "softmax", softmax(samples, axis=1).max(axis=1) >= 0.9)
    assert (head.route(samples) == "softmax").sum() == 4


@pytest.mark.parametrize("gain", [0.1, 0.2, 0.3])
def test_a_gain_of_exactly_min_gain_is_not_enough(gain):
    """0.4 - 0.3 is more than 0.1 in floating point, but not in truth."""
    for softmax_right in range(11 - round(10 * gain)):
        pooled_right = softmax_right + round(10 * gain)
        assert not is_trusted(gain, pooled_right, softmax_right)
        assert pooled_right == 10 or is_trusted(gain, pooled_right + 1, softmax_right)


def is_trusted(min_gain, pooled_right, softmax_right):
    """Whether class 0 is trusted with these many of ten samples right."""
    pooled, by_softmax = ((np.arange(10) >= right).astype(int) for right in (pooled_right, softmax_right))
    return trusted_classes(by_softmax, pooled, np.zeros(10, dtype=int), 2, min_gain)[0]


def test_a_logit_ahead_by_less_than_softmax_can_tell_is_still_the_argmax(validation):
    head = SPHClassifier(certainty=0.0).fit(*validation)
    row = np.zeros((1, 5))
    row[0, 3] = 1e-18
    assert head.predict(row)[0] == 3
    assert head.predict_proba(row)[0].argmax() == 3


def test_a_few_pooled_samples_without_a_mistake_do_not_make_for_certainty():
    centers = np.array([[1.0, 0.8], [0.9, 0.8]])
    labels = np.arange(20) % 2
    logits = centers[labels] + 1e-3 * np.random.default_rng(0).normal(size=(20, 2))
    head = SPHClassifier().fit(logits, labels)
    assert head.score(logits, labels) == 1.0
    top = head.predict_proba(logits)[head.route(logits) == "pooled"].max(axis=1)
    assert len(top)
    assert top.mean() < 0.999


def test_a_class_is_vetoed_but_not_impossible(validation, unseen):
    head = SPHClassifier(veto_distance=1.5, min_gain=-1.0).fit(*validation)
    pooled = head.route(unseen[0]) == "pooled"
    assert pooled.any()
    assert (head.predict_proba(unseen[0])[pooled] > 0).all()


def test_everything_vetoed_is_softmax(validation, unseen):
    head = SPHClassifier(veto_distance=0.0, min_gain=-1.0).fit(*validation)
    np.testing.assert_array_equal(head.predict(unseen[0]), unseen[0].argmax(axis=1))
    assert set(head.route(unseen[0])) == {"softmax", "reverted"}


def test_a_pickled_head_predicts_the_same(validation, unseen):
    head = SPHClassifier().fit(*validation)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(head)).predict(unseen[0]), head.predict(unseen[0]))


def test_a_huge_power_does_not_overflow(validation, unseen):
    for power in (500.0, 1e4):
        head = SPHClassifier(weight_power=power, distance_power=power, min_gain=-1.0).fit(*validation)
        assert np.isfinite(head.weights_).all()
        assert np.isfinite(head.predict_proba(unseen[0])).all()
    head = SPHClassifier(distance_power=500.0, min_gain=-1.0).fit(*validation)
    assert np.isfinite(head.predict_proba(unseen[0])).all()


def test_hyperparameters_changed_after_fit_wait_for_the_next_fit(validation, unseen):
    head = SPHClassifier().fit(*validation)
    before = head.predict(unseen[0])
    head.set_params(certainty=0.0)
    np.testing.assert_array_equal(head.predict(unseen[0]), before)
    head.fit(*validation)
    np.testing.assert_array_equal(head.predict(unseen[0]), unseen[0].argmax(axis=1))


def test_a_head_whose_fit_failed_is_not_fitted(validation, unseen):
    for head in (SPHClassifier(), SPHClassifier().fit(*validation)):
        with pytest.raises(ValueError, match="labels"):
            head.fit(validation[0], validation[1][:-1])
        with pytest.raises(NotFittedError):
            head.predict(unseen[0])


def test_the_classes_of_a_head_are_its_own(validation):
    names = NAMES.copy()
    head = SPHClassifier(classes=names).fit(validation[0], NAMES[validation[1]])
    names[0] = "x"
    assert head.classes_[0] == "ant"


@pytest.mark.parametrize("kind", ["bool", "category", "string", "object"])
def test_other_kinds_of_labels(kind):
    logits, labels = make_samples(n_classes=2, n_samples=200)
    names = np.array(["no", "yes"])[labels]
    given = labels.astype(bool) if kind == "bool" else pd.Series(names, dtype=kind)
    predictions = SPHClassifier().fit(logits, given).predict(logits)
    expected = SPHClassifier().fit(logits, labels).predict(logits)
    np.testing.assert_array_equal(
        predictions, expected.astype(bool) if kind == "bool" else np.array(["no", "yes"])[expected]
    )


def test_an_unfitted_head_says_so(unseen):
    for method in ("predict", "predict_proba", "route"):
        with pytest.raises(NotFittedError):
            getattr(SPHClassifier(), method)(unseen[0])
