"""Heads on networks, as one ONNX model: networks from torch and made by hand, and what is refused."""

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
from aftermax.data import load_vmnist
from helpers.onnx_models import rows_like, run
from helpers.samples import make_samples


@pytest.fixture(scope="module")
def scores():
    return load_vmnist(trained_on=500)


@pytest.fixture(scope="module")
def unseen(scores):
    return rows_like(scores.test_logits, rows=2000)


@pytest.fixture(scope="module")
def sph(scores):
    return SPHClassifier(veto_distance=2.5, veto_count=2).fit(scores.val_logits, scores.val_labels)


@pytest.fixture(scope="module")
def combination(scores):
    head = AutoHead(cv=2).fit(scores.val_logits[:400], scores.val_labels[:400])
    assert head.chosen_ == "combination"
    return head


def small_network(weights, opset=13, kind=TensorProto.FLOAT, rows="n", ends_in=(), names=("x", "logits")):
    """A network of one layer, and what else it ends in."""
    source, target = names
    size = weights.shape[1]
    nodes = [helper.make_node("MatMul", [source, "w"], [target])]
    for number, operator in enumerate(ends_in):
        nodes.append(helper.make_node(operator, [nodes[-1].output[0]], [f"end{number}"]))
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(source, kind, [rows, len(weights)])],
        [helper.make_tensor_value_info(nodes[-1].output[0], kind, [rows, size])],
        [numpy_helper.from_array(weights.astype(helper.tensor_dtype_to_np_dtype(kind)), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


@pytest.mark.parametrize("opset", [11, 13, 17, 18, 21])
def test_a_head_is_attached_in_the_networks_own_opset(sph, combination, unseen, opset):
    for head in (sph, combination):
        network = small_network(np.eye(10), opset)
        before = network.SerializeToString()
        model = attach(network, head)
        onnx.checker.check_model(model, full_check=True)
        assert network.SerializeToString() == before
        assert model.opset_import[0].version == max(opset, 13)
        assert [value.name for value in model.graph.output] == ["label", "probabilities"]
        assert model.graph.output[1].type.tensor_type.shape.dim[0].dim_param == "n"
        counted = agreement(model, head, unseen[:2000], inputs=unseen[:2000])
        assert (counted.same, counted.differing) == (2000, 0)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_networks_in_other_precisions(sph, unseen, kind):
    logits = unseen[:500].astype(np.float16)
    model = attach(small_network(np.eye(10), kind=kind), sph, precision="float64")
    assert agreement(model, sph, logits.astype(np.float32), inputs=logits).same == 500


def test_a_network_that_takes_so_many_rows_only(sph, unseen):
    model = attach(small_network(np.eye(10), rows=4), sph)
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 4
    assert agreement(model, sph, unseen[:400], inputs=unseen[:400]).same == 400
    with pytest.raises(ValueError, match="takes 4 rows at a time and there are 7: pass a multiple of that"):
        agreement(model, sph, unseen[:7], inputs=unseen[:7])


def test_a_network_that_ends_in_softmax_is_refused_unless_its_probabilities_are_named(sph, unseen, tmp_path):
    message = r"come from a Softmax, and the head takes logits: name the tensor before it, logits=... \('logits'\)"
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
        assert agreement(model, sph, unseen[:500], inputs=unseen[:500]).same == 500


def test_the_networks_own_outputs_can_stay(sph, unseen):
    network = small_network(np.eye(10), ends_in=["Softmax"])
    model = attach(network, sph, logits="logits", keep_outputs=True)
    onnx.checker.check_model(model, full_check=True)
    found = run(model, x=unseen[:50])
    assert list(found) == ["label", "probabilities", "end0"]
    np.testing.assert_allclose(found["end0"], run(network, x=unseen[:50])["end0"])
    np.testing.assert_array_equal(found["label"], sph.predict(unseen[:50]))


def test_names_of_network_and_head_do_not_collide(sph, unseen):
    network = small_network(np.eye(10), names=("aftermax/center", "aftermax/0_Cast"))
    model = attach(network, sph)
    onnx.checker.check_model(model, full_check=True)
    assert agreement(model, sph, unseen[:100], inputs=unseen[:100]).same == 100
    inside = attach(small_network(np.eye(10), names=("x", "label")), sph)
    assert agreement(inside, sph, unseen[:100], inputs=unseen[:100]).same == 100
    with pytest.raises(
        ValueError, match="called 'label', as an output of the head is to be called: rename it, and att"
    ):
        attach(small_network(np.eye(10), names=("label", "logits")), sph)
    kept = small_network(np.eye(10), names=("x", "logits"), ends_in=["Softmax"])
    kept.graph.node[-1].output[0] = kept.graph.output[0].name = "probabilities"
    with pytest.raises(ValueError, match=r"called 'probabilities'.* rename it, or leave it out, keep_outputs"):
        attach(kept, sph, logits="logits", keep_outputs=True)
    assert agreement(attach(kept, sph, logits="logits"), sph, unseen[:100], inputs=unseen[:100]).same == 100


def test_what_is_not_needed_is_left_out_also_around_inner_graphs(sph, unseen):
    """An If whose branches take tensors from outside, an unused branch called as the head's output, and a function."""
    inner = [
        helper.make_graph(
            [helper.make_node(operator, ["h"], [f"own_{operator}"])], operator, [], [value("n", 10, name)]
        )
        for operator, name in (("Neg", "own_Neg"), ("Identity", "own_Identity"))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("If", ["flag"], ["turned"], then_branch=inner[1], else_branch=inner[0]),
        helper.make_node("Same", ["turned"], ["logits"], domain="local"),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
        helper.make_node("Mul", ["probabilities", "unused"], ["out"]),
    ]
    same = helper.make_function(
        "local", "Same", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    constants = {"w": np.eye(10, dtype=np.float32), "flag": np.array(True), "unused": np.ones(10, dtype=np.float32)}
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "network", [value("n", 10, "x")], [value("n", 10, "out")], tensors)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    network = helper.make_model(graph, opset_imports=versions, functions=[same], ir_version=8)
    model = attach(network, sph, logits="logits")
    assert [node.op_type for node in model.graph.node][:4] == ["MatMul", "If", "Same", "Cast"]
    assert "unused" not in {tensor.name for tensor in model.graph.initializer}
    assert len(model.functions) == 1
    assert agreement(model, sph, unseen[:300], inputs=unseen[:300]).same == 300
    kept = attach(network, sph, logits="logits", keep_outputs=True)
    assert agreement(kept, sph, unseen[:300], inputs=unseen[:300]).same == 300


def test_models_of_scikit_learn_are_attached_to_by_their_scores(unseen):
    """As skl2onnx writes them: with the outputs label and probabilities, which the head's are called too."""
    labels = np.repeat(np.arange(10), 50)
    model = LogisticRegression(max_iter=500).fit(unseen[:500], labels)
    head = SPHClassifier().fit(model.decision_function(unseen[:500]), labels)
    scores, chances = (
        skl2onnx.to_onnx(
            model, unseen[:1].astype(np.float32), options={LogisticRegression: {"zipmap": False, "raw_scores": raw}}
        )
        for raw in (True, False)
    )
    attached = attach(scores, head, logits="probabilities")
    found = agreement(attached, head, model.decision_function(unseen), inputs=unseen)
    assert found.same + found.within_rounding == len(unseen)
    with pytest.warns(UserWarning, match="probabilities, for they come from a Normalizer.*raw_scores"):
        attach(chances, head, logits="probabilities")


def value(rows, columns, name, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, [rows, columns])


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 6, 3)
        self.hidden = torch.nn.Linear(216, 24)
        self.last = torch.nn.Linear(24, 10)

    def forward(self, images):
        seen = torch.relu(self.conv(images)).flatten(1)
        return self.last(torch.relu(self.hidden(seen)))


@pytest.fixture(scope="module")
def digits():
    """A real network, trained a little, its inputs, labels, logits and features."""
    torch.manual_seed(0)
    found = load_digits()
    images = torch.from_numpy(found.images.astype(np.float32) / 16)[:, None]
    labels = torch.from_numpy(found.target)
    network = Digits()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images[:300]), labels[:300]).backward()
        optimizer.step()
    network.eval()
    features = []
    hook = network.last.register_forward_hook(lambda _, taken, __: features.append(taken[0].numpy()))
    with torch.no_grad():
        logits = network(images).numpy()
    hook.remove()
    return network, images, found.target, logits, features[0]


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


