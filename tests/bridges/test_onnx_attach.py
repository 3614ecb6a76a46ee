"""Heads attached to networks, as one ONNX model: networks made by hand, and from torch and scikit-learn."""

import warnings

import numpy as np
import onnx
import pytest
import skl2onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges.onnx import agreement, attach
from helpers.onnx_models import run, small_network, tensor_info


@pytest.mark.parametrize("opset", [11, 13, 17, 18, 21])
def test_a_head_is_attached_in_the_networks_own_opset(sph, combination, logits, opset):
    for head in (sph, combination):
        network = small_network(np.eye(10), opset)
        before = network.SerializeToString()
        model = attach(network, head)
        onnx.checker.check_model(model, full_check=True)
        assert network.SerializeToString() == before
        assert model.opset_import[0].version == max(opset, 13)
        assert [value.name for value in model.graph.output] == ["label", "probabilities"]
        assert model.graph.output[1].type.tensor_type.shape.dim[0].dim_param == "n"
        counted = agreement(model, head, logits, inputs=logits)
        assert (counted.same, counted.differing) == (2000, 0)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_networks_in_other_precisions(sph, logits, dtype):
    half = logits[:500].astype(np.float16)
    model = attach(small_network(np.eye(10), dtype=dtype), sph, precision="float64")
    assert agreement(model, sph, half.astype(np.float32), inputs=half).same == 500


def test_a_network_that_ends_in_softmax_is_refused_unless_its_probabilities_are_named(sph, logits, tmp_path):
    message = "comes from a Softmax, but the head needs logits: pass the name of the tensor before it, 'logits'"
    for ends_in in (["Softmax"], ["Softmax", "Identity"]):
        network = small_network(np.eye(10), ends_in=ends_in)
        with pytest.raises(ValueError, match=message):
            attach(network, sph, tmp_path / "out.onnx")
        assert not (tmp_path / "out.onnx").exists()
        with pytest.warns(UserWarning, match=message) as caught:
            attach(network, sph, logits=network.graph.output[0].name)
        assert caught[0].filename == __file__
        model = attach(network, sph, logits="logits")
        assert "Softmax" not in {node.op_type for node in model.graph.node}
        assert agreement(model, sph, logits[:500], inputs=logits[:500]).same == 500


def test_the_networks_own_outputs_can_stay(sph, logits):
    network = small_network(np.eye(10), ends_in=["Softmax"])
    model = attach(network, sph, logits="logits", keep_outputs=True)
    onnx.checker.check_model(model, full_check=True)
    outputs = run(model, x=logits[:50])
    assert list(outputs) == ["label", "probabilities", "end0"]
    np.testing.assert_allclose(outputs["end0"], run(network, x=logits[:50])["end0"])
    np.testing.assert_array_equal(outputs["label"], sph.predict(logits[:50]))


def test_names_of_network_and_head_do_not_collide(sph, logits):
    network = small_network(np.eye(10), names=("aftermax/center", "aftermax/0_Cast"))
    model = attach(network, sph)
    onnx.checker.check_model(model, full_check=True)
    assert agreement(model, sph, logits[:100], inputs=logits[:100]).same == 100
    inside = attach(small_network(np.eye(10), names=("x", "label")), sph)
    assert agreement(inside, sph, logits[:100], inputs=logits[:100]).same == 100
    with pytest.raises(ValueError, match=r"named 'label', which is the name of an output .*: rename it, and attach"):
        attach(small_network(np.eye(10), names=("label", "logits")), sph)
    kept = small_network(np.eye(10), names=("x", "logits"), ends_in=["Softmax"])
    kept.graph.node[-1].output[0] = kept.graph.output[0].name = "probabilities"
    with pytest.raises(ValueError, match=r"named 'probabilities'.* rename it, or remove it with keep_outputs=False"):
        attach(kept, sph, logits="logits", keep_outputs=True)
    assert agreement(attach(kept, sph, logits="logits"), sph, logits[:100], inputs=logits[:100]).same == 100


