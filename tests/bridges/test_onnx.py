"""Heads as ONNX models: onnxruntime against the Python head row by row, the file, and how agreement is counted."""

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.linear_model import LogisticRegression

import aftermax.auto.head
from aftermax import AutoHead, SPHClassifier, SPHClassifierCV
from aftermax._heads.formula import formula_of
from aftermax.bridges.onnx import Agreement, agreement, to_onnx
from aftermax.data import load_vmnist
from helpers.auto_heads import weak, without_corrections
from helpers.onnx_models import ROWS, rows_like, run
from helpers.samples import make_samples

STANDARD = {
    *("Abs", "Add", "And", "ArgMax", "Cast", "Div", "Equal", "Exp", "Gather", "Greater", "GreaterOrEqual", "Less"),
    *("Log", "MatMul", "Max", "Min", "Mul", "Pow", "ReduceMax", "ReduceSum", "Squeeze", "Sub", "Unsqueeze", "Where"),
}
SPH = {
    "vetoes": {"veto_distance": 2.5, "veto_count": 2, "min_separation": 0.5},
    "every row vetoed by some": {"veto_distance": 1.0, "certainty": 1.0},
    "power 1": {"distance_power": 1.0},
    "power 2": {"certainty": 1.0},
    "power 4": {"distance_power": 4.0, "veto_distance": 3.0},
    "power 1.5": {"distance_power": 1.5, "min_gain": -1.0},
    "power 0": {"distance_power": 0.0, "veto_distance": 2.0, "veto_count": 3, "min_gain": -1.0},
    "medians": {"center": "median", "certainty": 0.5},
}
WORDS = np.array(["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"])


@pytest.fixture(scope="module")
def scores():
    return load_vmnist(trained_on=500)


@pytest.fixture(scope="module")
def unseen(scores):
    return rows_like(scores.test_logits)


@pytest.fixture(scope="module")
def combination(scores):
    head = AutoHead(cv=2).fit(scores.val_logits[:400], scores.val_labels[:400])
    assert head.chosen_ == "combination"
    return head


@pytest.fixture(scope="module")
def sph(scores):
    return SPHClassifier(veto_distance=2.5, veto_count=2).fit(scores.val_logits, scores.val_labels)


def assert_answers_as_in_python(head, logits, features=None, close=1e-4, few=2):
    """In float64 to the last row; in float32 but for a few rows, all within rounding."""
    taken = [logits] if features is None else [logits, features]
    inputs = dict(zip(("logits", "features"), taken, strict=False))
    for precision in ("float32", "float64"):
        model = to_onnx(head, precision=precision)
        found = run(model, **inputs)
        assert found["probabilities"].dtype == np.float32
        assert found["label"].shape == (len(logits),)
        np.testing.assert_array_equal(head.classes_[found["probabilities"].argmax(axis=1)], found["label"])
        np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1, atol=1e-5)
        assert found["probabilities"].max() <= 1
        counted = agreement(model, head, *taken)
        assert counted.rows == len(logits)
        assert counted.same == np.sum(found["label"] == head.predict(*taken))
        assert counted.differing == 0
        assert counted.within_rounding + counted.at_threshold <= (0 if precision == "float64" else few)
        assert counted.largest_difference < (1e-6 if precision == "float64" else close)


# ---- row by row ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SPH.values(), ids=SPH.keys())
def test_sph_answers_as_in_python(scores, unseen, settings):
    assert_answers_as_in_python(SPHClassifier(**settings).fit(scores.val_logits, scores.val_labels), unseen)


def test_sph_with_a_class_without_rows_and_texts_as_classes(scores, unseen):
    seen = scores.val_labels != 7
    head = SPHClassifier(certainty=1.0, classes=WORDS).fit(scores.val_logits[seen], WORDS[scores.val_labels[seen]])
    assert_answers_as_in_python(head, unseen)
    assert set(run(to_onnx(head), logits=unseen)["label"]) == set(head.predict(unseen))


def test_sph_with_settings_of_its_own_answers_as_in_python():
    logits, labels = weak(rows=600)
    grid = {"certainty": [0.7, 1.0], "distance_power": [1.0, 2.0]}
    head = SPHClassifierCV(grid, cv=3, n_repeats=1).fit(logits, labels)
    assert not head.fell_back_
    assert_answers_as_in_python(head, rows_like(logits))


def test_sph_that_fell_back_to_softmax_answers_as_in_python(unseen):
    logits, labels = make_samples(rows=60, size=10)
    head = SPHClassifierCV({"certainty": [0.7, 1.0]}, cv=3, n_repeats=1, alpha=0.0).fit(logits, labels)
    assert head.fell_back_
    assert_answers_as_in_python(head, unseen)


def test_the_combination_answers_as_in_python(combination, unseen):
    """Its kernels' coefficients largely cancel: float32 leaves 4 digits of a probability."""
    assert_answers_as_in_python(combination, unseen, close=1e-3)


