"""PyTorch: heads as modules against the Python head, sample by sample."""

import copy
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from torch import nn

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges import torch as bridge
from aftermax.bridges.torch import Head
from helpers.bridge_heads import CLASS_NAMES, KINDS, fitted, inputs_of, many_samples, scores

FEW = 2_000


def tensors(kind, n_samples=FEW):
    return [torch.from_numpy(values) for values in inputs_of(kind, n_samples)]


def predictions(head, inputs):
    with torch.inference_mode():
        return head.classes[head(*inputs).argmax(dim=1).numpy()]


# ---- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_samples", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_head_of_any_kind_predicts_as_in_python(kind, n_samples):
    python = fitted(kind)
    inputs = inputs_of(kind, n_samples)
    with torch.inference_mode():
        log_proba = Head.from_fitted(python)(*map(torch.from_numpy, inputs))
    assert log_proba.dtype == torch.float64
    np.testing.assert_array_equal(python.classes_[log_proba.argmax(dim=1).numpy()], python.predict(*inputs))
    np.testing.assert_allclose(log_proba.exp().numpy(), python.predict_proba(*inputs), rtol=1e-9, atol=1e-12)


def test_the_samples_take_every_route():
    """Otherwise the test above would prove little."""
    logits, features = (values[:FEW] for values in many_samples())
    for kind in ("vetoes", "power 1.5", "class without samples"):
        assert {"pooled", "reverted"} <= set(fitted(kind).route(logits))
    assert "softmax" in fitted("vetoes").route(logits)
    assert np.mean(fitted("sph by AutoHead").predict(logits) != logits.argmax(axis=1)) > 0.01
    both = fitted("features")
    assert np.mean(both.predict(logits, features) != both.predict(logits, 0 * features)) > 0.01


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["vetoes", "features"])
def test_logits_of_any_precision_have_the_python_heads_predictions(kind, dtype):
    inputs = [values.to(dtype) for values in tensors(kind)]
    expected = fitted(kind).predict(*(values.double().numpy() for values in inputs))
    np.testing.assert_array_equal(predictions(Head.from_fitted(fitted(kind)), inputs), expected)


def test_a_certainty_that_rounds_to_1_is_at_a_gate_of_1():
    python, logits = fitted("power 4"), 6.0 * many_samples()[0][:FEW].astype(np.float64)
    assert python.certainty == 1.0
    assert set(python.route(logits)) >= {"softmax", "pooled"}
    columns = Head.from_fitted(python)(torch.from_numpy(logits)).argmax(dim=1)
    np.testing.assert_array_equal(columns, python.predict(logits))


def test_a_sample_exactly_at_the_gate_gets_softmaxs_prediction():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    logits = 0.5 * rng.normal(size=(300, 3)) + np.eye(3)[labels]
    python = SPHClassifier(certainty=0.5, min_gain=-1.0).fit(logits, labels)
    at_gate = np.array([[0.0, 0.0, -800.0], [0.0, 0.0, -30.0]])  # certainties of 0.5 and a little less
    assert python.route(at_gate).tolist() == ["softmax", "pooled"]
    log_proba = Head.from_fitted(python)(torch.from_numpy(at_gate))
    np.testing.assert_allclose(log_proba.exp(), python.predict_proba(at_gate), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_in_float32_few_predictions_change(kind):
    head = Head.from_fitted(fitted(kind)).float()
    log_proba = head(*tensors(kind))
    assert log_proba.dtype == torch.float32
    changed = head.classes[log_proba.argmax(dim=1)] != fitted(kind).predict(*inputs_of(kind, FEW))
    assert changed.mean() < 0.002


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", ["vetoes", "power 1.5", "softmax", "features", "sph by AutoHead"])
def test_exported_and_traced_heads_predict_the_same_for_any_batch_size(kind):
    head, inputs = Head.from_fitted(fitted(kind)), tensors(kind)
    few = tuple(values[:7] for values in inputs)
    batch = torch.export.Dim("batch", min=1)
    exported = torch.export.export(head, few, dynamic_shapes=tuple({0: batch} for _ in few)).module()
    traced = torch.jit.trace(head, few)  # a warning that shapes were read would be an error here
    expected = head(*inputs).argmax(dim=1)
    for shipped in (exported, traced):
        assert torch.equal(shipped(*inputs).argmax(dim=1), expected)
        assert shipped(*[values[:1] for values in inputs]).shape == (1, 10)


def test_a_network_with_its_head_is_exported_as_one():
    model = nn.Sequential(nn.Linear(10, 10), nn.Dropout(), Head.from_fitted(fitted("combination"))).eval()
    logits = tensors("combination")[0]
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (logits[:5],), dynamic_shapes=({0: torch.export.Dim("batch")},)), file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    torch.testing.assert_close(loaded(logits), model(logits), rtol=1e-9, atol=1e-9)


