"""Which samples are certain, in PyTorch, Keras and ONNX: as in Python."""

import keras
import numpy as np
import onnxruntime
import pytest
import torch

from aftermax import Decider, SoftmaxClassifier
from aftermax.bridges.keras import Head as KerasHead
from aftermax.bridges.onnx import to_onnx
from aftermax.bridges.torch import Head as TorchHead

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture(scope="module", params=["max_error", "and a metric", "nothing certain"])
def decider(request, scores):
    metric = "macro_f1" if request.param == "and a metric" else None
    some = slice(0, 50 if request.param == "nothing certain" else 1_000)
    head = Decider(SoftmaxClassifier(), max_error=0.05, metric=metric)
    return head.fit(scores.val_logits[some], scores.val_labels[some])


def test_in_pytorch(decider, logits):
    found = TorchHead.from_fitted(decider).is_certain(torch.as_tensor(logits))
    np.testing.assert_array_equal(found.numpy(), decider.is_certain(logits))


def test_in_keras(decider, logits):
    found = keras.ops.convert_to_numpy(KerasHead.from_fitted(decider).is_certain(logits))
    np.testing.assert_array_equal(found, decider.is_certain(logits))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_in_onnx(decider, logits, precision):
    model = to_onnx(decider, precision=precision)
    assert [value.name for value in model.graph.output] == ["label", "probabilities", "certain"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    single = logits.astype(np.float32)
    (found,) = session.run(["certain"], {"logits": single})
    same = found == decider.is_certain(single)
    assert same.all() if precision == "float64" else same.mean() > 0.999


def test_a_head_that_decides_everything_has_no_such_output(scores, logits):
    head = SoftmaxClassifier().fit(scores.val_logits, scores.val_labels)
    assert len(to_onnx(head).graph.output) == 2
    with pytest.raises(ValueError, match="decides every sample alone"):
        TorchHead.from_fitted(head).is_certain(torch.as_tensor(logits))
    with pytest.raises(ValueError, match="decides every sample alone"):
        KerasHead.from_fitted(head).is_certain(logits)
