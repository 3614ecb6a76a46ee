"""SPH of many classes in the bridges: the distances to some classes at a time, and the same predictions."""

import numpy as np
import pytest

from aftermax import SPHClassifier
from aftermax.bridges import _formula
from aftermax.bridges.onnx import agreement, to_onnx
from helpers.many_classes import confusing_world

N_CLASSES = 400  # in three parts


@pytest.fixture(scope="module")
def world():
    return confusing_world(N_CLASSES, n_samples=4_000, n_test=100)


@pytest.fixture(scope="module", params=[np.inf, 3.0], ids=["no veto", "veto"])
def head(request, world):
    head = SPHClassifier(certainty=1.0, veto_distance=request.param, veto_count=20, classes=np.arange(N_CLASSES))
    head.fit(world.logits, world.labels)
    assert np.mean(head.predict(world.test_logits) != world.test_logits.argmax(axis=1)) > 0.1
    return head


def test_a_sample_takes_less_than_all_pairs_of_classes(head):
    plan, _ = head.fitted_head_.formula()
    assert plan["values_per_sample"] <= 2**16 < N_CLASSES**2


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_onnx_predicts_as_python(head, precision, world):
    model = to_onnx(head, precision=precision)
    counted = agreement(model, head, world.test_logits.astype(np.float32))
    assert counted.differing == 0
    assert counted.same >= 98


def test_torch_and_keras_predict_as_python(head, world):
    torch, bridge = pytest.importorskip("torch"), pytest.importorskip("aftermax.bridges.torch")
    keras_bridge = pytest.importorskip("aftermax.bridges.keras")
    expected = head.predict_proba(world.test_logits)
    module = bridge.Head.from_fitted(head)
    np.testing.assert_allclose(np.exp(module(torch.tensor(world.test_logits)).numpy()), expected, atol=1e-9)
    exported = torch.export.export(module, (torch.tensor(world.test_logits),)).module()
    np.testing.assert_allclose(np.exp(exported(torch.tensor(world.test_logits)).numpy()), expected, atol=1e-9)
    layer = keras_bridge.Head.from_fitted(head)
    np.testing.assert_allclose(np.exp(np.asarray(layer(world.test_logits).detach().cpu())), expected, atol=1e-9)


def test_an_export_that_takes_much_memory_is_warned_of_by_every_bridge(head, monkeypatch):
    keras_bridge = pytest.importorskip("aftermax.bridges.keras")
    bridge = pytest.importorskip("aftermax.bridges.torch")
    exports = (to_onnx, bridge.Head.from_fitted, keras_bridge.Head.from_fitted)
    for export in exports:
        export(head)  # 5 MB, and no warning
    monkeypatch.setattr(_formula, "LARGE", 4e6)
    message = r"takes 5 MB in float64 \(half of it in float32\): with 400 classes, '\w+' alone has 400 x 400 values"
    for export in exports:
        with pytest.warns(UserWarning, match=message) as caught:
            export(head)
        assert caught[0].filename == __file__


def test_large_intermediate_arrays_are_warned_of_too(head, monkeypatch):
    monkeypatch.setattr(_formula, "LARGE", 30e6)
    with pytest.warns(UserWarning, match=r"a batch of 64 samples takes up to 33 MB more\."):
        to_onnx(head)