def test_empty_batches_and_single_samples_are_accepted():
    for kind in ("vetoes", "combination"):
        head, (logits,) = Head.from_fitted(fitted(kind)), tensors(kind)
        assert head(logits[:0]).shape == (0, 10)
        torch.testing.assert_close(head(logits[3:4]), head(logits)[3:4], rtol=1e-9, atol=1e-9)


def test_large_batches_are_processed_in_chunks_to_save_memory(monkeypatch):
    lengths, cat = [], torch.cat
    monkeypatch.setattr(torch, "cat", lambda chunks: lengths.extend(map(len, chunks)) or cat(chunks))
    head, (logits,) = Head.from_fitted(fitted("vetoes")), tensors("vetoes", 10_000)
    whole = head(logits)
    assert max(lengths) * 10 * 10 <= bridge.VALUES_PER_CHUNK
    assert sum(lengths) == 10_000
    monkeypatch.setattr(bridge, "VALUES_PER_CHUNK", 1)  # at least one sample per chunk
    torch.testing.assert_close(head(logits[:20]), whole[:20])
    assert lengths[-20:] == [1] * 20


# ---- as a module -----------------------------------------------------------------------------------------------------


def test_it_moves_with_the_model_but_never_below_float32():
    head = Head.from_fitted(fitted("vetoes"))
    inputs = tensors("vetoes")
    model = nn.Sequential(nn.Identity(), head)
    for moved in (model.half(), model.to(torch.bfloat16), model.float()):
        assert moved[1](*inputs).dtype == torch.float32
    assert model.double()[1](*inputs).dtype == torch.float64
    assert {values.device.type for values in Head.from_fitted(fitted("vetoes")).to("meta").buffers()} == {"meta"}
    assert {values.device.type for values in copy.deepcopy(head).half().to("meta").buffers()} == {"meta"}
    assert not list(head.parameters())
    assert not head.training


def test_autocast_has_no_effect():
    head, inputs = Head.from_fitted(fitted("combination")).float(), tensors("combination")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logs = head(*inputs)
    assert torch.equal(logs, head(*inputs))


def test_copies_and_pickles_predict_the_same():
    head = Head.from_fitted(fitted("combination"))
    file = io.BytesIO()
    torch.save(head, file)
    file.seek(0)
    inputs = tensors("combination")
    for again in (copy.deepcopy(head), torch.load(file, weights_only=False)):
        assert torch.equal(again(*inputs), head(*inputs))
        np.testing.assert_array_equal(again.classes, CLASS_NAMES)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_the_inputs_and_are_finite(kind):
    inputs = [values.double().requires_grad_() for values in tensors(kind)]
    log_proba = Head.from_fitted(fitted(kind))(*inputs)
    log_proba[torch.isfinite(log_proba)].clamp(min=-30).sum().backward()
    for values in inputs:
        assert torch.isfinite(values.grad).all()
        assert values.grad.abs().sum() > 0


def test_gradients_are_right():
    head, (logits,) = Head.from_fitted(fitted("combination")), tensors("combination", 3)
    assert torch.autograd.gradcheck(head, logits.double().requires_grad_(), atol=1e-4)


def test_gradients_are_finite_where_distances_are_zero():
    """(w d) ** 0.5 has no finite derivative at 0, which weights that are set to zero lead to."""
    python = fitted("power 0.5")
    assert (python.weights_ == 0).any()
    logits = torch.tensor(python.response_array_.center[:3], requires_grad=True)
    Head.from_fitted(python)(logits).max(dim=1).values.sum().backward()
    assert torch.isfinite(logits.grad).all()


def test_scores_too_large_for_float32_still_give_probabilities():
    python = SPHClassifier(distance_power=60.0, certainty=1.0, min_gain=-1.0)
    python.fit(scores().val_logits[:600], scores().val_labels[:600])
    log_proba = Head.from_fitted(python).float()(torch.full((3, 10), 300.0) + torch.eye(10)[:3])
    torch.testing.assert_close(log_proba.exp().sum(dim=1), torch.ones(3))


def test_a_sample_with_nan_gets_nan_and_no_other_does():
    for kind in ("vetoes", "combination", "softmax"):
        logits = tensors(kind, 5)[0].clone()
        logits[2, 3] = torch.nan
        missing = torch.isnan(Head.from_fitted(fitted(kind))(logits))
        assert missing.all(dim=1).tolist() == missing.any(dim=1).tolist() == [False, False, True, False, False]


def test_features_of_several_layers_are_put_side_by_side():
    head, (logits, features) = Head.from_fitted(fitted("features")), tensors("features", 50)
    several = [features[:, :2], features[:, 2:].double()]
    expected = head(logits, features)
    torch.testing.assert_close(head(logits, several), expected)
    shapes = {"logits": {0: torch.export.Dim("batch")}, "features": [{0: torch.export.Dim("batch")}] * 2}
    program = torch.export.export(head, (logits, several), dynamic_shapes=shapes)
    torch.testing.assert_close(program.module()(logits[:7], [one[:7] for one in several]), expected[:7])


