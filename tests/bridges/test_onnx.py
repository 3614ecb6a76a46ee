"""Heads as ONNX models: onnxruntime against the Python head sample by sample, and the file."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from sklearn.linear_model import LogisticRegression

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges._formula import formula_of
from aftermax.bridges.onnx import agreement, to_onnx
from helpers.bridge_heads import CLASS_NAMES, KINDS, fitted, inputs_of, many_samples
from helpers.onnx_models import run, samples_like
from helpers.samples import make_samples

STANDARD = {
    *("Abs", "Add", "And", "ArgMax", "Cast", "Div", "Equal", "Exp", "Gather", "Greater", "GreaterOrEqual", "Less"),
    *("Log", "MatMul", "Max", "Min", "Mul", "Pow", "ReduceMax", "ReduceSum", "Squeeze", "Sub", "Unsqueeze", "Where"),
}
# The kernels' coefficients of a combination largely cancel: float32 leaves 4 digits of a probability.
FLOAT32_DIFFERENCE = {"combination": 1e-3, "features": 1e-3}


def assert_predicts_as_in_python(head, *inputs, precision, difference=1e-4, most_rounded=2):
    """In float64 for every sample; in float32 for all but a few, which are within rounding."""
    model = to_onnx(head, precision=precision)
    outputs = run(model, **dict(zip(("logits", "features"), inputs, strict=False)))
    assert outputs["probabilities"].dtype == np.float32
    assert outputs["label"].shape == (len(inputs[0]),)
    np.testing.assert_array_equal(head.classes_[outputs["probabilities"].argmax(axis=1)], outputs["label"])
    np.testing.assert_allclose(outputs["probabilities"].sum(axis=1), 1, atol=1e-5)
    assert outputs["probabilities"].max() <= 1
    counted = agreement(model, head, *inputs)
    assert counted.rows == len(inputs[0])
    assert counted.same == np.sum(outputs["label"] == head.predict(*inputs))
    assert counted.differing == 0
    assert counted.within_rounding + counted.at_threshold <= (0 if precision == "float64" else most_rounded)
    assert counted.largest_difference < (1e-6 if precision == "float64" else difference)


# ---- predictions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_samples", [5_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_head_of_any_kind_predicts_as_in_python(kind, precision, n_samples):
    assert_predicts_as_in_python(
        fitted(kind),
        *inputs_of(kind, n_samples),
        precision=precision,
        difference=FLOAT32_DIFFERENCE.get(kind, 1e-4),
    )


def test_a_combination_with_one_covariance_for_all_classes_predicts_as_in_python():
    """As with more than 50 classes."""
    offsets = 2 * np.cos(np.arange(52))
    logits, labels = make_samples(labels=np.arange(520) % 52, n_classes=52, home=3.0)
    head = AutoHead(cv=2).fit(logits + offsets, labels)
    assert head.chosen_ == "combination"
    assert formula_of(head).plan["terms"][0]["shared"]
    for precision in ("float32", "float64"):
        assert_predicts_as_in_python(head, samples_like(logits + offsets, 5_000), precision=precision)


def test_an_overconfident_network_keeps_its_predictions_in_float32(scores):
    """Found in writing: float32 cannot tell a certainty of 1 - 1e-9 from 1, and 407 of 20,000 samples were not pooled.

    With a gate at 1, the Python head itself stops at what float64 can tell from 1, give or take one step.
    """
    logits = 6 * many_samples()[0][:20_000]
    for certainty, most in ((1.0, 2), (0.999999, 0)):
        head = SPHClassifier(certainty=certainty).fit(6 * scores.val_logits, scores.val_labels)
        assert agreement(to_onnx(head), head, logits).same >= len(logits) - most


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 1, 40, 2, -7]),
        np.array([0.0, 1.0, 5.0, 2.0, -1.0]),
        CLASS_NAMES[:5],
        CLASS_NAMES[:5].astype(object),
    ],
)
def test_label_is_the_class_itself(classes):
    logits, labels = make_samples()
    head = SPHClassifier(classes=classes).fit(logits, classes[labels])
    model = to_onnx(head)
    label = run(model, logits=logits.astype(np.float32))["label"]
    np.testing.assert_array_equal(label, head.predict(logits.astype(np.float32)))
    assert label.dtype == (object if classes.dtype.kind in "UO" else classes.dtype)
    assert agreement(model, head, logits).same == len(logits)


def test_true_and_false_can_be_classes():
    logits, labels = make_samples(n_classes=2)
    head = SPHClassifier().fit(logits, labels == 1)
    label = run(to_onnx(head), logits=logits.astype(np.float32))["label"]
    assert label.dtype == bool
    np.testing.assert_array_equal(label, head.predict(logits.astype(np.float32)))


def test_predictions_do_not_depend_on_the_batch_size(combination, sph, logits):
    for head in (combination, sph):
        model = to_onnx(head, precision="float64")
        for n_samples in (1, 2, 1001):
            outputs = run(model, logits=logits[:n_samples])
            assert outputs["probabilities"].shape == (n_samples, 10)
            np.testing.assert_array_equal(outputs["label"], head.predict(logits[:1001])[:n_samples])


def test_the_largest_probability_is_the_labels_on_ties(sph, combination):
    nearly = 1e-20 * np.eye(10)  # tied as probabilities, but the label need not be the first
    tied = np.concatenate([np.zeros((1, 10)), np.eye(10), 1 - np.eye(10), np.full((1, 10), 50), nearly])
    tied = tied.astype(np.float32)
    for head in (sph, combination, SPHClassifier(certainty=0.0).fit(*make_samples(n_classes=10))):
        for precision in ("float32", "float64"):
            outputs = run(to_onnx(head, precision=precision), logits=tied)
            np.testing.assert_array_equal(outputs["probabilities"].argmax(axis=1), outputs["label"])


def test_a_sample_with_nan_has_nan_as_probabilities(sph, combination, logits):
    with_nan = logits[:3].copy()
    with_nan[1, 4] = np.nan
    for head in (sph, combination):
        probabilities = run(to_onnx(head), logits=with_nan)["probabilities"]
        np.testing.assert_array_equal(np.isnan(probabilities).all(axis=1), [False, True, False])
        np.testing.assert_array_equal(np.isnan(probabilities).any(axis=1), [False, True, False])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_another_runtime_predicts_the_same(sph, combination, logits, precision):
    """The reference evaluator of onnx, which is slow and follows the standard."""
    for head in (sph, combination):
        evaluator = ReferenceEvaluator(to_onnx(head, precision=precision))
        label, probabilities = evaluator.run(None, {"logits": logits[:300]})
        np.testing.assert_array_equal(label, head.predict(logits[:300]))
        np.testing.assert_allclose(probabilities, head.predict_proba(logits[:300]), atol=1e-3)


# ---- the file --------------------------------------------------------------------------------------------------------


def test_the_graph_has_standard_operators_only_and_is_valid(sph, combination):
    for head in (sph, combination, SPHClassifier(distance_power=3.0).fit(*make_samples())):
        for precision in ("float32", "float64"):
            model = to_onnx(head, precision=precision)
            assert {node.domain for node in model.graph.node} == {""}
            assert {node.op_type for node in model.graph.node} <= STANDARD
            assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 13)]
            assert model.ir_version == 7
            onnx.checker.check_model(model, full_check=True)
            onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
            used = {name for node in model.graph.node for name in node.input}
            assert {tensor.name for tensor in model.graph.initializer} <= used


def test_the_file_is_the_model_and_small(sph, combination, tmp_path, logits):
    for head, most in ((sph, 10_000), (combination, 100_000)):
        model = to_onnx(head, tmp_path / "head.onnx")
        assert (tmp_path / "head.onnx").read_bytes() == model.SerializeToString(deterministic=True)
        assert (tmp_path / "head.onnx").stat().st_size < most
        assert agreement(str(tmp_path / "head.onnx"), head, logits[:100]).same == 100
        assert [entry.name for entry in tmp_path.iterdir()] == ["head.onnx"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(sph, tmp_path, monkeypatch):
    path = tmp_path / "head.onnx"
    path.write_text("old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        to_onnx(sph, path)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("head.onnx", "old")]


def test_heads_that_cannot_be_exported_are_refused(sph):
    with pytest.raises(TypeError, match="LogisticRegression cannot be exported: pass a fitted AutoHead"):
        to_onnx(LogisticRegression())
    with pytest.raises(ValueError, match="not fitted yet"):
        to_onnx(AutoHead())
    with pytest.raises(ValueError, match='precision must be "float32" or "float64", got \'float16\''):
        to_onnx(sph, precision="float16")
    logits, labels = make_samples()
    large = SPHClassifier().fit(1e39 * logits, labels)
    with pytest.raises(ValueError, match='values too large for float32: pass precision="float64"'):
        to_onnx(large)
    assert to_onnx(large, precision="float64").graph.node
    pairs = SPHClassifier().fit(logits, labels.astype("S"))
    with pytest.raises(TypeError, match="no type for classes such as b'0': fit the head on integers or strings"):
        to_onnx(pairs)


def test_without_onnx_the_error_names_the_extra():
    code = "import sys; sys.modules['onnx'] = None; import aftermax.bridges.onnx"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().endswith("ImportError: ONNX files need onnx: pip install 'aftermax[onnx]'")
