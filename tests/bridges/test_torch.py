"""PyTorch: heads as modules against the Python head, row by row; a real model's logits collected."""

import copy
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges import torch as bridge
from aftermax.bridges.torch import Head
from helpers.bridge_heads import KINDS, WORDS, fitted, inputs_of, many_rows, scores

SOME = 2_000


def tensors(kind, rows=SOME):
    return [torch.from_numpy(values) for values in inputs_of(kind, rows)]


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def answers(head, inputs):
    with torch.inference_mode():
        return head.classes[head(*inputs).argmax(dim=1).numpy()]


# ---- the same answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_thousand_rows_are_answered_as_in_python(kind):
    python = fitted(kind)
    inputs = inputs_of(kind)
    with torch.inference_mode():
        logs = Head.from_fitted(python)(*map(torch.from_numpy, inputs))
    assert logs.dtype == torch.float64
    np.testing.assert_array_equal(python.classes_[logs.argmax(dim=1).numpy()], python.predict(*inputs))
    np.testing.assert_allclose(logs.exp().numpy(), python.predict_proba(*inputs), rtol=1e-9, atol=1e-12)


def test_the_rows_try_every_route():
    """Else the test above would prove little."""
    logits, features = many_rows()
    for kind in ("vetoes", "power 1.5", "class without rows"):
        assert {"pooled", "reverted"} <= set(fitted(kind).route(logits[:SOME]))
    assert "softmax" in fitted("vetoes").route(logits[:SOME])
    assert np.mean(fitted("sph by AutoHead").predict(logits) != logits.argmax(axis=1)) > 0.01
    both = fitted("features")
    assert np.mean(both.predict(logits, features) != both.predict(logits, 0 * features)) > 0.01


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["vetoes", "features"])
def test_logits_of_any_precision_are_answered_as_in_python(kind, dtype):
    inputs = [values.to(dtype) for values in tensors(kind)]
    expected = fitted(kind).predict(*(values.double().numpy() for values in inputs))
    np.testing.assert_array_equal(answers(Head.from_fitted(fitted(kind)), inputs), expected)


def test_a_certainty_that_rounds_to_1_is_at_a_gate_of_1():
    python, logits = fitted("power 4"), 6.0 * many_rows()[0][:SOME].astype(np.float64)
    assert python.certainty == 1.0
    assert set(python.route(logits)) >= {"softmax", "pooled"}
    answers = Head.from_fitted(python)(torch.from_numpy(logits)).argmax(dim=1)
    np.testing.assert_array_equal(answers, python.predict(logits))