def test_the_printout_names_kind_classes_and_features():
    assert repr(Head.from_fitted(fitted("features"))) == "Head(combination, classes=10, features=6)"


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_inputs_of_another_shape_are_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = tensors("features")
    with pytest.raises(
        ValueError,
        match=r"logits have shape \(2000, 9\), but the head was fitted on 10 columns: pass the logits of the model",
    ):
        head(logits[:, :9])
    with pytest.raises(ValueError, match=r"logits have shape \(10,\).*of shape \(n_samples, 10\)"):
        head(logits[0])
    with pytest.raises(
        ValueError, match=r"features have shape \(2000, 3\), .* 6 columns: pass the features of the layer that"
    ):
        with_features(logits, features[:, :3])
    for several, message in (
        ([features[:, :2], features[:, 2:, None]], r"features\[1\] is of shape \(2000, 4, 1\): .*values.flatten\(1\)"),
        ([features.numpy()], r"features\[0\] is of type ndarray"),
        ([], "features is an empty list"),
    ):
        with pytest.raises(ValueError, match=message):
            with_features(logits, several)
    with pytest.raises(ValueError, match="logits have 2000 samples and features have 5: pass the same samples"):
        with_features(logits, features[:5])
    with pytest.raises(ValueError, match=r"with 6 features: pass logits and features, head\(logits, features\)"):
        with_features(logits)
    with pytest.raises(ValueError, match=r"fitted without features: pass only logits, head\(logits\)"):
        head(logits, features)


def test_inputs_that_are_not_tensors_are_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = tensors("features")
    with pytest.raises(TypeError, match=r"logits must be a tensor, got ndarray: pass torch.as_tensor\(logits\)"):
        head(logits.numpy())
    with pytest.raises(
        TypeError, match=r"logits is a tuple: pass each tensor as its own argument, head\(logits, features\)"
    ):
        with_features((logits, features))
    with pytest.raises(TypeError, match=r"logits is a list: pass each tensor as its own argument, head\(logits\)"):
        head([logits])


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
def test_probabilities_give_one_warning_and_none_while_exported():
    (logits,) = tensors("vetoes", 50)
    probabilities = logits.softmax(dim=1)
    head = Head.from_fitted(fitted("vetoes"))
    torch.export.export(head, (probabilities,))
    torch.jit.trace(head, (probabilities,), check_trace=False)  # the check is a call like any other
    head(probabilities[:0])
    Head.from_fitted(fitted("vetoes")).to("meta")(probabilities.to("meta"))
    torch.func.vjp(head, probabilities)
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        head(probabilities.bfloat16().requires_grad_())
    assert caught[0].filename == __file__
    head(probabilities)  # a second warning would be an error
    used = Head.from_fitted(fitted("vetoes"))
    used(logits)
    used(probabilities)  # only the first batch is checked
    with pytest.warns(UserWarning, match="logits look like probabilities"):
        nn.Sequential(nn.Softmax(dim=1), Head.from_fitted(fitted("vetoes")))(logits)
    Head.from_fitted(fitted("vetoes"))(logits.log_softmax(dim=1))


def test_objects_that_are_not_fitted_heads_are_refused():
    with pytest.raises(NotFittedError):
        Head.from_fitted(AutoHead())
    with pytest.raises(TypeError, match="LogisticRegression cannot be exported: pass a fitted AutoHead"):
        Head.from_fitted(LogisticRegression())
    with pytest.raises(TypeError, match=r"Head got a SPHClassifier: create the module with Head.from_fitted\(head\)"):
        Head(fitted("vetoes"))
    for path in ("head.npz", Path("head.npz")):
        with pytest.raises(TypeError, match=r"head is a path: load it first, aftermax.load\('head.npz'\)"):
            Head.from_fitted(path)


def test_without_torch_the_error_says_what_to_install():
    code = "import sys, aftermax.auto.head; sys.modules['torch'] = None; import aftermax.bridges.torch"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: Heads as PyTorch modules need torch: pip install 'aftermax[torch]'" in ran.stderr


def test_features_that_are_far_away_are_moved_towards_the_mean_as_in_python():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    logits, features = rng.normal(size=(300, 3)), 2 * np.eye(3)[labels] + rng.normal(size=(300, 3))
    fitted_head = AutoHead(cv=2).fit(logits, labels, features=features)
    assert fitted_head.fitted_head_.uses_features
    features[:4] *= np.array([1e2, 1e5, 1e50, 1e98])[:, None]
    expected = fitted_head.predict_proba(logits, features=features)
    assert np.isfinite(expected).all()
    found = Head.from_fitted(fitted_head)(torch.from_numpy(logits), torch.from_numpy(features)).exp()
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-7, atol=1e-12)
