"""Heads that were fitted on one logit, in PyTorch, Keras and ONNX: they take a network with one output."""

import keras
import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import aftermax.bridges.keras
from aftermax import AutoHead, SPHClassifier
from aftermax.bridges.onnx import agreement, attach, to_onnx
from aftermax.bridges.torch import Head, collect_logits
from helpers.binary import WORDS, one_logit, sigmoid
from helpers.onnx_models import run, small_network

# Keras itself converts from torch to numpy in this way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

Z, LABELS = one_logit()
NEW = one_logit(n_samples=500, seed=1)[0].astype(np.float32)
KINDS = ("sph", "combination", "features")


@pytest.fixture(scope="module")
def heads():
    features = np.random.default_rng(0).normal(size=(300, 2)) + LABELS[:, None]
    fitted = {
        "sph": SPHClassifier(veto_distance=2.5).fit(Z, WORDS[LABELS]),
        "combination": AutoHead(cv=2).fit(Z, WORDS[LABELS]),
        "features": AutoHead(cv=2).fit(Z, WORDS[LABELS], features=features),
    }
    assert fitted["combination"].chosen_ == "combination"
    assert fitted["features"].chosen_ in ("linear", "combination")  # of features
    return fitted


def inputs_of(kind):
    features = np.random.default_rng(1).normal(size=(500, 2)).astype(np.float32)
    return (NEW, features) if kind == "features" else (NEW,)


class Network(nn.Module):
    """A network with one output, of shape (n,) or (n, 1), whose logit is its first input."""

    def __init__(self, flat):
        super().__init__()
        self.flat, self.last = flat, nn.Linear(3, 1, bias=False)
        self.last.weight.data = torch.tensor([[1.0, 0.0, 0.0]])

    def forward(self, inputs):
        output = self.last(inputs)
        return output.squeeze(1) if self.flat else output


def network_inputs():
    return np.column_stack([NEW, np.zeros((500, 2), dtype=np.float32)])


# ---- torch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_torch_module_takes_one_logit_of_either_shape(heads, kind):
    module, (logits, *features) = Head.from_fitted(heads[kind]), map(torch.from_numpy, inputs_of(kind))
    expected = heads[kind].predict_proba(*inputs_of(kind))
    for one in (logits, logits.unsqueeze(1)):
        np.testing.assert_allclose(module(one, *features).exp().numpy(), expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"logits have shape \(500, 2\), but the head was fitted on 1 columns"):
        module(torch.stack([logits, logits], dim=1), *features)


@pytest.mark.parametrize("flat", [True, False])
def test_a_network_with_one_output_and_its_head_are_one_module_that_can_be_exported(heads, flat):
    model = nn.Sequential(Network(flat), Head.from_fitted(heads["sph"])).eval()
    inputs = torch.from_numpy(network_inputs())
    expected = heads["sph"].predict(NEW)
    program = torch.export.export(model, (inputs,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},)).module()
    for run_model in (model, program):
        np.testing.assert_array_equal(WORDS[run_model(inputs[:100]).argmax(dim=1).numpy()], expected[:100])


def test_a_state_dict_is_loaded_into_a_module_for_one_logit_only(heads):
    state = Head.from_fitted(heads["sph"]).state_dict()
    Head.from_fitted(heads["sph"]).load_state_dict(state)
    two = SPHClassifier(veto_distance=2.5).fit(np.column_stack([-Z / 2, Z / 2]), WORDS[LABELS])
    with pytest.raises(RuntimeError, match="'halves' is in only one of the two"):
        Head.from_fitted(two).load_state_dict(state)


def test_the_torch_module_warns_of_a_sigmoid_and_not_of_a_single_sample(heads):
    module = Head.from_fitted(heads["sph"])
    module(torch.tensor([[1.0]]))
    with pytest.warns(UserWarning, match="before the sigmoid"):
        Head.from_fitted(heads["sph"])(torch.from_numpy(sigmoid(NEW)))


