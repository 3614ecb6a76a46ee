"""Weights of classes and of samples."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from aftermax import AutoHead
from aftermax.auto.candidates import candidate_name
from helpers.auto_heads import honest
from helpers.samples import make_samples, weak_samples


def imbalanced(n_samples, seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, p=[0.8, 0.1, 0.1], size=n_samples)
    return make_samples(seed=seed, n_classes=3, home=1.0, labels=labels)


def test_balanced_weights_improve_balanced_accuracy():
    plain = AutoHead(cv=4).fit(*imbalanced(900, 1))
    balanced = AutoHead(cv=4, class_weight="balanced").fit(*imbalanced(900, 1))
    logits, labels = imbalanced(5000, 2)
    of_plain, of_balanced = (balanced_accuracy_score(labels, head.predict(logits)) for head in (plain, balanced))
    assert of_balanced > of_plain + 0.02
    assert "sph" not in balanced.candidates_
    assert "only wins and losses are plain counts" in repr(balanced.candidates_)
    _, own = imbalanced(900, 1)
    recalls = np.array([np.mean(balanced.held_out_[own == k] == k) for k in range(3)])
    name = candidate_name(balanced.chosen_, balanced.trust_)
    assert name != "softmax"
    assert balanced.candidates_[name].error == pytest.approx(1 - recalls.mean())
    np.testing.assert_allclose(balanced.class_shares_, 1 / 3)


def test_with_a_prior_the_head_is_for_a_world_with_these_shares():
    """Labelled samples were chosen to be of all classes alike; where the head is used, one class is frequent."""
    shares = [0.8, 0.1, 0.1]
    even = make_samples(seed=1, n_samples=900, n_classes=3, home=1.0)
    logits, labels = imbalanced(5000, 2)
    plain, told = (AutoHead(cv=4, class_prior=prior).fit(*even) for prior in (None, dict(enumerate(shares))))
    assert told.score(logits, labels) > plain.score(logits, labels) + 0.02
    np.testing.assert_allclose(told.class_shares_, shares)
    np.testing.assert_allclose(told.predict_proba(logits).mean(axis=0), shares, atol=0.05)
    assert np.abs(plain.predict_proba(logits).mean(axis=0) - shares).max() > 0.1
    recalls = np.array([np.mean(even[0].argmax(axis=1)[even[1] == k] == k) for k in range(3)])
    assert told.candidates_["softmax"].error == pytest.approx(1 - recalls @ shares)


def test_a_weight_for_each_class_is_the_same_as_one_for_each_sample():
    logits, labels = imbalanced(300, 1)
    by_class = AutoHead(cv=3, class_weight={0: 1.0, 1: 3.0, 2: 2.0}).fit(logits, labels)
    by_sample = AutoHead(cv=3).fit(logits, labels, sample_weight=np.array([1.0, 3.0, 2.0])[labels])
    assert by_class.gain_ == by_sample.gain_
    np.testing.assert_array_equal(by_class.predict_proba(logits), by_sample.predict_proba(logits))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_samples_of_no_weight_are_as_good_as_absent(class_weight):
    logits, labels = weak_samples(n_samples=300)
    weights = np.ones(300)
    weights[200:] = 0.0
    with_them = AutoHead(cv=3, class_weight=class_weight).fit(logits, labels, sample_weight=weights)
    without = AutoHead(cv=3, class_weight=class_weight).fit(logits[:200], labels[:200])
    np.testing.assert_array_equal(with_them.predict_proba(logits), without.predict_proba(logits))
    assert with_them.held_out_.shape == (300,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\) but there are 60 samples"),
        ({"sample_weight": np.full(60, -1.0)}, "sample_weight holds -1.0 at row 0"),
        ({"sample_weight": np.full(60, np.inf)}, "sample_weight holds inf at row 0"),
        ({"sample_weight": np.zeros(60)}, "sample_weight is zero everywhere"),
        ({"sample_weight": np.arange(60) < 1}, "All samples with non-zero sample_weight belong to one class"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AutoHead().fit(*honest(n_samples=60), **arguments)
