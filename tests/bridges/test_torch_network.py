"""Head.onto: a network and a head as one module, against the Python head on collected logits and features."""

import copy
import io
import shutil
import threading
from collections import namedtuple

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from aftermax import AutoHead, Decider, SoftmaxClassifier
from aftermax.bridges.torch import Head, collect_logits

Output = namedtuple("Output", ["logits"])


class Network(nn.Module):
    """Works in place behind the hidden layer, has dropout and batch normalization, and returns what it is told to."""

    def __init__(self, returned=lambda logits: logits):
        super().__init__()
        self.hidden = nn.Linear(64, 24)
        self.norm = nn.BatchNorm1d(24)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout()
        self.fc = nn.Linear(24, 10)
        self.returned = returned

    def forward(self, images):
        return self.returned(self.fc(self.drop(self.relu(self.norm(self.hidden(images))))))


@pytest.fixture(scope="module")
def digits():
    images, labels = load_digits(return_X_y=True)
    return torch.from_numpy(images / 16).float(), labels


@pytest.fixture(scope="module")
def trained(digits):
    images, labels = digits[0][:100], torch.from_numpy(digits[1][:100])
    torch.manual_seed(0)
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(15):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        optimiser.step()
    return network


@pytest.fixture
def network(trained):
    return copy.deepcopy(trained)


@pytest.fixture(scope="module")
def fitted(trained, digits):
    """A head for each way to name layers."""
    heads = {}
    for layer in (None, "fc", "hidden", ("hidden", "relu")):
        val = collect_logits(trained, [digits[0][100:500]], layer=layer)
        heads[layer] = AutoHead(cv=2).fit(val.logits, digits[1][100:500], features=val.features)
        assert heads[layer].chosen_ == "combination"
    return heads


def expected_of(head, network, images, layer, method="predict_proba"):
    found = collect_logits(network, [images], layer=layer)
    features = {} if found.features is None else {"features": found.features}
    return getattr(head, method)(found.logits, **features)