@pytest.mark.parametrize("dynamo", [True, False])
def test_a_network_from_torch_with_a_head_on_its_logits_and_features(digits, tmp_path, dynamo):
    network, images, labels, logits, features = digits
    path = exported(network, images, tmp_path / "network.onnx", dynamo)
    before = {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()}
    rows = slice(300, 700)
    relu = [node for node in onnx.load(path).graph.node if node.op_type == "Relu"][-1].output[0]
    for name, own in ((None, []), (relu, [features])):
        head = AutoHead(cv=2).fit(logits[rows], labels[rows], *(values[rows] for values in own))
        assert head.chosen_ == "combination"
        model = attach(path, head, tmp_path / "out.onnx", features=name)
        onnx.checker.check_model(model, full_check=True)
        counted = agreement(tmp_path / "out.onnx", head, logits, *own, inputs=images.numpy())
        assert counted.rows == len(labels)
        assert counted.differing == 0
        assert counted.same >= len(labels) - 1
        (tmp_path / "out.onnx").unlink()
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == before


def test_features_with_more_axes_are_flattened(digits, tmp_path):
    network, images, labels, logits, _ = digits
    path = exported(network, images, tmp_path / "network.onnx", dynamo=False)
    with torch.no_grad():
        features = torch.relu(network.conv(images)).flatten(1).numpy()
    head = AutoHead(cv=2).fit(logits[300:700], labels[300:700], features[300:700])
    relu = next(node for node in onnx.load(path).graph.node if node.op_type == "Relu").output[0]
    model = attach(path, head, features=relu)
    counted = agreement(model, head, logits, features, inputs={"images": images.numpy()})
    assert counted.differing == 0
    with pytest.raises(ValueError, match=r"of shape \(batch, 6, 6, 6\): logits are to have rows and columns"):
        attach(path, head, logits=relu, features=relu)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_tensors_that_do_not_fit_are_refused(sph):
    network = small_network(np.eye(10), ends_in=["Relu"])
    with pytest.raises(
        ValueError, match=r"no tensor called 'y' for the logits. Its outputs are 'end0'.*'logits', 'x'\."
    ):
        attach(network, sph, logits="y")
    with pytest.raises(ValueError, match=r"'logits' is float of shape \(n, 7\): 7 columns, .* logits with 10 columns"):
        attach(small_network(np.ones((10, 7))), sph)
    with pytest.raises(ValueError, match="fitted without features: pass the name of the logits only"):
        attach(network, sph, features="x")
    two = small_network(np.eye(10), ends_in=["Relu"])
    two.graph.output.append(value("n", 10, "logits"))
    with pytest.raises(
        ValueError, match=r"has 2 outputs: say which has the logits, logits=... \('end0' is float of sha"
    ):
        attach(two, sph)
    answers = small_network(np.eye(10))
    answers.graph.node.append(helper.make_node("ArgMax", ["logits"], ["answer"], axis=1))
    with pytest.raises(ValueError, match=r"'answer' is int64 of shape \(n, 1\): logits are to be a tensor of numbers"):
        attach(answers, sph, logits="answer")
    answers.graph.node.append(helper.make_node("SequenceConstruct", ["logits"], ["list"]))
    with pytest.raises(ValueError, match="'list' is a sequence: logits are to be a tensor of numbers with a point"):
        attach(answers, sph, logits="list")