def test_a_row_exactly_at_the_gate_is_softmaxs():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    logits = 0.5 * rng.normal(size=(300, 3)) + np.eye(3)[labels]
    python = SPHClassifier(certainty=0.5, min_gain=-1.0).fit(logits, labels)
    rows = np.array([[0.0, 0.0, -800.0], [0.0, 0.0, -30.0]])  # certainties of 0.5 and a little less
    assert python.route(rows).tolist() == ["softmax", "pooled"]
    logs = Head.from_fitted(python)(torch.from_numpy(rows))
    np.testing.assert_allclose(logs.exp(), python.predict_proba(rows), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_in_float32_rows_within_rounding_may_change_and_no_others(kind):
    head = Head.from_fitted(fitted(kind)).float()
    logs = head(*tensors(kind))
    assert logs.dtype == torch.float32
    changed = head.classes[logs.argmax(dim=1)] != fitted(kind).predict(*inputs_of(kind, SOME))
    assert changed.mean() < 0.002


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", ["vetoes", "power 1.5", "softmax", "features", "sph by AutoHead"])
def test_exported_and_traced_heads_answer_the_same_for_any_number_of_rows(kind):
    head, inputs = Head.from_fitted(fitted(kind)), tensors(kind, 10_000)
    few = tuple(values[:7] for values in inputs)
    rows = torch.export.Dim("rows", min=1)
    exported = torch.export.export(head, few, dynamic_shapes=tuple({0: rows} for _ in few)).module()
    traced = torch.jit.trace(head, few)  # a warning that shapes were looked at would be an error here
    expected = head(*inputs).argmax(dim=1)
    for shipped in (exported, traced):
        assert torch.equal(shipped(*inputs).argmax(dim=1), expected)
        assert shipped(*[values[:1] for values in inputs]).shape == (1, 10)


def test_a_network_with_its_head_is_exported_as_one():
    model = nn.Sequential(nn.Linear(10, 10), nn.Dropout(), Head.from_fitted(fitted("combination"))).eval()
    logits = tensors("combination")[0]
    file = io.BytesIO()
    torch.export.save(torch.export.export(model, (logits[:5],), dynamic_shapes=({0: torch.export.Dim("rows")},)), file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    torch.testing.assert_close(loaded(logits), model(logits), rtol=1e-9, atol=1e-9)


def test_no_rows_and_one_row_are_answered():
    for kind in ("vetoes", "combination"):
        head, (logits,) = Head.from_fitted(fitted(kind)), tensors(kind)
        assert head(logits[:0]).shape == (0, 10)
        torch.testing.assert_close(head(logits[3:4]), head(logits)[3:4], rtol=1e-9, atol=1e-9)


def test_many_classes_do_not_need_memory_for_all_rows_at_once(monkeypatch):
    seen = []
    tell = bridge.tell
    monkeypatch.setattr(bridge, "tell", lambda *args: seen.append(len(args[3][0])) or tell(*args))
    head, (logits,) = Head.from_fitted(fitted("vetoes")), tensors("vetoes", 10_000)
    whole = head(logits)
    assert max(seen) * 10 * 10 <= bridge.VALUES_AT_A_TIME
    assert sum(seen) == 10_000
    monkeypatch.setattr(bridge, "VALUES_AT_A_TIME", 1)  # a row at a time at least
    torch.testing.assert_close(head(logits[:20]), whole[:20])


# ---- as a module -----------------------------------------------------------------------------------------------------


def test_a_state_dict_carries_all_of_a_head_into_another_and_is_tensors_only():
    kinds = (("vetoes", "power 1.5"), ("power 0", "power 4"), ("combination", "combination"), ("softmax", "softmax"))
    for source, target in ((fitted(one), fitted(other)) for one, other in kinds):
        file = io.BytesIO()
        state = Head.from_fitted(source).state_dict()
        assert all(isinstance(value, torch.Tensor) for value in state.values())  # as safetensors needs them
        torch.save(state, file)
        file.seek(0)
        head = Head.from_fitted(target)
        head.load_state_dict(torch.load(file, weights_only=True))
        np.testing.assert_array_equal(answers(head, tensors("vetoes")), source.predict(many_rows()[0][:SOME]))


@pytest.mark.parametrize(
    "classes",
    [
        WORDS,
        WORDS.astype(object),
        np.array([1, 2, 3, "four", "five", 6, 7, 8, 9, 10], dtype=object),
        np.arange(10, dtype=np.uint8),
        np.arange(10) / 4,
    ],
)
def test_a_head_that_took_over_a_state_has_its_classes_too(classes):
    source, head = (Head.from_fitted(fitted("vetoes")) for _ in range(2))
    source.classes = classes
    head.load_state_dict(source.state_dict())
    assert head.classes.dtype == classes.dtype
    assert head.classes.tolist() == classes.tolist()


def test_true_and_false_are_classes_in_a_state_dict_and_bytes_are_not():
    logits = scores().val_logits[:600, :2]
    labels = logits[:, 1] > logits[:, 0] + np.cos(np.arange(600))
    source, head = (Head.from_fitted(SPHClassifier().fit(logits, values)) for values in (labels, 1 * labels))
    head.load_state_dict(source.state_dict())
    assert head.classes.dtype == bool
    head.classes = np.array([b"no", b"yes"])
    with pytest.raises(TypeError, match="Classes such as b'no' cannot be in a state_dict: fit the head on strings"):
        head.state_dict()


def test_a_state_dict_of_another_head_is_refused_as_a_whole():
    head = nn.Sequential(nn.Identity(), Head.from_fitted(fitted("combination")))
    other = nn.Sequential(nn.Identity(), Head.from_fitted(fitted("vetoes")))
    before = copy.deepcopy(head.state_dict())
    message = (
        r"of another head \('biases' is in one of them only\): build the module with Head.from_fitted\(aftermax.lo"
    )
    for strict in (True, False):
        with pytest.raises(RuntimeError, match=message):
            head.load_state_dict(other.state_dict(), strict=strict)
    narrow = {name: value[:, :7] if value.ndim == 2 else value for name, value in before.items()}
    with pytest.raises(RuntimeError, match=r"has shape \(10, 7\) there and \(10, 10\) here"):
        head.load_state_dict(narrow)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())
    head.load_state_dict({}, strict=False)  # a network's own, without the head
    with pytest.raises(RuntimeError, match="Missing key"):
        head.load_state_dict({})


def test_a_damaged_state_dict_is_refused_before_anything_is_taken_over():
    head = Head.from_fitted(fitted("vetoes"))
    state = Head.from_fitted(fitted("power 1.5")).state_dict()
    described = json.loads(bytes(state["_extra_state"].numpy()))
    center = head.center.clone()

    def as_bytes(value):
        return torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)

    wrong = {
        "it is no tensor of bytes": [described, torch.zeros(3), None],
        "Expecting value": [torch.zeros(0, dtype=torch.uint8)],
        "it is not there": [as_bytes(3)],
        "it has fields missing or too many: 'width'": [as_bytes({k: v for k, v in described.items() if k != "width"})],
        "its plan is for other constants": [as_bytes(described | {"plan": described["plan"] | {"kind": "softmax"}})],
        "its power is 'x'": [as_bytes(described | {"plan": described["plan"] | {"power": "x"}})],
        "its classes is not a list of 10": [as_bytes(described | {"classes": [1, 2]})],
        "its classes are not of the type": [
            as_bytes(described | {"dtype": dtype}) for dtype in ("?", "<M8[s]", "S1", "i4,i4", 3)
        ],
        "the number of features is 0": [as_bytes(described | {"width": 0})],
    }
    for what, values in wrong.items():
        for value in values:
            with pytest.raises(
                ValueError, match=rf"_extra_state is not what this head needs \({what}.*: build the mod"
            ):
                head.load_state_dict(state | {"_extra_state": value})
    assert torch.equal(head.center, center)


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


