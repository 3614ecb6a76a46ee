"""Models that are not softmax networks: their responses, the methods, and what is recorded of them."""

import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from aftermax import SPHClassifier
from aftermax.data import Scores
from experiments.other_models import models
from experiments.other_models.data_sets import DataSet, Part
from experiments.other_models.measure import OtherModels, Outcome, Task, tasks
from experiments.other_models.methods import GRID, METHODS
from experiments.other_models.models import MODELS, responses
from experiments.runs.csv_records import read_records
from helpers.samples import make_samples

SCIKIT_LEARN = {
    "svm": models._svm,
    "forest": models._forest,
    "boosting": models._boosting,
    "neighbours": models._neighbours,
    "naive_bayes": models._naive_bayes,
}


@pytest.fixture(scope="module")
def data():
    """Four classes with four features."""
    features, labels = make_samples(seed=1, n_samples=700, n_classes=4, noise=1.5)
    return DataSet("digits", "made", Part(features.astype(np.float32), labels), 40, 80, n_validation=200, n_test=300)


@pytest.fixture(scope="module")
def scores():
    return Scores(*make_samples(seed=1, n_samples=200, n_classes=3), *make_samples(seed=2, n_samples=300, n_classes=3))


# ---- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_finite_response_for_each_class_and_beats_chance(name, data):
    pytest.importorskip("torch")
    made = responses(name, data.draw(80, 0), seed=0)
    assert made.val_logits.shape == (200, 4)
    assert made.test_logits.shape == (300, 4)
    assert np.isfinite(made.val_logits).all()
    assert np.mean(made.test_logits.argmax(axis=1) == made.test_labels) > 0.4


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_the_argmax_of_the_responses_is_what_the_model_predicts(name, data):
    draw = data.draw(80, 0)
    predictions = SCIKIT_LEARN[name](*draw.train, 0).predict(draw.test.features)
    np.testing.assert_array_equal(responses(name, draw, 0).test_logits.argmax(axis=1), predictions)


def test_vote_shares_of_zero_are_clipped(data):
    made = responses("neighbours", data.draw(80, 0), 0)
    assert made.val_logits.min() == pytest.approx(np.log(1e-12))
    np.testing.assert_allclose(np.exp(made.val_logits).sum(axis=1), 1.0)


def test_losses_make_different_networks(data):
    pytest.importorskip("torch")
    draw = data.draw(40, 0)
    softmax, sigmoid, hinge = (responses(name, draw, 0).test_logits for name in ("softmax", "sigmoid", "hinge"))
    assert np.abs(softmax - sigmoid).max() > 0.01
    assert np.abs(softmax - hinge).max() > 0.01
    np.testing.assert_array_equal(softmax, responses("softmax", draw, 0).test_logits)


# ---- methods ---------------------------------------------------------------------------------------------------------


def test_best_on_test_is_the_ceiling_of_the_honest_choice(scores):
    right = {
        name: np.count_nonzero(METHODS[name](scores)[0] == scores.test_labels)
        for name in ("argmax", "sph_best_on_test", "sph_chosen")
    }
    assert right["sph_best_on_test"] >= right["sph_chosen"]
    predictions, chosen = METHODS["sph_best_on_test"](scores)
    head = SPHClassifier(**json.loads(chosen)).fit(scores.val_logits, scores.val_labels)
    np.testing.assert_array_equal(head.predict(scores.test_logits), predictions)


def test_only_the_papers_protocol_looks_at_the_test_labels(scores):
    others = scores._replace(test_labels=np.roll(scores.test_labels, 1))
    for name, method in METHODS.items():
        same = np.array_equal(method(scores)[0], method(others)[0])
        assert same == (name != "sph_best_on_test"), name


def test_after_temperature_scaling_the_scale_of_the_responses_does_not_matter(scores):
    smaller = scores._replace(val_logits=scores.val_logits / 64, test_logits=scores.test_logits / 64)
    predictions = [METHODS["sph_chosen_scaled"](some)[0] for some in (scores, smaller)]
    assert np.mean(predictions[0] == predictions[1]) > 0.99


def test_the_full_d_is_naive_bayes_on_the_validation_samples(scores):
    by_hand = GaussianNB().fit(scores.val_logits, scores.val_labels).predict(scores.test_logits)
    np.testing.assert_array_equal(METHODS["full_d"](scores)[0], by_hand)


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_outcomes_are_counted_against_the_argmax_and_survive_the_file(data, tmp_path):
    pytest.importorskip("torch")
    experiment = OtherModels({"digits": data}, methods=("argmax", "sph_best_on_test", "full_d"))
    path = tmp_path / "outcomes.csv"
    outcomes = experiment.run([Task("digits", 40, "svm", 0), Task("digits", 40, "hebbian", 1)], path)
    assert sorted(outcomes, key=str) == sorted(read_records(Outcome, path), key=str)
    draw = data.draw(40, 0)
    argmax, best, full_d = outcomes[:3]
    made = responses("svm", draw, 0)
    wrong = np.mean(made.test_logits.argmax(axis=1) != draw.test.labels)
    by_hand = GaussianNB().fit(made.val_logits, made.val_labels)
    assert (argmax.argmax_error, argmax.gain, argmax.wins, argmax.losses) == (wrong, 0.0, 0, 0)
    assert full_d.gain == pytest.approx(1 - (1 - by_hand.score(made.test_logits, made.test_labels)) / wrong)
    assert [o.looks_at_test_labels for o in (argmax, best, full_d)] == [False, True, False]
    assert (full_d.validation_samples, full_d.test_samples) == (200, 300)


def test_every_model_is_trained_on_few_and_on_many_samples_of_each_draw(data):
    listed = tasks([data], 2)
    assert len(set(listed)) == len(listed) == 2 * 2 * len(MODELS)
    assert [task.draw for task in listed] == sorted(task.draw for task in listed)


def test_the_grid_is_a_part_of_the_default_one():
    from aftermax import default_grid

    whole = default_grid()[0]
    assert all(set(values) <= set(whole[name]) for name, values in GRID.items())