def test_a_combination_with_one_covariance_for_all_classes_answers_as_in_python():
    """As with more than 50 classes."""
    levels = 2 * np.cos(np.arange(52))
    logits, labels = make_samples(labels=np.arange(1040) % 52, size=52, home=3.0)
    head = AutoHead(cv=2).fit(logits + levels, labels)
    assert head.chosen_ == "combination"
    assert formula_of(head).plan["looks"][0]["shared"]
    assert_answers_as_in_python(head, rows_like(logits + levels))


def test_softmax_that_was_kept_answers_as_in_python(scores, unseen):
    head = AutoHead(alpha=0.0, cv=2).fit(scores.val_logits[:200], scores.val_labels[:200])
    assert head.chosen_ == "softmax"
    assert_answers_as_in_python(head, unseen)


def test_a_head_with_features_answers_as_in_python(scores, unseen):
    rows = slice(400)
    head = AutoHead(cv=2).fit(
        scores.val_logits[rows], scores.val_labels[rows], features=scores.val_logits[rows, :4] ** 2
    )
    assert_answers_as_in_python(head, unseen, unseen[:, :4] ** 2, close=1e-3)


def test_sph_as_chosen_by_auto_head_answers_as_in_python(monkeypatch):
    monkeypatch.setattr(aftermax.auto.head, "cross_fit", without_corrections(aftermax.auto.head.cross_fit))
    logits, labels = weak(rows=600)
    head = AutoHead(cv=2).fit(3 * logits, labels)
    assert head.chosen_ == "sph"
    assert_answers_as_in_python(head, rows_like(3 * logits))


@pytest.mark.parametrize(("certainty", "most"), [(1.0, 2), (0.999999, 0)])
def test_a_network_that_is_too_sure_of_itself_keeps_its_answers_in_float32(scores, unseen, certainty, most):
    """Found in writing: float32 cannot tell a certainty of 1 - 1e-9 from 1, and 407 of 20,000 rows were not pooled.

    With a gate at 1 the Python head itself stops at what float64 can tell from 1, give or take a step.
    """
    head = SPHClassifier(certainty=certainty).fit(6 * scores.val_logits, scores.val_labels)
    assert agreement(to_onnx(head), head, 6 * unseen).same >= ROWS - most


@pytest.mark.parametrize(
    "classes", [np.array([3, 1, 40, 2, -7]), np.array([0.0, 1.0, 5.0, 2.0, -1.0]), WORDS[:5], WORDS[:5].astype(object)]
)
def test_label_is_the_class_itself(classes):
    logits, labels = make_samples()
    head = SPHClassifier(classes=classes).fit(logits, classes[labels])
    model = to_onnx(head)
    label = run(model, logits=logits.astype(np.float32))["label"]
    np.testing.assert_array_equal(label, head.predict(logits.astype(np.float32)))
    assert label.dtype == (object if classes.dtype.kind in "UO" else classes.dtype)
    assert agreement(model, head, logits).same == len(logits)


def test_true_and_false_as_classes():
    logits, labels = make_samples(size=2)
    head = SPHClassifier().fit(logits, labels == 1)
    label = run(to_onnx(head), logits=logits.astype(np.float32))["label"]
    assert label.dtype == bool
    np.testing.assert_array_equal(label, head.predict(logits.astype(np.float32)))


def test_any_number_of_rows_gives_the_same(combination, sph, unseen):
    for head in (combination, sph):
        model = to_onnx(head, precision="float64")
        for rows in (1, 2, 1001):
            found = run(model, logits=unseen[:rows])
            assert found["probabilities"].shape == (rows, 10)
            np.testing.assert_array_equal(found["label"], head.predict(unseen[:1001])[:rows])


def test_the_largest_probability_is_at_the_label_on_ties(sph, combination):
    nearly = 1e-20 * np.eye(10)  # tied once they are probabilities, but the label need not be the first
    tied = np.concatenate([np.zeros((1, 10)), np.eye(10), 1 - np.eye(10), np.full((1, 10), 50), nearly])
    tied = tied.astype(np.float32)
    for head in (sph, combination, SPHClassifier(certainty=0.0).fit(*make_samples(size=10))):
        for precision in ("float32", "float64"):
            found = run(to_onnx(head, precision=precision), logits=tied)
            np.testing.assert_array_equal(found["probabilities"].argmax(axis=1), found["label"])


def test_a_row_with_nan_has_nan_as_probabilities(sph, combination, unseen):
    spoilt = unseen[:3].copy()
    spoilt[1, 4] = np.nan
    for head in (sph, combination):
        found = run(to_onnx(head), logits=spoilt)["probabilities"]
        np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, True, False])
        np.testing.assert_array_equal(np.isnan(found).any(axis=1), [False, True, False])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_another_runtime_gives_the_same(sph, combination, unseen, precision):
    """onnx's own, which is slow and to the letter."""
    for head in (sph, combination):
        evaluator = ReferenceEvaluator(to_onnx(head, precision=precision))
        label, probabilities = evaluator.run(None, {"logits": unseen[:300]})
        np.testing.assert_array_equal(label, head.predict(unseen[:300]))
        np.testing.assert_allclose(probabilities, head.predict_proba(unseen[:300]), atol=1e-3)


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