def test_autocast_passes_it_by():
    head, inputs = Head.from_fitted(fitted("combination")).float(), tensors("combination")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logs = head(*inputs)
    assert torch.equal(logs, head(*inputs))


def test_copies_and_pickles_answer_the_same():
    head = Head.from_fitted(fitted("combination"))
    file = io.BytesIO()
    torch.save(head, file)
    file.seek(0)
    inputs = tensors("combination")
    for again in (copy.deepcopy(head), torch.load(file, weights_only=False)):
        assert torch.equal(again(*inputs), head(*inputs))
        np.testing.assert_array_equal(again.classes, WORDS)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_the_logits_and_are_numbers(kind):
    inputs = [values.double().requires_grad_() for values in tensors(kind)]
    logs = Head.from_fitted(fitted(kind))(*inputs)
    probable = logs[torch.isfinite(logs)]
    probable.clamp(min=-30).sum().backward()
    for values in inputs:
        assert torch.isfinite(values.grad).all()
        assert values.grad.abs().sum() > 0


def test_gradients_are_right():
    head, (logits,) = Head.from_fitted(fitted("combination")), tensors("combination", 3)
    assert torch.autograd.gradcheck(head, logits.double().requires_grad_(), atol=1e-4)


def test_where_the_distances_are_zero_gradients_are_numbers():
    """(w d) ^ 0.5 has no slope there, and weights that are cut to zero make it so."""
    python = fitted("power 0.5")
    assert (python.weights_ == 0).any()
    logits = torch.tensor(python.response_array_.center[:3], requires_grad=True)
    Head.from_fitted(python)(logits).max(dim=1).values.sum().backward()
    assert torch.isfinite(logits.grad).all()