def test_features_that_do_not_fit_are_refused():
    logits, labels = make_samples(size=10)
    head = AutoHead(alpha=0.0, cv=2).fit(logits, labels, features=logits[:, :4])
    with pytest.raises(
        ValueError,
        match=r"^This head was fitted with features: say which has the features, features=... \(4 columns\)\.$",
    ):
        attach(small_network(np.eye(10)), head)
    with pytest.raises(ValueError, match=r"'x' is float of shape \(n, 10\): 10 columns, .* features with 4 columns"):
        attach(small_network(np.eye(10)), head, features="x")
    with pytest.raises(ValueError, match="no tensor called 'pool' for the features"):
        attach(small_network(np.eye(10)), head, features="pool")


def test_names_of_logits_and_features_are_asked_for_at_once():
    logits, labels = make_samples(size=10)
    head = AutoHead(alpha=0.0, cv=2).fit(logits, labels, features=logits)
    network = small_network(np.eye(10), ends_in=["Relu", "Neg"])
    network.graph.output.append(value("n", 10, "logits"))
    with pytest.raises(
        ValueError, match=r"^The network has 2 outputs, and this head was fitted with features: say "
    ) as told:
        attach(network, head)
    assert str(told.value).endswith(
        "say which has the logits, logits=... ('end1' is float of shape (n, 10), 'logits' is float of shape (n, 10)), "
        "and which has the features, features=... (10 columns, as 'end1', 'end0', 'logits', 'x')."
    )
    with pytest.raises(ValueError, match=r"^This head was fitted with features: say which has the features"):
        attach(network, head, logits="logits")
    attach(network, head, logits="logits", features="end0")