def test_unused_nodes_are_removed_also_around_subgraphs(sph, logits):
    """An If whose branches use tensors from outside, an unused tensor named as the head's output, and a function."""
    inner = [
        helper.make_graph(
            [helper.make_node(operator, ["h"], [f"own_{operator}"])], operator, [], [tensor_info(name, "n", 10)]
        )
        for operator, name in (("Neg", "own_Neg"), ("Identity", "own_Identity"))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("If", ["flag"], ["chosen"], then_branch=inner[1], else_branch=inner[0]),
        helper.make_node("Same", ["chosen"], ["logits"], domain="local"),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
        helper.make_node("Mul", ["probabilities", "unused"], ["out"]),
    ]
    same = helper.make_function(
        "local", "Same", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    constants = {"w": np.eye(10, dtype=np.float32), "flag": np.array(True), "unused": np.ones(10, dtype=np.float32)}
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "network", [tensor_info("x", "n", 10)], [tensor_info("out", "n", 10)], tensors)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    network = helper.make_model(graph, opset_imports=versions, functions=[same], ir_version=8)
    model = attach(network, sph, logits="logits")
    assert [node.op_type for node in model.graph.node][:4] == ["MatMul", "If", "Same", "Cast"]
    assert "unused" not in {tensor.name for tensor in model.graph.initializer}
    assert len(model.functions) == 1
    assert agreement(model, sph, logits[:300], inputs=logits[:300]).same == 300
    kept = attach(network, sph, logits="logits", keep_outputs=True)
    assert agreement(kept, sph, logits[:300], inputs=logits[:300]).same == 300


def test_models_of_scikit_learn_are_attached_to_by_their_scores(logits):
    """skl2onnx writes them with the outputs label and probabilities, which are the names of the head's outputs too."""
    labels = np.repeat(np.arange(10), 50)
    model = LogisticRegression(max_iter=500).fit(logits[:500], labels)
    head = SPHClassifier().fit(model.decision_function(logits[:500]), labels)
    raw_scores, probabilities = (
        skl2onnx.to_onnx(model, logits[:1], options={LogisticRegression: {"zipmap": False, "raw_scores": raw}})
        for raw in (True, False)
    )
    attached = attach(raw_scores, head, logits="probabilities")
    counted = agreement(attached, head, model.decision_function(logits), inputs=logits)
    assert counted.same + counted.within_rounding == len(logits)
    with pytest.warns(UserWarning, match="probabilities, because it comes from a Normalizer.*raw_scores"):
        attach(probabilities, head, logits="probabilities")


def test_a_head_with_features_is_attached_to_logits_and_features(scores, logits):
    """Features with more than two dimensions are flattened."""
    features = np.tanh(scores.val_logits[:400])
    head = AutoHead(cv=2).fit(scores.val_logits[:400], scores.val_labels[:400], features=features)
    assert head.chosen_ == "combination"
    network = small_network(np.eye(10))
    network.graph.initializer.append(numpy_helper.from_array(np.array([0, 2, 5]), "shape"))
    network.graph.node.append(helper.make_node("Tanh", ["x"], ["hidden"]))
    network.graph.node.append(helper.make_node("Reshape", ["hidden", "shape"], ["grid"]))
    for name in ("hidden", "grid"):
        model = attach(network, head, features=name, precision="float64")
        onnx.checker.check_model(model, full_check=True)
        counted = agreement(model, head, logits, np.tanh(logits), inputs=logits)
        assert counted.differing == 0
        assert counted.same >= len(logits) - 1  # tanh is rounded differently
    with pytest.raises(ValueError, match=r"of shape \(n, 2, 5\): logits must be of shape \(n_samples, 10\)"):
        attach(network, head, logits="grid", features="grid")