def test_scores_too_large_for_float32_still_give_probabilities():
    python = SPHClassifier(distance_power=60.0, certainty=1.0, min_gain=-1.0)
    python.fit(scores().val_logits[:600], scores().val_labels[:600])
    logs = Head.from_fitted(python).float()(torch.full((3, 10), 300.0) + torch.eye(10)[:3])
    torch.testing.assert_close(logs.exp().sum(dim=1), torch.ones(3))


def test_nan_comes_out_where_it_went_in():
    for kind in ("vetoes", "combination", "softmax"):
        logits = tensors(kind, 5)[0].clone()
        logits[2, 3] = torch.nan
        lost = torch.isnan(Head.from_fitted(fitted(kind))(logits)).all(dim=1)
        assert lost.tolist() == [False, False, True, False, False]


def test_it_reads_well():
    assert repr(Head.from_fitted(fitted("features"))) == "Head(combination, classes=10, features=6)"


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_other_shapes_are_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = tensors("features")
    with pytest.raises(
        ValueError,
        match=r"logits have shape \(2000, 9\), but the head was fitted on 10 columns: pass the logits of the model",
    ):
        head(logits[:, :9])
    with pytest.raises(ValueError, match=r"logits have shape \(10,\).*as \(n_rows, 10\)"):
        head(logits[0])
    with pytest.raises(ValueError, match=r"features have shape \(2000, 3\), .* 6 columns: pass the layer that it was"):
        with_features(logits, features[:, :3])
    with pytest.raises(ValueError, match="features have 5 rows but logits have 2000: pass one for each"):
        with_features(logits, features[:5])
    with pytest.raises(
        ValueError, match=r"fitted with features: pass those of these rows too \(6 columns\), head\(logits, features\)"
    ):
        with_features(logits)
    with pytest.raises(ValueError, match="fitted without features: pass logits only"):
        head(logits, features)


def test_what_is_no_tensor_is_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = tensors("features")
    with pytest.raises(TypeError, match=r"logits are of type ndarray: pass a tensor, torch.as_tensor\(logits\)"):
        head(logits.numpy())
    with pytest.raises(
        TypeError, match=r"logits are a tuple: pass each tensor as an argument, head\(logits, features\)"
    ):
        with_features((logits, features))
    with pytest.raises(TypeError, match=r"logits are a list: pass each tensor as an argument, head\(logits\)"):
        head([logits])


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
def test_probabilities_are_warned_about_once_and_not_while_recorded():
    (logits,) = tensors("vetoes", 50)
    likely = logits.softmax(dim=1)
    head = Head.from_fitted(fitted("vetoes"))
    torch.export.export(head, (likely,))
    torch.jit.trace(head, (likely,), check_trace=False)  # the check is a call like any other
    head(likely[:0])
    Head.from_fitted(fitted("vetoes")).to("meta")(likely.to("meta"))
    torch.func.vjp(head, likely)
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        head(likely.bfloat16().requires_grad_())
    assert caught[0].filename == __file__
    head(likely)  # a second warning would be an error
    used = Head.from_fitted(fitted("vetoes"))
    used(logits)
    used(likely)  # the first batch was in order
    with pytest.warns(UserWarning, match="Pass what the model says before softmax"):
        nn.Sequential(nn.Softmax(dim=1), Head.from_fitted(fitted("vetoes")))(logits)
    Head.from_fitted(fitted("vetoes"))(logits.log_softmax(dim=1))


def test_what_is_no_fitted_head_is_refused():
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(NotFittedError):
        Head.from_fitted(AutoHead())
    with pytest.raises(TypeError, match="LogisticRegression cannot be exported: pass a fitted AutoHead"):
        Head.from_fitted(LogisticRegression())
    for path in ("head.npz", Path("head.npz")):
        with pytest.raises(TypeError, match=r"head is a path: load it first, aftermax.load\('head.npz'\)"):
            Head.from_fitted(path)


def test_without_torch_the_error_says_what_to_install():
    code = "import sys, aftermax.auto.head; sys.modules['torch'] = None; import aftermax.bridges.torch"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: Heads as PyTorch modules need torch: pip install 'aftermax[torch]'" in ran.stderr