INDUCTOR = [pytest.mark.slow, pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")]
LAYERS = pytest.mark.parametrize("layer", [None, "fc", "hidden", ("hidden", "relu")])


# ---- predictions -----------------------------------------------------------------------------------------------------


@LAYERS
def test_it_predicts_what_the_python_head_predicts_on_collected_features(layer, network, fitted, digits):
    shipped = Head.onto(network, fitted[layer], layer=layer)
    images = digits[0][500:]
    probabilities = shipped(images).exp().detach().numpy()
    np.testing.assert_allclose(probabilities, expected_of(fitted[layer], network, images, layer), atol=1e-9)
    np.testing.assert_array_equal(
        shipped.classes[shipped.decide(images)], expected_of(fitted[layer], network, images, layer, "predict")
    )


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")  # inductor's own
@LAYERS
@pytest.mark.parametrize("backend", ["eager", "aot_eager", pytest.param("inductor", marks=INDUCTOR)])
def test_torch_compile_takes_all_of_it_as_one_graph(layer, backend, network, fitted, digits):
    shipped = Head.onto(network, fitted[layer], layer=layer)
    torch.compiler.reset()
    compiled = torch.compile(shipped, fullgraph=True, backend=backend)
    images = digits[0][500:700]
    with torch.inference_mode():
        found = compiled(images).exp().numpy()
    np.testing.assert_allclose(found, expected_of(fitted[layer], network, images, layer), atol=1e-6)


@LAYERS
def test_torch_export_takes_it_for_any_batch_size(layer, network, fitted, digits):
    images = digits[0][500:700]
    shipped = Head.onto(network, fitted[layer], layer=layer)
    program = torch.export.export(shipped, (images[:3],), dynamic_shapes=({0: torch.export.Dim("batch")},))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(images), shipped(images), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")
@LAYERS
def test_a_trace_predicts_the_same(layer, network, fitted, digits):
    shipped = Head.onto(network, fitted[layer], layer=layer)
    if layer not in (None, "fc"):  # its output is not known to be other values than the logits
        with pytest.raises(ValueError, match="call the model on one before you compile, export or trace it"):
            torch.jit.trace(shipped, digits[0][:3])
        shipped(digits[0][:3])
    traced = torch.jit.trace(shipped, digits[0][:3])
    torch.testing.assert_close(traced(digits[0][:50]), shipped(digits[0][:50]))


def test_threads_do_not_see_each_others_features(network, fitted, digits):
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    batches = [digits[0][first : first + 40] for first in range(500, 900, 100)]
    with torch.inference_mode():
        expected = [shipped(batch) for batch in batches]
    wrong = []

    def run(number):
        for _ in range(60):
            with torch.inference_mode():
                if not torch.equal(shipped(batches[number]), expected[number]):
                    wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("returned", [Output, lambda logits: {"logits": logits}])
def test_outputs_that_hold_the_logits_are_taken(returned, network, fitted, digits):
    images = digits[0][500:600]
    expected = Head.onto(network, fitted["fc"], layer="fc")(images)
    network.returned = returned
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    torch.testing.assert_close(shipped(images=images), expected)
    torch.compiler.reset()
    torch.testing.assert_close(torch.compile(shipped, fullgraph=True, backend="eager")(images=images), expected)


# ---- which of a layer's input and output are the features ------------------------------------------------------------


def test_a_copy_of_the_logits_is_recognised_on_the_first_batch(network, fitted, digits):
    network.returned = torch.clone
    images = digits[0][500:600]
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    with pytest.raises(ValueError, match="layer 'fc' returns the logits is decided on the first batch: call the mod"):
        torch.export.export(shipped, (images,))
    with pytest.raises(ValueError, match="layer 'fc' returns the logits"):
        shipped(images[:0])
    np.testing.assert_allclose(shipped(images).exp().detach(), expected_of(fitted["fc"], network, images, "fc"))
    exported = torch.export.export(shipped, (images,)).module()
    torch.testing.assert_close(exported(images), shipped(images))


def test_logits_with_a_temperature_are_features_as_they_are_when_collected(network, digits):
    network.returned = lambda logits: logits / 2
    images, labels = digits
    val = collect_logits(network, [images[100:400]], layer="fc")
    assert val.features.shape == (300, 10)
    head = AutoHead(cv=2).fit(val.logits, labels[100:400], features=val.features)
    shipped = Head.onto(network, head, layer="fc")
    np.testing.assert_allclose(shipped(images).exp().detach(), expected_of(head, network, images, "fc"), atol=1e-9)


def test_a_binary_model_with_one_logit(digits):
    images, labels = digits
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 1), nn.Flatten(0))
    val = collect_logits(network, [images[:400]], layer="2")
    assert val.features.shape == (400, 8)
    head = AutoHead(cv=2).fit(val.logits, labels[:400] % 2, features=val.features)
    shipped = Head.onto(network, head, layer="2")
    np.testing.assert_allclose(shipped(images).exp().detach(), expected_of(head, network, images, "2"), atol=1e-9)


# ---- as a module -----------------------------------------------------------------------------------------------------


def test_the_network_is_the_users_own_in_eval_mode_and_otherwise_left_as_it_was(network, fitted, digits):
    network.train()
    names, before = set(network.state_dict()), network.eval()(digits[0])
    network.train()
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    assert shipped.network is network
    assert not any(module.training for module in shipped.modules())
    assert set(network.state_dict()) == names
    torch.testing.assert_close(network(digits[0]), before)
    del shipped
    assert not any(module._forward_hooks for module in network.modules())


def test_several_heads_on_one_network_do_not_disturb_each_other(network, fitted, digits):
    images = digits[0][500:600]
    both = {layer: Head.onto(network, fitted[layer], layer=layer) for layer in ("fc", "hidden")}
    for layer, shipped in both.items():
        np.testing.assert_allclose(shipped(images).exp().detach(), expected_of(fitted[layer], network, images, layer))


