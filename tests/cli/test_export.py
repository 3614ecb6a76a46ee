"""aftermax export: ONNX files that predict as the head does, alone and attached to a network."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import aftermax
from aftermax.bridges.onnx import agreement, attach, to_onnx
from aftermax.storage.head_files import FittedOn, write_head
from helpers.command import refused, run, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


ATTACHED = ["both.onnx", "--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]


def network(path, weights):
    """A network with one layer, and an output that is not logits."""
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["logits"]),
        helper.make_node("Neg", ["logits"], ["other"]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 3]) for name in ("logits", "other")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])]
    graph = helper.make_graph(nodes, "network", inputs, outputs, [numpy_helper.from_array(weights, "weights")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.fixture(scope="module")
def head():
    logits, labels = make_samples(seed=1, n_samples=300, n_classes=3)
    return aftermax.SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def logits():
    return make_samples(seed=2, n_samples=300, n_classes=3)[0].astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, head, logits):
    folder = tmp_path_factory.mktemp("export")
    aftermax.save(head, folder / "head.npz")
    weights = np.array([[2, 0, 0], [0, 0.5, 0], [0, 0, 1]], np.float32)
    network(folder / "network.onnx", weights)
    np.savez(folder / "scores.npz", test_logits=logits)
    np.save(folder / "inputs.npy", logits @ np.linalg.inv(weights))
    np.save(folder / "others.npy", -logits)
    np.save(folder / "scalar.npy", 3.0)
    (folder / "empty.npy").touch()
    return folder


def run_model(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(
        zip(
            [one.name for one in session.get_outputs()],
            session.run(None, {session.get_inputs()[0].name: inputs}),
            strict=True,
        )
    )


def test_export_writes_a_head_and_counts_the_same_predictions(folder, head, logits, tmp_path):
    asked = ["--check", "scores.npz", "--part", "test", "--precision", "float64"]
    done = run("export", "head.npz", tmp_path / "head.onnx", *asked, cwd=folder, check=True)
    expected = agreement(to_onnx(head, precision="float64"), head, logits)
    assert expected.same == 300
    assert done.stderr == f"{expected}\nWritten to {tmp_path / 'head.onnx'}\n"
    assert done.stdout == ""
    assert run_model(tmp_path / "head.onnx", logits)["label"].tolist() == head.predict(logits).tolist()


def test_a_head_is_attached_to_a_network(folder, head, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--keep-outputs", "--json"]
    asked += ["--check", "scores.npz", "--part", "test", "--inputs", "inputs.npy"]
    done = run_here("export", "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    printed = json.loads(done.stdout)
    assert (printed["written"], printed["takes"]) == (str(tmp_path / "both.onnx"), "logits")
    assert printed["agreement"]["rows"] == 300
    assert printed["agreement"]["differing"] == 0
    found = run_model(tmp_path / "both.onnx", np.load(folder / "inputs.npy"))
    assert list(found) == ["label", "probabilities", "logits", "other"]
    assert np.mean(found["label"] == head.predict(found["logits"])) > 0.99


def test_features_come_from_several_tensors(folder, logits, tmp_path):
    samples, labels = make_samples(seed=1, n_samples=300, n_classes=3)
    head = aftermax.AutoHead(cv=2).fit(samples, NAMES[labels], features=[-samples, samples])
    aftermax.save(head, tmp_path / "head.npz")
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--precision", "float64"]
    asked += ["--features-from", "other", "--features-from", "logits"]
    run_here("export", tmp_path / "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    counted = agreement(tmp_path / "both.onnx", head, logits, [-logits, logits], inputs=np.load(folder / "inputs.npy"))
    assert (counted.rows, counted.differing) == (300, 0)


def test_features_that_are_not_named_come_from_the_layer_of_the_logits(folder, logits, tmp_path):
    samples, labels = make_samples(seed=1, n_samples=300, n_classes=3)
    inputs, features = np.load(folder / "inputs.npy"), samples / [2, 0.5, 1]
    aftermax.save(aftermax.AutoHead(cv=2).fit(samples, NAMES[labels], features=features), tmp_path / "head.npz")
    asked = ["--onto", "network.onnx", "--logits-from", "logits"]
    done = run_here("export", tmp_path / "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    assert "warning: The features are not named, so the head takes 'x', as the layer of the logits does" in done.stderr
    counted = agreement(tmp_path / "both.onnx", aftermax.load(tmp_path / "head.npz"), logits, inputs, inputs=inputs)
    assert (counted.rows, counted.differing) == (300, 0)


def test_without_its_inputs_the_head_of_a_network_is_checked_alone(folder, head, logits, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]
    done = run_here("export", "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    path = tmp_path / "both.onnx"
    assert done.stderr == f"The head alone: {agreement(to_onnx(head), head, logits)}\nWritten to {path}\n"


def test_a_head_that_was_fitted_on_probabilities_says_what_the_graph_takes(head, logits, tmp_path):
    write_head(head, tmp_path / "head.npz", FittedOn(probabilities=True))
    probabilities = np.exp(logits - logits.max())
    np.save(tmp_path / "probabilities.npy", probabilities)
    asked = ["head.npz", "head.onnx", "--precision", "float64", "--check", "probabilities.npy"]
    done = run_here("export", *asked, cwd=tmp_path, check=True)
    why = "because the head was fitted on probabilities."
    assert done.stderr.endswith(f"Written to head.onnx. It takes log-probabilities, log(max(p, 1e-12)), {why}\n")
    assert (
        run_model(tmp_path / "head.onnx", np.log(probabilities))["label"].tolist()
        == head.predict(np.log(probabilities)).tolist()
    )
    printed = json.loads(run_here("export", *asked, "--json", cwd=tmp_path, check=True).stdout)
    assert (printed["takes"], printed["agreement"]["same"]) == ("log-probabilities", 300)


def test_nothing_is_written_if_predictions_differ(folder, head, logits, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]
    message = refused("export", "head.npz", tmp_path / "both.onnx", *asked, "--inputs", "others.npy", cwd=folder)
    model = attach(folder / "network.onnx", head, logits="logits")
    result = agreement(model, head, logits, inputs=np.load(folder / "others.npy"))
    assert result.differing > 0
    assert message == f"aftermax: Nothing is written, because predictions differ: {result} Try --precision float64.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            ["head.onnx", "--logits-from", "logits"],
            "--logits-from needs --onto: it names a tensor of that network.",
        ),
        (["head.onnx", "--features-from", "x"], "--features-from needs --onto"),
        (["head.onnx", "--inputs", "inputs.npy"], "--inputs needs --onto and --check"),
        (["head.onnx", "--precision", "float16"], "Invalid value for '--precision'"),
        (["."], ". is a folder: name a file in it."),
        (["head.onnx", "--check", "nowhere.csv"], "nowhere.csv is not there."),
        (["head.onnx", "--check", "scores.npz"], "scores.npz has parts, test: choose one"),
        (["head.onnx", "--onto", "inputs.npy"], "inputs.npy is not an ONNX model"),
        (["head.onnx", "--onto", "nowhere.onnx"], "nowhere.onnx is not there."),
        (["head.txt"], "head.txt: the name of this file should end in .onnx."),
        (["new/head.onnx"], "new/head.onnx cannot be written: folder new is not there."),
        (
            ["network.onnx", "--onto", "network.onnx"],
            "network.onnx is one of the inputs and would be overwritten: choose",
        ),
        (["head.onnx", "--onto", "network.onnx"], "The network has 2 outputs: "),
        ([*ATTACHED, "--inputs", "empty.npy"], "empty.npy is damaged, or its format is not"),
        ([*ATTACHED, "--inputs", "nowhere.npy"], "nowhere.npy is not there."),
        ([*ATTACHED, "--inputs", "scalar.npy"], "scalar.npy holds a single value"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(folder, asked, words):
    before = sorted(folder.iterdir())
    assert refused("export", "head.npz", *asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before