def test_the_file_is_the_model_and_small(sph, combination, tmp_path, unseen):
    for head, most in ((sph, 10_000), (combination, 100_000)):
        model = to_onnx(head, tmp_path / "head.onnx")
        assert (tmp_path / "head.onnx").read_bytes() == model.SerializeToString(deterministic=True)
        assert (tmp_path / "head.onnx").stat().st_size < most
        assert agreement(str(tmp_path / "head.onnx"), head, unseen[:100]).same == 100
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


def test_what_cannot_be_exported_is_refused(sph):
    with pytest.raises(TypeError, match="LogisticRegression cannot be exported: pass a fitted AutoHead"):
        to_onnx(LogisticRegression())
    with pytest.raises(ValueError, match="not fitted yet"):
        to_onnx(AutoHead())
    with pytest.raises(ValueError, match="precision='float16' is not known: use \"float32\" or"):
        to_onnx(sph, precision="float16")
    logits, labels = make_samples()
    large = SPHClassifier().fit(1e39 * logits, labels)
    with pytest.raises(ValueError, match='too large for float32: pass precision="float64"'):
        to_onnx(large)
    assert to_onnx(large, precision="float64").graph.node


def test_without_onnx_the_extra_is_named():
    """Also that reading and writing needs no onnxruntime."""
    for missing, then, message in (
        ("onnx", "", "ONNX files need onnx: pip install 'aftermax[onnx]'"),
        ("onnxruntime", "; m._session('x')", "Running ONNX models needs onnxruntime: pip install 'aftermax[onnx]'"),
    ):
        code = (
            f"import sys; sys.modules[{missing!r}] = None; import aftermax.bridges.onnx; "
            f"import aftermax.bridges._onnx_agreement as m{then}"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stderr.strip().endswith(f"ImportError: {message}")


# ---- agreement -------------------------------------------------------------------------------------------------------


def halfway(head, one, other):
    """Rows on the way from one to the other, as near to where the answer changes as float64 allows."""
    for _ in range(60):
        middle = (one + other) / 2
        changed = head.predict(middle) != head.predict(one)
        one, other = np.where(changed[:, None], one, middle), np.where(changed[:, None], middle, other)
    return one


@pytest.mark.parametrize("kind", ["sph", "combination"])
def test_rows_within_rounding_of_another_answer_are_counted(request, kind, unseen):
    """On every one of these rows the Python head's own answer changes with the next number that float64 has."""
    head = request.getfixturevalue(kind)
    one, other = unseen[:400].astype(np.float64), unseen[400:800].astype(np.float64)
    edge = halfway(head, one, other)[head.predict(one) != head.predict(other)]
    for precision in ("float32", "float64"):  # float32 is what goes in
        counted = agreement(to_onnx(head, precision=precision), head, edge)
        assert counted.differing == 0
        assert len(edge) / 5 < counted.within_rounding < len(edge)
        assert counted.same == counted.rows - counted.within_rounding
        assert counted.largest_difference < 1e-3
        assert (counted.at_threshold > 0) == (kind == "sph")


def test_another_head_does_not_agree(sph, combination, unseen):
    logits = unseen[:2000]
    counted = agreement(to_onnx(combination), sph, logits)
    assert counted.differing > 20
    assert counted.differing + counted.within_rounding == np.sum(sph.predict(logits) != combination.predict(logits))
    assert counted.largest_difference > 0.1


def test_a_model_that_gives_nan_does_not_agree(sph, unseen):
    model = to_onnx(sph)
    temperature = next(tensor for tensor in model.graph.initializer if tensor.name.endswith("temperature"))
    temperature.CopyFrom(numpy_helper.from_array(np.array(np.nan, dtype=np.float32), temperature.name))
    counted = agreement(model, sph, unseen[:50])
    assert not counted.largest_difference <= 1e-3


def test_agreement_in_words():
    found = Agreement(20_000, 19_997, 2, 1, 0, 1.23e-5)
    assert str(found) == (
        "Of 20,000 rows, 19,997 have the Python head's answer; 3 have another one, 2 of them within rounding. "
        "Probabilities differ by 1e-05 at most."
    )
    assert str(found._replace(at_threshold=3)).endswith("at most, but for 3 at a threshold.")


def test_agreement_refuses_what_does_not_belong_together(sph, unseen):
    model = to_onnx(sph)
    with pytest.raises(ValueError, match="gives 10 probabilities and the head 5: pass the head that the model"):
        agreement(model, SPHClassifier().fit(*make_samples()), make_samples()[0][:, :5], inputs=unseen[:400])
    with pytest.raises(ValueError, match="logits has 3 rows but logits have 5"):
        agreement(model, sph, unseen[:5], inputs={"logits": unseen[:3]})
    with pytest.raises(ValueError, match="takes 'logits' and not 'x': for a head that is attached to a network"):
        agreement(model, sph, unseen[:5], inputs={"x": unseen[:5]})
    with pytest.raises(ValueError, match="logits contain NaN at row 0"):
        agreement(model, sph, np.full((2, 10), np.nan))
    del model.graph.output[0]
    with pytest.raises(ValueError, match="The model has no output 'label': pass a model from to_onnx or attach"):
        agreement(model, sph, unseen[:5])
