"""The peers of the experiment on thousands of classes, and what they see."""

import numpy as np
import pytest

from experiments.characters import components, peers
from experiments.characters.components import Components, in_parts, unit
from experiments.characters.peers import ClassMeans, Discriminant, KernelVotes, splits
from helpers.samples import make_samples

PEERS = [ClassMeans, KernelVotes, Discriminant]


def confused(n_samples, seed):
    """Logits that mislead softmax, but are much the same for samples of a class; the last of 13 classes is missing."""
    logits, labels = make_samples(seed=seed, n_samples=n_samples, n_classes=12, home=0.5, noise=0.4)
    return np.hstack([logits, np.full((n_samples, 1), -3.0)]).astype(np.float32), labels


@pytest.fixture(scope="module")
def samples():
    return confused(600, seed=1)


@pytest.mark.parametrize("peer", PEERS)
def test_each_peer_removes_most_errors_where_classes_have_their_own_scores(peer, samples):
    logits, labels = confused(1_000, seed=2)
    wrong = np.mean(logits.argmax(axis=1) != labels)
    head = peer().fit(*samples)
    assert np.mean(head.predict(logits) != labels) < wrong / 3
    assert head.best_params_["weight"] in peer.weights
    assert set(head.best_params_) == {"weight", *peer.grid}


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_that_cannot_help_is_given_no_weight(peer):
    rng = np.random.default_rng(0)
    labels = rng.integers(20, size=100)
    logits = (rng.normal(size=(100, 20)) + 30 * np.eye(20)[labels]).astype(np.float32)
    head = peer().fit(logits, labels)
    assert head.best_params_["weight"] == 0
    np.testing.assert_array_equal(head.predict(logits), labels)


@pytest.mark.parametrize("peer", PEERS)
def test_classes_without_labels_have_nothing_added(peer, samples):
    head = peer()
    head.learn(samples[0][:, :5], samples[1], 13)
    scores = head.scores(samples[0][:7, :5], tuple(values[0] for values in peer.grid.values()))
    assert scores.shape == (7, 13)
    np.testing.assert_array_equal(scores[:, 12], 0)
    assert np.all(scores[:, :12] != 0)


def test_votes_of_one_sample_a_class_are_those_of_its_mean(samples):
    vectors, labels = unit(samples[0][:12]), np.arange(12)[::-1]
    means, votes = ClassMeans(), KernelVotes()
    for head in (means, votes):
        head.learn(vectors, labels, 13)
    np.testing.assert_allclose(votes.scores(vectors, (6.0,)), means.scores(vectors, (6.0,)), rtol=1e-4)


def test_no_held_out_sample_is_learnt_from_and_there_are_enough():
    for count, folds in ((100, 5), (6_624, 4), (66_240, 1)):
        found = list(splits(count))
        assert len(found) == folds
        assert all(len(np.union1d(*pair)) == count and not len(np.intersect1d(*pair)) for pair in found)
        assert sum(len(held_out) for _, held_out in found) >= min(count, peers.ENOUGH)


def test_components_are_of_unit_length_and_ignore_a_constant_added_to_a_sample(samples):
    logits = samples[0]
    seen = Components().fit(logits).transform(logits)
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 1, rtol=1e-5)
    shifted = logits + np.linspace(-5, 5, len(logits), dtype=np.float32)[:, None]
    np.testing.assert_allclose(np.abs(Components().fit(shifted).transform(shifted)), np.abs(seen), atol=1e-3)


def test_work_in_parts_is_that_on_all(samples, monkeypatch):
    monkeypatch.setattr(components, "AT_ONCE", 70)
    np.testing.assert_array_equal(in_parts(unit, samples[0]), unit(samples[0]))
    np.testing.assert_array_equal(unit(np.zeros((1, 3), dtype=np.float32)), 0)
