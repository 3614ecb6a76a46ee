"""Classes without a labelled sample: they keep their chance, or the head says that they do not."""

import warnings

import numpy as np
import pytest

import aftermax
from aftermax._residual.samples import Samples
from aftermax._residual.unlabelled import biases_that_keep_shares, missing_share, unlabelled_classes
from aftermax._utils.softmax import softmax
from helpers.samples import make_samples

N_CLASSES = 20


def world(n_samples=4000, seed=0):
    """Twenty classes; the logits have a bias for each class, so that there is something to gain."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(N_CLASSES, size=n_samples)
    logits = rng.normal(size=(n_samples, N_CLASSES)) + 2.5 * np.eye(N_CLASSES)[codes]
    return 1.5 * logits + np.linspace(-2.0, 2.0, N_CLASSES)[rng.permutation(N_CLASSES)], codes


def recall(predicted, codes, classes):
    some = np.isin(codes, classes)
    return float((predicted == codes)[some].mean())


def test_classes_that_are_missing_by_chance_keep_their_chance():
    logits, codes = world()
    head = aftermax.fit(logits[:40], codes[:40])  # two for each class, in the mean
    missing = np.setdiff1d(np.arange(N_CLASSES), codes[:40])
    assert len(missing) > 0
    new, truth = logits[40:], codes[40:]
    before, after = (recall(predicted, truth, missing) for predicted in (new.argmax(axis=1), head.predict(new)))
    assert head.chosen_ != "softmax"
    assert after > 0.8 * before


def test_classes_that_nobody_labelled_are_taken_for_absent_and_the_head_says_so_once():
    logits, codes = world()
    known = codes[:1000] < 15
    some, labels, new, truth = logits[:1000][known], codes[:1000][known], logits[1000:], codes[1000:]
    with pytest.warns(
        UserWarning, match=r"No sample has the label 15, 16, 17, 18, 19\. Softmax gives such classes"
    ) as caught:
        absent = aftermax.fit(some, labels)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Fewer than 10 labelled samples")
        warnings.filterwarnings("error", "No sample has the label")
        kept = aftermax.fit(some, labels, keep_unlabelled=True)
    missing = np.arange(15, 20)
    of_softmax, of_absent, of_kept = (
        recall(predicted, truth, missing) for predicted in (new.argmax(axis=1), absent.predict(new), kept.predict(new))
    )
    assert of_absent < 0.2 * of_softmax
    assert of_kept > 0.5 * of_softmax
    there = np.arange(15)
    assert recall(kept.predict(new), truth, there) > recall(new.argmax(axis=1), truth, there)


@pytest.mark.filterwarnings("ignore:Fewer than 10 labelled samples:UserWarning")
def test_a_class_that_nobody_labelled_is_kept_where_sph_would_be_chosen():
    rng = np.random.default_rng(0)
    names = np.array(["spam", "ham", "other"])

    def logits_of(labels):
        return 1.5 * (labels[:, None] == names) + rng.normal(size=(len(labels), 3))

    labels = rng.choice(names[:2], 150)
    head = aftermax.AutoHead(keep_unlabelled=True, classes=names.tolist(), progress=False).fit(
        logits_of(labels), labels
    )
    new = logits_of(np.repeat("other", 1_000))
    assert head.chosen_ != "sph"
    assert np.mean(head.predict(new) == "other") > 0.7 * np.mean(new.argmax(axis=1) == 2)


def test_two_labels_for_each_of_150_classes_take_seconds():
    rng = np.random.default_rng(0)
    codes = rng.integers(150, size=300)
    logits = rng.normal(size=(300, 150)) + 3 * np.eye(150)[codes]
    head = aftermax.fit(logits, codes)
    assert len(head.classes_) == 150


def test_good_and_turing():
    codes = np.array([0, 0, 1, 2, 2, 2])
    samples = Samples(np.zeros((6, 5)), codes, np.ones(6))
    assert unlabelled_classes(samples).tolist() == [3, 4]
    assert missing_share(samples) == 2 / 6


@pytest.mark.parametrize("most", [np.inf, 0.05])
def test_shares_are_kept(most):
    scores, _ = make_samples(n_samples=200, n_classes=6, seed=1)
    reference, _ = make_samples(n_samples=200, n_classes=6, seed=2)
    classes = np.array([1, 4])
    scores = scores.copy()
    scores[:, classes] += biases_that_keep_shares(scores, reference, classes, np.ones(200), most)
    wanted = softmax(reference)[:, classes].mean(axis=0)
    np.testing.assert_allclose(
        softmax(scores)[:, classes].mean(axis=0), wanted * min(1.0, most / wanted.sum()), rtol=0.02
    )
