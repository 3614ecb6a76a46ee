"""Decisions in every bridge: the decision is an output of its own, and the probabilities stay what they are."""

import numpy as np
import pytest
import torch

from aftermax import Decider, SoftmaxClassifier, SPHClassifier
from aftermax.bridges.onnx import agreement, to_onnx
from aftermax.bridges.torch import Head
from helpers.samples import make_samples

COSTS = (1.0 - np.eye(5)) * np.array([[1.0], [9.0], [1.0], [3.0], [1.0]])
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
NEW, _ = make_samples(seed=1, n_samples=1_500)


@pytest.fixture(scope="module", params=["softmax", "sph", "plain"])
def decider(request):
    logits, labels = make_samples()
    if request.param == "sph":
        return Decider.from_fitted(SPHClassifier().fit(logits, NAMES[labels]), costs=COSTS)
    if request.param == "plain":  # the metric is accuracy: no rule beats plain predictions
        plain = Decider(SoftmaxClassifier(), metric=lambda confusion: np.trace(confusion) / confusion.sum())
        return plain.fit(logits, NAMES[labels])
    return Decider.from_fitted(SoftmaxClassifier().fit(logits, NAMES[labels]), costs=COSTS)


def test_torch_decides_as_in_python(decider):
    head = Head.from_fitted(decider)
    logits = torch.from_numpy(NEW)
    np.testing.assert_array_equal(head.classes[head.decide(logits).numpy()], decider.predict(NEW))
    np.testing.assert_allclose(head(logits).exp().numpy(), decider.predict_proba(NEW), rtol=1e-9, atol=1e-12)


def test_of_other_heads_torch_decides_for_the_most_probable_class():
    fitted = SPHClassifier().fit(*make_samples())
    head, logits = Head.from_fitted(fitted), torch.from_numpy(NEW)
    np.testing.assert_array_equal(head.decide(logits).numpy(), fitted.predict(NEW))
    assert torch.equal(head.decide(logits), head(logits).argmax(dim=1))


def test_a_state_dict_of_a_decision_head_is_loaded(decider):
    head, other = Head.from_fitted(decider), Head.from_fitted(decider)
    other.load_state_dict(head.state_dict())
    assert torch.equal(other.decide(torch.from_numpy(NEW)), head.decide(torch.from_numpy(NEW)))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_label_of_an_onnx_model_is_the_decision(decider, precision):
    found = agreement(to_onnx(decider, precision=precision), decider, NEW)
    assert found.same >= len(NEW) - 2
    assert found.differing == 0
    assert found.largest_difference < 1e-5


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself
def test_keras_decides_as_in_python(decider):
    keras_bridge = pytest.importorskip("aftermax.bridges.keras")
    import keras

    layer = keras_bridge.Head.from_fitted(decider)
    columns = keras.ops.convert_to_numpy(layer.decide(NEW))
    np.testing.assert_array_equal(layer.classes[columns], decider.predict(NEW))
    probabilities = np.exp(keras.ops.convert_to_numpy(layer(NEW)))
    np.testing.assert_allclose(probabilities, decider.predict_proba(NEW), rtol=1e-6, atol=1e-9)