def test_a_head_with_features_of_several_layers_is_attached_to_several_tensors(scores, logits):
    """Of other types and shapes; in the order given."""
    val = scores.val_logits[:400]
    head = AutoHead(cv=2).fit(val, scores.val_labels[:400], features=[np.tanh(val), val.astype(np.float16) / 2])
    assert head.chosen_ == "combination"
    network = small_network(np.eye(10))
    constants = {"shape": np.array([0, 2, 5]), "two": np.array(2, dtype=np.float16)}
    network.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in constants.items())
    for operator, inputs, name in (
        ("Tanh", ["x"], "hidden"),
        ("Reshape", ["hidden", "shape"], "grid"),
        ("Cast", ["x"], "half"),
        ("Div", ["half", "two"], "halves"),
    ):
        node = helper.make_node(operator, inputs, [name], **({"to": TensorProto.FLOAT16} if operator == "Cast" else {}))
        network.graph.node.append(node)
    features = [np.tanh(logits), logits.astype(np.float16) / np.float16(2)]
    for precision in ("float32", "float64"):
        model = attach(network, head, features=["grid", "halves"], precision=precision)
        onnx.checker.check_model(model, full_check=True)
        counted = agreement(model, head, logits, features, inputs=logits)
        assert counted.differing == 0
        assert counted.same >= len(logits) - 1  # tanh is rounded differently
    for names, message in (
        ([], "features is an empty list: name at least one tensor"),
        (["grid", "grid"], "features names 'grid' twice"),
        (["grid", "nothing"], "no tensor named 'nothing' for the features"),
        (["grid"], "it has 10 columns, but the head was fitted on features with 20 columns"),
        (["grid", "halves", "x"], r"\(n, 2, 5\); .*: together they have 30 columns, but .*on features with 20 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            attach(network, head, features=names)


# ---- networks from torch ---------------------------------------------------------------------------------------------


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 6, 3)
        self.hidden = torch.nn.Linear(216, 24)
        self.last = torch.nn.Linear(24, 10)

    def forward(self, images):
        flat = torch.relu(self.conv(images)).flatten(1)
        return self.last(torch.relu(self.hidden(flat)))


@pytest.fixture(scope="module")
def digits():
    """A real network after a little training, and its inputs, labels, logits and features."""
    torch.manual_seed(0)
    data = load_digits()
    images = torch.from_numpy(data.images.astype(np.float32) / 16)[:, None]
    labels = torch.from_numpy(data.target)
    network = Digits()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images[:300]), labels[:300]).backward()
        optimizer.step()
    network.eval()
    features = []
    hook = network.last.register_forward_hook(lambda _, inputs, __: features.append(inputs[0].numpy()))
    with torch.no_grad():
        logits = network(images).numpy()
    hook.remove()
    return network, images, data.target, logits, features[0]


def exported(network, images, path, dynamo):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's own, about torch's own
        warnings.simplefilter("ignore", FutureWarning)
        if dynamo:
            shapes = ({0: torch.export.Dim("batch")},)
            torch.onnx.export(network, (images[:2],), path, dynamo=True, dynamic_shapes=shapes, verbose=False)
        else:
            axes = {"images": {0: "batch"}}
            names = {"input_names": ["images"], "output_names": ["logits"]}
            torch.onnx.export(network, (images[:2],), path, dynamo=False, dynamic_axes=axes, **names)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("dynamo", [True, False])
def test_a_network_from_torch_with_a_head_on_its_logits_and_features(digits, tmp_path, dynamo):
    network, images, labels, logits, features = digits
    path = exported(network, images, tmp_path / "network.onnx", dynamo)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    fitted_on = slice(300, 700)
    relu = [node for node in onnx.load(path).graph.node if node.op_type == "Relu"][-1].output[0]
    for name, own in ((None, []), (relu, [features])):
        head = AutoHead(cv=2).fit(logits[fitted_on], labels[fitted_on], *(values[fitted_on] for values in own))
        assert head.chosen_ == "combination"
        model = attach(path, head, tmp_path / "out.onnx", features=name)
        onnx.checker.check_model(model, full_check=True)
        counted = agreement(tmp_path / "out.onnx", head, logits, *own, inputs=images.numpy())
        assert counted.rows == len(labels)
        assert counted.differing == 0
        assert counted.same >= len(labels) - 1
        (tmp_path / "out.onnx").unlink()
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_features_of_a_convolution_are_flattened(digits, tmp_path):
    network, images, labels, logits, _ = digits
    path = exported(network, images, tmp_path / "network.onnx", dynamo=False)
    with torch.no_grad():
        features = torch.relu(network.conv(images)).flatten(1).numpy()
    head = AutoHead(cv=2).fit(logits[300:700], labels[300:700], features[300:700])
    relu = next(node for node in onnx.load(path).graph.node if node.op_type == "Relu").output[0]
    model = attach(path, head, features=relu)
    counted = agreement(model, head, logits, features, inputs={"images": images.numpy()})
    assert counted.differing == 0