def test_files_that_are_no_models_are_refused(sph, tmp_path):
    path = tmp_path / "network.onnx"
    onnx.save(small_network(np.eye(10)), path)
    with pytest.raises(ValueError, match="is the network's own file: choose another path"):
        attach(path, sph, tmp_path / "." / "network.onnx")
    whole = path.read_bytes()
    for content in (whole[:-100], b"no model at all", b""):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is not an ONNX model"):
            attach(path, sph, tmp_path / "out.onnx")
    with pytest.raises(FileNotFoundError, match=r"none\.onnx"):
        attach(tmp_path / "none.onnx", sph)
    with pytest.raises(TypeError, match=r"model is a Digits: pass the path of an \.onnx file"):
        attach(Digits(), sph)
    with pytest.raises(TypeError, match=r"head is a path: load it first, aftermax.load\('head.npz'\)"):
        attach(path, "head.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["network.onnx"]


def test_weights_in_files_of_their_own(sph, tmp_path, unseen):
    path = tmp_path / "network.onnx"
    onnx.save(small_network(np.eye(10)), path, save_as_external_data=True, location="weights", size_threshold=0)
    model = attach(str(path), sph, tmp_path / "out.onnx")
    (tmp_path / "weights").unlink()
    assert agreement(tmp_path / "out.onnx", sph, unseen[:50], inputs=unseen[:50]).same == 50
    assert agreement(model, sph, unseen[:50], inputs=unseen[:50]).same == 50
    with pytest.raises(ValueError, match=r"weights, in files beside .*network.onnx, cannot be read"):
        attach(path, sph)
    with pytest.raises(ValueError, match=r"does not say in which folder: pass the path of the \.onnx file"):
        attach(onnx.load(path, load_external_data=False), sph)


def test_a_network_that_is_too_large_for_one_file_is_refused(sph, tmp_path):
    path = tmp_path / "network.onnx"
    network = small_network(np.eye(10))
    onnx.save(network, path, save_as_external_data=True, location="weights", size_threshold=0)
    network = onnx.load(path, load_external_data=False)
    network.graph.initializer[0].dims[:] = [80_000_000, 10]
    path.write_bytes(network.SerializeToString())
    with pytest.raises(
        ValueError, match=r"has 3.2 GB, and an ONNX model in one piece holds 2 GB at most: export the head"
    ):
        attach(path, sph)


def test_a_network_that_cannot_be_converted_is_refused(sph):
    network = small_network(np.eye(10), opset=12)
    network.graph.node[0].op_type = "Unheard"
    with pytest.raises(ValueError, match="of opset 12 and cannot be converted to 13, which the head needs: export it"):
        attach(network, sph)
    network.opset_import[0].version = 13
    with pytest.raises(ValueError, match=r"The network with the head is not valid ONNX: .*Unheard"):
        attach(network, sph)