def test_a_state_dict_holds_network_and_head(network, fitted, digits):
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    state = shipped.state_dict()
    assert set(network.state_dict()) == {name.removeprefix("network.") for name in state if name.startswith("network")}
    again = Head.onto(Network(), fitted["fc"], layer="fc")
    again.load_state_dict(state)
    assert torch.equal(again(digits[0]), shipped(digits[0]))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda module: torch.load(saved(module), weights_only=False)])
def test_copies_and_pickles_predict_with_their_own_network(copied, network, fitted, digits):
    network.returned = torch.clone
    shipped = Head.onto(network, fitted["fc"], layer="fc")
    expected = shipped(digits[0])
    other = copied(shipped)
    with torch.no_grad():
        network.fc.weight.zero_()
    assert torch.equal(other(digits[0]), expected)
    assert not torch.equal(shipped(digits[0]), expected)


def saved(module):
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return file


def test_it_moves_and_converts_as_a_whole(network, fitted):
    shipped = Head.onto(network, fitted["fc"], layer="fc").float().to("meta")
    out = shipped(torch.zeros(5, 64, device="meta"))
    assert (out.device.type, out.dtype, out.shape) == ("meta", torch.float32, (5, 10))


def test_gradients_flow_to_the_inputs_of_the_network(network, fitted, digits):
    images = digits[0][:5].clone().requires_grad_()
    Head.onto(network, fitted["fc"], layer="fc")(images)[:, 0].sum().backward()
    assert images.grad.abs().sum() > 0


def test_a_head_that_leaves_samples_to_a_person_says_which(network, digits):
    images, labels = digits
    val = collect_logits(network, [images[100:900]])
    decider = Decider(SoftmaxClassifier(), max_error=0.1).fit(val.logits, labels[100:900])
    shipped = Head.onto(network, decider)
    certain = shipped.is_certain(images[900:])
    assert 0 < certain.sum() < len(certain)
    np.testing.assert_array_equal(certain, expected_of(decider, network, images[900:], None, "is_certain"))


# ---- errors ----------------------------------------------------------------------------------------------------------


def test_a_layer_is_named_if_and_only_if_the_head_has_features(network, fitted):
    with pytest.raises(ValueError, match=r"fitted with 24 features: name the layer that they are from, Head\.onto\("):
        Head.onto(network, fitted["fc"])
    with pytest.raises(ValueError, match="fitted without features: leave out layer"):
        Head.onto(network, fitted[None], layer="fc")
    with pytest.raises(ValueError, match="no layer 'fd'; it has, for example, 'fc'"):
        Head.onto(network, fitted["fc"], layer="fd")


def test_the_wrong_layer_is_told_by_its_width(network, fitted, digits):
    shipped = Head.onto(network, fitted["fc"], layer=["hidden", "relu"])
    with pytest.raises(ValueError, match=r"features have shape \(1797, 48\), but the head was fitted on 24 columns"):
        shipped(digits[0])


def test_a_layer_must_be_called_once(fitted, digits):
    class Twice(nn.Module):
        def __init__(self, network):
            super().__init__()
            self.inner = network

        def forward(self, images):
            return self.inner(images) + self.inner(images)

    shipped = Head.onto(Twice(Network()), fitted["fc"], layer="inner.fc")
    with pytest.raises(ValueError, match=r"called layer 'inner\.fc' 2 times for one batch"):
        shipped(digits[0])


def test_the_network_is_a_module_and_the_head_is_fitted(network, fitted):
    with pytest.raises(TypeError, match=r"network must be a torch\.nn\.Module, got function"):
        Head.onto(lambda images: images, fitted[None])
    with pytest.raises(TypeError, match="load it first"):
        Head.onto(network, "head.npz")
