"""aftermax export, as installed: ONNX files that answer as the head does, alone and on a network."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import aftermax
from aftermax.storage.head_files import FittedOn, write_head
from helpers.command import refused, run, run_here
from helpers.samples import make_samples

NAMES = np.array(["ant", "bee", "cat"])


ATTACHED = ["both.onnx", "--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]


def network(path, weights):
    """A network with one layer, and an output that is no logits."""
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
    logits, labels = make_samples(seed=1, rows=300, size=3)
    return aftermax.SPHClassifier(min_gain=-1.0).fit(logits, NAMES[labels])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, head):
    folder = tmp_path_factory.mktemp("export")
    aftermax.save(head, folder / "head.npz")
    weights = np.array([[2, 0, 0], [0, 0.5, 0], [0, 0, 1]], np.float32)
    network(folder / "network.onnx", weights)
    logits = make_samples(seed=2, rows=300, size=3)[0].astype(np.float32)
    np.savez(folder / "scores.npz", test_logits=logits)
    np.save(folder / "inputs.npy", logits @ np.linalg.inv(weights))
    np.save(folder / "others.npy", -logits)
    np.save(folder / "scalar.npy", 3.0)
    (folder / "empty.npy").touch()
    return folder


def answers(path, rows):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(
        zip(
            [one.name for one in session.get_outputs()],
            session.run(None, {session.get_inputs()[0].name: rows}),
            strict=True,
        )
    )


def test_export_writes_a_head_and_counts_where_it_agrees(folder, head, tmp_path):
    asked = ["--check", "scores.npz", "--part", "test", "--precision", "float64"]
    done = run("export", "head.npz", tmp_path / "head.onnx", *asked, cwd=folder, check=True)
    assert done.stderr.startswith("Of 300 rows, 300 have the Python head's answer")
    assert done.stderr.endswith(f"\nWritten to {tmp_path / 'head.onnx'}\n")
    assert done.stdout == ""
    with np.load(folder / "scores.npz") as scores:
        logits = scores["test_logits"]
    assert answers(tmp_path / "head.onnx", logits)["label"].tolist() == head.predict(logits).tolist()


def test_a_head_goes_onto_a_network(folder, head, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--keep-outputs", "--json"]
    asked += ["--check", "scores.npz", "--part", "test", "--inputs", "inputs.npy"]
    done = run_here("export", "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    told = json.loads(done.stdout)
    assert (told["written"], told["takes"]) == (str(tmp_path / "both.onnx"), "logits")
    assert told["agreement"]["rows"] == 300
    assert told["agreement"]["differing"] == 0
    found = answers(tmp_path / "both.onnx", np.load(folder / "inputs.npy"))
    assert list(found) == ["label", "probabilities", "logits", "other"]
    assert np.mean(found["label"] == head.predict(found["logits"])) > 0.99


def test_without_its_inputs_the_head_of_a_network_is_checked_alone(folder, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]
    done = run_here("export", "head.npz", tmp_path / "both.onnx", *asked, cwd=folder, check=True)
    assert done.stderr.startswith("The head alone: Of 300 rows, ")


def test_a_head_that_was_fitted_on_probabilities_says_what_the_graph_takes(folder, head, tmp_path):
    write_head(head, tmp_path / "head.npz", FittedOn(probabilities=True))
    with np.load(folder / "scores.npz") as scores:
        shares = np.exp(scores["test_logits"] - scores["test_logits"].max())
    np.save(tmp_path / "shares.npy", shares)
    asked = ["head.npz", "head.onnx", "--precision", "float64", "--check", "shares.npy"]
    done = run_here("export", *asked, cwd=tmp_path, check=True)
    said = "Written to head.onnx. It takes log-probabilities, log(max(p, 1e-12)), for the head was fitted on those"
    assert done.stderr.endswith(f"{said} (--log).\n")
    assert answers(tmp_path / "head.onnx", np.log(shares))["label"].tolist() == head.predict(np.log(shares)).tolist()
    told = json.loads(run_here("export", *asked, "--json", cwd=tmp_path, check=True).stdout)
    assert (told["takes"], told["agreement"]["same"]) == ("log-probabilities", 300)


def test_nothing_is_written_where_answers_differ(folder, tmp_path):
    asked = ["--onto", "network.onnx", "--logits-from", "logits", "--check", "scores.npz", "--part", "test"]
    said = refused("export", "head.npz", tmp_path / "both.onnx", *asked, "--inputs", "others.npy", cwd=folder)
    assert said.startswith("aftermax: Nothing is written, as the graph answers otherwise: Of 300 rows, ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            ["head.onnx", "--logits-from", "logits"],
            "--logits-from goes with --onto: it names a tensor of that network.",
        ),
        (["head.onnx", "--features-from", "x"], "--features-from goes with --onto"),
        (["head.onnx", "--inputs", "inputs.npy"], "--inputs goes with --onto and --check"),
        (["head.onnx", "--precision", "float16"], "Invalid value for '--precision'"),
        (["."], ". is a folder: name a file in it."),
        (["head.onnx", "--check", "nowhere.csv"], "nowhere.csv is not there."),
        (["head.onnx", "--check", "scores.npz"], "scores.npz has parts, test: choose one"),
        (["head.onnx", "--onto", "inputs.npy"], "inputs.npy is not an ONNX model"),
        (["head.onnx", "--onto", "nowhere.onnx"], "nowhere.onnx is not there."),
        (["head.txt"], "head.txt is no name for what is written: it should end in .onnx."),
        (["new/head.onnx"], "new/head.onnx cannot be written: folder new is not there."),
        (
            ["network.onnx", "--onto", "network.onnx"],
            "network.onnx is one of the inputs, and would be replaced: choose",
        ),
        (["head.onnx", "--onto", "network.onnx"], "The network has 2 outputs: say which has the logits, --logits-from"),
        ([*ATTACHED, "--inputs", "empty.npy"], "empty.npy is damaged, or of another kind"),
        ([*ATTACHED, "--inputs", "nowhere.npy"], "nowhere.npy is not there."),
        ([*ATTACHED, "--inputs", "scalar.npy"], "scalar.npy holds a single value"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(folder, asked, words):
    before = sorted(folder.iterdir())
    assert refused("export", "head.npz", *asked, cwd=folder).startswith(f"aftermax: {words}")
    assert sorted(folder.iterdir()) == before
