"""What must hold whatever the data."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aftermax import SPHClassifier
from aftermax._utils import threads
from helpers.samples import make_samples

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 12)
shifts = st.floats(-50.0, 50.0)
heads = st.builds(
    SPHClassifier,
    certainty=st.sampled_from([0.4, 0.7, 0.9, 0.999]),
    window_high=st.sampled_from([0.8, 1.0]),
    center=st.sampled_from(["mean", "median"]),
    min_separation=st.sampled_from([0.0, 0.5, 1.5]),
    weight_power=st.sampled_from([0.0, 1.0, 2.5]),
    veto_distance=st.sampled_from([np.inf, 3.0, 4.0]),
    veto_count=st.integers(1, 2),
    min_gain=st.sampled_from([-1.0, 0.0, 0.1]),
    distance_power=st.sampled_from([1.0, 2.0, 2.5]),
)


def draw(seed, size):
    """Validation and test samples; a few classes are rare or have no samples at all."""
    logits, labels = make_samples(seed, n_samples=30 * size, n_classes=size, noise=1.5)
    test, _ = make_samples(seed + 1, n_samples=200, n_classes=size, noise=1.5)
    rare = labels == size // 2
    keep = ~rare | (np.cumsum(rare) <= seed % 4)
    assume(len(np.unique(labels[keep])) > 1)
    return logits[keep], labels[keep], test


def softmax_predictions(logits):
    return logits.argmax(axis=1)


@given(heads, seeds, sizes, shifts)
def test_one_constant_added_to_every_logit_changes_nothing(head, seed, size, shift):
    logits, labels, test = draw(seed, size)
    head.fit(logits, labels)
    trusted, predictions, routes, chances = (
        head.trusted_,
        head.predict(test),
        head.route(test),
        head.predict_proba(test),
    )
    head.fit(logits + shift, labels)
    np.testing.assert_allclose(head.predict_proba(test + shift), chances, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(head.trusted_, trusted)
    np.testing.assert_array_equal(head.predict(test + shift), predictions)
    np.testing.assert_array_equal(head.route(test + shift), routes)


def test_a_constant_of_its_own_for_each_sample_does_change_the_predictions(validation, unseen):
    logits, labels = validation
    test, _ = unseen
    plain = SPHClassifier().fit(logits, labels)
    relative = SPHClassifier().fit(logits - logits.max(axis=1, keepdims=True), labels)
    assert (plain.predict(test) != relative.predict(test - test.max(axis=1, keepdims=True))).any()


@given(heads, seeds, sizes)
def test_permuting_the_classes_permutes_the_predictions(head, seed, size):
    logits, labels, test = draw(seed, size)
    head.set_params(classes=np.arange(size)).fit(logits, labels)
    trusted, predictions, routes, chances = (
        head.trusted_,
        head.predict(test),
        head.route(test),
        head.predict_proba(test),
    )
    order = np.random.default_rng(seed).permutation(size)
    head.set_params(classes=order).fit(logits[:, order], labels)
    np.testing.assert_allclose(head.predict_proba(test[:, order]), chances[:, order], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(head.trusted_, trusted[order])
    np.testing.assert_array_equal(head.predict(test[:, order]), predictions)
    np.testing.assert_array_equal(head.route(test[:, order]), routes)


@given(heads, seeds, sizes)
def test_certainty_zero_is_softmax_exactly(head, seed, size):
    logits, labels, test = draw(seed, size)
    head.set_params(certainty=0.0, classes=np.arange(size)).fit(logits, labels)
    np.testing.assert_array_equal(head.predict(test), softmax_predictions(test))
    assert set(head.route(test)) == {"softmax"}
    assert not head.trusted_.any()


@given(heads, seeds, sizes)
def test_no_trusted_class_is_softmax_exactly(head, seed, size):
    logits, labels, test = draw(seed, size)
    head.set_params(min_gain=1.0, classes=np.arange(size)).fit(logits, labels)
    assert not head.trusted_.any()
    np.testing.assert_array_equal(head.predict(test), softmax_predictions(test))
    assert "pooled" not in head.route(test)


@given(heads, seeds, sizes)
def test_the_order_of_the_samples_changes_nothing_to_the_last_bit(head, seed, size):
    logits, labels, test = draw(seed, size)
    head.set_params(classes=np.arange(size)).fit(logits, labels)
    kept = {name: getattr(head, name) for name in ("weights_", "separation_", "trusted_", "temperature_")}
    array, probabilities = head.response_array_, head.predict_proba(test)
    order = np.random.default_rng(seed).permutation(len(logits))
    head.fit(logits[order], labels[order])
    for name, value in kept.items():
        compare = np.testing.assert_allclose if name == "temperature_" else np.testing.assert_array_equal
        compare(getattr(head, name), value)
    for name in ("center", "left", "right"):
        np.testing.assert_array_equal(getattr(head.response_array_, name), getattr(array, name))
    mixed = np.random.default_rng(seed).permutation(len(test))
    np.testing.assert_allclose(head.predict_proba(test[mixed]), probabilities[mixed], rtol=1e-9)
    np.testing.assert_array_equal(head.predict(test[mixed]), head.predict(test)[mixed])


@pytest.mark.parametrize("n_samples", [300, 20_000])
def test_the_order_of_samples_that_are_much_alike_changes_nothing(n_samples):
    logits, labels = make_samples(n_samples=n_samples, n_classes=3, home=1.0, noise=1.5)
    logits = np.round(logits)
    head = SPHClassifier(min_gain=-1.0).fit(logits, labels)
    expected, trusted, weights = head.predict_proba(logits), head.trusted_, head.weights_
    order = np.random.default_rng(0).permutation(n_samples)
    head.fit(logits[order], labels[order])
    np.testing.assert_array_equal(head.weights_, weights)
    np.testing.assert_array_equal(head.trusted_, trusted)
    np.testing.assert_allclose(head.predict_proba(logits), expected, rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_number_of_threads_and_the_size_of_chunks_change_nothing(monkeypatch, validation, unseen, count):
    head = SPHClassifier().fit(*validation)
    expected = head.weights_, head.trusted_, head.predict_proba(unseen[0]), head.predict(unseen[0])
    monkeypatch.setattr(threads, "thread_count", lambda: count)
    monkeypatch.setattr(threads, "VALUES_PER_RANGE", 37)
    head = SPHClassifier().fit(*validation)
    for ours, theirs in zip(
        (head.weights_, head.trusted_, head.predict_proba(unseen[0]), head.predict(unseen[0])), expected, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@given(heads, seeds, sizes)
def test_the_largest_probability_is_always_at_the_prediction(head, seed, size):
    logits, labels, test = draw(seed, size)
    head.fit(logits, labels)
    probabilities = head.predict_proba(test)
    np.testing.assert_array_equal(head.classes_[probabilities.argmax(axis=1)], head.predict(test))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0).all()