@pytest.mark.parametrize("flat", [True, False])
def test_one_logit_is_collected_as_one_column_with_the_features_before_it(flat):
    dataset = TensorDataset(torch.from_numpy(network_inputs()), torch.arange(500) % 2)
    collected = collect_logits(Network(flat), DataLoader(dataset, batch_size=128), layer="last")
    np.testing.assert_array_equal(collected.logits, NEW[:, None])
    np.testing.assert_array_equal(collected.features, network_inputs())
    head = SPHClassifier().fit(collected.logits, collected.labels)
    assert head.n_features_in_ == 1


def test_a_single_sample_of_several_logits_is_not_taken_for_a_batch_of_one_logit():
    with pytest.raises(ValueError, match="If the loader yields single samples, pass batches"):
        collect_logits(nn.Linear(3, 2), [torch.zeros(3)])


def test_collecting_from_a_network_that_ends_in_a_sigmoid_gives_a_warning():
    with pytest.warns(UserWarning, match="before the sigmoid") as caught:
        collect_logits(nn.Sequential(Network(flat=False), nn.Sigmoid()), [torch.from_numpy(network_inputs())])
    assert caught[0].filename == __file__


# ---- Keras -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_keras_layer_takes_one_column(heads, kind):
    layer, (logits, *features) = aftermax.bridges.keras.Head.from_fitted(heads[kind]), inputs_of(kind)
    inputs = [logits[:, None], *features] if features else logits[:, None]
    probabilities = np.exp(keras.ops.convert_to_numpy(layer(inputs)))
    np.testing.assert_allclose(probabilities, heads[kind].predict_proba(*inputs_of(kind)), atol=1e-12)


def test_a_keras_model_with_one_output_and_its_head_are_saved_together(heads, tmp_path):
    images = keras.Input((3,))
    head = aftermax.bridges.keras.Head.from_fitted(heads["sph"])
    model = keras.Model(images, head(keras.layers.Dense(1)(images)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    inputs = network_inputs()
    np.testing.assert_array_equal(loaded.predict(inputs, verbose=0), model.predict(inputs, verbose=0))
    with pytest.warns(UserWarning, match="before the sigmoid"):
        head(keras.layers.Dense(1, activation="sigmoid")(images))


# ---- ONNX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_onnx_graph_takes_one_column(heads, kind):
    for precision in ("float32", "float64"):
        model = to_onnx(heads[kind], precision=precision)
        assert model.graph.input[0].type.tensor_type.shape.dim[1].dim_value == 1
        counted = agreement(model, heads[kind], *inputs_of(kind))
        assert (counted.rows, counted.differing) == (500, 0)


def flat_network():
    """A network whose output has shape (n,)."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["column"]),
        helper.make_node("Squeeze", ["column", "axis"], ["logit"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    outputs = [helper.make_tensor_value_info("logit", TensorProto.FLOAT, ["n"])]
    constants = [
        numpy_helper.from_array(np.array([[1.0], [0.0], [0.0]], dtype=np.float32), "w"),
        numpy_helper.from_array(np.array([1]), "axis"),
    ]
    graph = helper.make_graph(nodes, "network", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("kind", ["sph", "combination"])
def test_a_head_is_attached_to_a_network_with_one_output(heads, kind, flat):
    network = flat_network() if flat else small_network(np.array([[1.0], [0.0], [0.0]]))
    model = attach(network, heads[kind], precision="float64")
    counted = agreement(model, heads[kind], NEW, inputs=network_inputs())
    assert (counted.same, counted.differing) == (500, 0)
    assert run(model, x=network_inputs())["probabilities"].shape == (500, 2)


def test_a_network_that_ends_in_a_sigmoid_is_refused_with_the_tensor_to_name(heads):
    network = small_network(np.array([[1.0], [0.0], [0.0]]), ends_in=["Sigmoid"])
    hint = "comes from a Sigmoid, but the head needs logits: pass the name of the tensor before it, 'logits'"
    with pytest.raises(ValueError, match=hint):
        attach(network, heads["sph"])
    assert agreement(attach(network, heads["sph"], logits="logits"), heads["sph"], NEW, inputs=network_inputs()).same


def test_a_network_with_two_outputs_is_refused_by_a_head_for_one(heads):
    with pytest.raises(ValueError, match="it has 2 columns, but the head was fitted on logits with 1 columns"):
        attach(small_network(np.eye(3)[:, :2]), heads["sph"])
