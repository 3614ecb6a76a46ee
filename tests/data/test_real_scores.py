"""SPHClassifier on the logits of published networks, where they are available."""

import numpy as np
import pytest

from aftermax import SPHClassifier
from helpers.reference import Reference, Settings

FILES = [
    "cifar10-densenet40",
    "cifar10-lenet5",
    "cifar10-resnet20",
    "cifar10-resnet20-contrast",
    "cifar10-resnet20-noise",
    "cifar10-resnet56",
    "cifar10-vgg16",
    "cifar10-wideresnet16",
    "cifar100-resnet32",
    "cifar100-resnet8",
    "mnist-cnn",
]


def load(shared, name):
    with np.load(shared / "data" / "logits" / f"{name}.npz") as file:
        return tuple(file[part] for part in ("val_logits", "val_labels", "test_logits", "test_labels"))


@pytest.mark.parametrize("name", FILES)
def test_predictions_probabilities_and_routes_are_consistent(shared, name):
    logits, labels, test, _ = load(shared, name)
    head = SPHClassifier().fit(logits, labels)
    predicted, routes, probabilities = head.predict(test), head.route(test), head.predict_proba(test)
    np.testing.assert_array_equal(head.classes_[probabilities.argmax(axis=1)], predicted)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(predicted[routes != "pooled"], test.argmax(axis=1)[routes != "pooled"])
    assert head.trusted_[predicted[routes == "pooled"]].all()


def test_agrees_with_the_reference_on_a_network_under_noise(shared):
    logits, labels, test, _ = load(shared, "cifar10-resnet20-noise")
    logits, labels, test = logits[:400], labels[:400], test[:300]
    settings = Settings(certainty=0.8, window_high=0.95, veto_distance=4.0, veto_count=2, min_separation=0.5)
    head = SPHClassifier(**vars(settings)).fit(logits, labels)
    reference = Reference(logits.astype(float).tolist(), labels.tolist(), 10, settings)
    predicted, routes = zip(*(reference.predict(sample) for sample in test.astype(float).tolist()), strict=True)
    np.testing.assert_array_equal(head.trusted_, reference.trusted)
    np.testing.assert_array_equal(head.predict(test), predicted)
    np.testing.assert_array_equal(head.route(test), routes)


def test_a_network_under_noise_leaves_accuracy_on_the_table(shared):
    logits, labels, test, truth = load(shared, "cifar10-resnet20-noise")
    head = SPHClassifier().fit(logits, labels)
    error, before = np.mean(head.predict(test) != truth), np.mean(test.argmax(axis=1) != truth)
    assert 0.45 < before < 0.5
    assert error < 0.9 * before
