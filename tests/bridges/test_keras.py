"""Keras: heads as layers against the Python head, row by row, in models that are saved and loaded."""

import json
import os
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges import keras as bridge
from aftermax.bridges.keras import Head
from helpers.bridge_heads import KINDS, WORDS, fitted, inputs_of, many_rows, scores

# Keras's own way from torch to numpy.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SOME = 2_000
BATCH = 2_000
MANY = ("vetoes", "power 1.5", "combination", "features")  # kinds that are tried on all rows


def given(inputs):
    """Inputs as Keras takes them: one array, or a list of two."""
    return inputs[0] if len(inputs) == 1 else list(inputs)


def said(head, inputs):
    return keras.ops.convert_to_numpy(head(given(inputs)))


def model_of(head, inputs):
    """A network of the head alone."""
    entries = given([keras.Input((values.shape[1],)) for values in inputs])
    return keras.Model(entries, head(entries))


def logs_of(model, inputs):
    return model.predict(given(inputs), batch_size=BATCH, verbose=0)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def _forget_models():
    yield
    keras.backend.clear_session()


# ---- the same answers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "rows"), [(kind, None if kind in MANY else SOME) for kind in KINDS])
def test_a_hundred_thousand_rows_are_answered_as_in_python(kind, rows):
    python, inputs = fitted(kind), inputs_of(kind, rows)
    logs = logs_of(model_of(Head.from_fitted(python), inputs), inputs)
    assert logs.dtype == np.float64
    np.testing.assert_array_equal(python.classes_[logs.argmax(axis=1)], python.predict(*inputs))
    np.testing.assert_allclose(np.exp(logs), python.predict_proba(*inputs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_in_float32_rows_within_rounding_may_change_and_no_others(kind):
    inputs = inputs_of(kind, SOME)
    head = Head.from_fitted(fitted(kind), dtype="float32")
    logs = said(head, inputs)
    assert logs.dtype == np.float32
    assert np.mean(head.classes[logs.argmax(axis=1)] != fitted(kind).predict(*inputs)) < 0.002


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_logits_of_any_precision_are_answered_as_in_python(dtype):
    logits = keras.ops.cast(many_rows()[0][:SOME], dtype)
    expected = fitted("vetoes").predict(keras.ops.convert_to_numpy(keras.ops.cast(logits, "float64")))
    np.testing.assert_array_equal(said(Head.from_fitted(fitted("vetoes")), [logits]).argmax(axis=1), expected)


def test_a_backend_without_float64_has_its_answers_lifted_as_float32_needs_it(monkeypatch):
    """Found on JAX without x64: the largest log-probability was shared, and argmax took the first."""
    seen, cast = [], bridge.ops.cast
    monkeypatch.setattr(bridge.ops, "cast", lambda value, kind: cast(value, "float32" if kind == "float64" else kind))
    monkeypatch.setattr(bridge, "tell", lambda *told: (seen.append(told[1].step), told[3][0]))
    Head.from_fitted(fitted("vetoes"))(many_rows()[0][:5])
    assert seen == [np.finfo(np.float32).eps]


def test_whole_numbers_are_logits_too():
    logits = np.round(many_rows()[0][:SOME]).astype(int)
    logs = said(Head.from_fitted(fitted("vetoes")), [logits])
    np.testing.assert_array_equal(logs.argmax(axis=1), fitted("vetoes").predict(logits))


def test_a_model_of_low_precision_leaves_the_head_its_own():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        images = keras.Input((5,))
        model = keras.Model(images, Head.from_fitted(fitted("vetoes"))(keras.layers.Dense(10)(images)))
        assert model.predict(np.ones((3, 5)), verbose=0).dtype == np.float64
    finally:
        keras.config.set_dtype_policy(before)


# ---- as a layer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vetoes", "power 1.5", "class without rows", "combination", "softmax", "features"])
def test_a_saved_model_answers_the_same_when_it_is_loaded(kind, tmp_path):
    inputs = inputs_of(kind, SOME)
    model = model_of(Head.from_fitted(fitted(kind), name="head"), inputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logs_of(loaded, inputs), logs_of(model, inputs))
    np.testing.assert_array_equal(loaded.get_layer("head").classes, fitted(kind).classes_)


def test_a_model_is_loaded_in_a_process_that_has_seen_no_fitted_head(tmp_path):
    inputs = inputs_of("combination", 50)
    model = model_of(Head.from_fitted(fitted("combination")), inputs)
    model.save(tmp_path / "model.keras")
    np.save(tmp_path / "logits.npy", inputs[0])
    code = (
        "import keras, numpy, aftermax.bridges.keras\n"
        "model = keras.models.load_model('model.keras')\n"
        "answers = model.predict(numpy.load('logits.npy'), verbose=0).argmax(axis=1)\n"
        "print(*model.layers[-1].classes[answers])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ
    )
    assert ran.stdout.split() == fitted("combination").predict(*inputs).tolist()


def test_a_network_with_its_head_is_one_model(tmp_path):
    images = keras.Input((10,))
    hidden = keras.layers.Dense(10, activation="tanh", kernel_initializer="identity")(images)
    logits = keras.layers.Dense(10, kernel_initializer="identity")(hidden)
    values = scores().val_logits[:600]
    parts = keras.Model(images, [logits, hidden]).predict(values, verbose=0)
    python = AutoHead(cv=2).fit(parts[0], scores().val_labels[:600], features=parts[1])
    model = keras.Model(images, Head.from_fitted(python)([logits, hidden]))
    assert model.output.shape == (None, 10)
    assert model.output.dtype == "float64"
    answers = model.predict(values, verbose=0).argmax(axis=1)
    np.testing.assert_array_equal(answers, python.predict(*parts))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(values, verbose=0).argmax(axis=1), answers)


def test_there_is_nothing_to_train():
    head = Head.from_fitted(fitted("vetoes"))
    assert head.trainable_weights == []
    assert len(head.non_trainable_weights) == len(head.weights) > 0
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(10), head])
    before = [keras.ops.convert_to_numpy(values) for values in head.weights]
    model.compile("sgd", lambda labels, logs: -keras.ops.mean(labels * keras.ops.maximum(logs, -30.0)))
    model.fit(many_rows()[0][:64], np.eye(10)[np.arange(64) % 10], verbose=0)
    for values, kept in zip(head.weights, before, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(values), kept)


def test_the_config_is_plain_data_and_the_constants_are_not_in_it():
    head = Head.from_fitted(fitted("combination"), name="after")
    text = json.dumps(head.get_config())
    assert len(text) < 5_000
    again = Head.from_config(json.loads(text))
    assert again.name == "after"
    np.testing.assert_array_equal(again.classes, WORDS)
    assert np.isnan(said(again, inputs_of("combination", 5))).all()  # nobody takes it for a head
    again.set_weights(head.get_weights())
    inputs = inputs_of("combination", 5)
    np.testing.assert_array_equal(said(again, inputs), said(head, inputs))


def test_the_file_holds_the_constants_once(tmp_path):
    head = Head.from_fitted(fitted("combination"))
    model_of(head, inputs_of("combination")).save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as file:
        assert file.getinfo("model.weights.h5").file_size < 1.5 * sum(8 * values.size for values in head.get_weights())


def test_the_shape_of_what_comes_out_is_known_beforehand():
    head = Head.from_fitted(fitted("features"))
    assert head.compute_output_shape([(None, 10), (None, 6)]) == (None, 10)
    spec = head.compute_output_spec([keras.KerasTensor((7, 10)), keras.KerasTensor((7, 6))])
    assert (spec.shape, spec.dtype) == ((7, 10), "float64")
    assert Head.from_fitted(fitted("vetoes")).compute_output_shape((None, 10)) == (None, 10)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_other_shapes_are_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = inputs_of("features", 20)
    for layer, wrong in ((head, logits[:, :9]), (head, logits[0]), (with_features, [logits, features[:, :3]])):
        with pytest.raises(ValueError, match="expected"):
            layer(wrong)
    for wrong in ([logits], [logits, features], [[logits, features]]):
        with pytest.raises(ValueError, match=r"fitted without features: pass logits only, head\(logits\)"):
            head(*wrong, *wrong[:1])
    for wrong in ([logits], [logits, features], [[logits]]):
        with pytest.raises(
            ValueError, match=r"with features \(6 columns\): pass both as one list, head\(\[logits, features\]\)"
        ):
            with_features(*wrong)
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 10"):
        head(keras.Input((9,)))


@pytest.mark.parametrize(
    "ends_in_softmax",
    [
        lambda rows: keras.layers.Dense(10, activation="softmax")(rows),
        lambda rows: keras.layers.Activation("softmax")(rows),
        lambda rows: keras.layers.Softmax()(rows),
        lambda rows: keras.ops.softmax(rows),
        lambda rows: keras.Sequential([keras.Input((10,)), keras.layers.Dense(10, activation="softmax")])(rows),
    ],
)
def test_a_model_that_ends_in_softmax_is_warned_about(ends_in_softmax):
    rows = keras.Input((10,))
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        Head.from_fitted(fitted("vetoes"))(ends_in_softmax(rows))
    assert caught[0].filename == __file__


def test_rows_that_are_probabilities_are_warned_about_once():
    logits, head = many_rows()[0][:50], Head.from_fitted(fitted("vetoes"))
    likely = keras.ops.softmax(logits)
    with pytest.warns(UserWarning, match="Pass what the model says before softmax"):
        head(likely)
    head(likely)  # a second warning would be an error
    used = Head.from_fitted(fitted("vetoes"))
    used(logits)
    used(likely)  # the first rows were in order
    images = keras.Input((10,))
    linear = keras.Sequential([keras.Input((10,)), keras.layers.Dense(10)])
    for layer in (linear, keras.layers.Dense(10), keras.ops.log_softmax):
        Head.from_fitted(fitted("vetoes"))(layer(images))


def test_low_precision_is_refused():
    for dtype in ("float16", "bfloat16", "mixed_float16"):
        with pytest.raises(ValueError, match=f"dtype='{dtype}' is too low for a head: use one of float32, float64"):
            Head.from_fitted(fitted("vetoes"), dtype=dtype)


def test_what_is_no_fitted_head_is_refused():
    with pytest.raises(NotFittedError):
        Head.from_fitted(SPHClassifier())
    with pytest.raises(TypeError, match="dict cannot be exported: pass a fitted AutoHead"):
        Head.from_fitted({})
    with pytest.raises(TypeError, match="head is a path: load it first"):
        Head.from_fitted("head.npz")


def test_bytes_as_classes_are_refused():
    """Found in review: a loaded model had other classes in their place."""
    rows = scores()
    head = SPHClassifier().fit(rows.val_logits[:300], rows.val_labels[:300].astype("S"))
    with pytest.raises(TypeError, match="Classes that are bytes cannot be saved with a model: fit the head on strings"):
        Head.from_fitted(head)


def test_without_keras_or_its_backend_the_error_says_what_to_do():
    def error_with(code, backend):
        ran = subprocess.run(
            [sys.executable, "-c", f"import sys; {code}; import aftermax.bridges.keras"],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"KERAS_BACKEND": backend},
        )
        return ran.stderr

    assert "need keras: pip install 'aftermax[keras]'" in error_with("sys.modules['keras'] = None", "torch")
    message = error_with("sys.modules['tensorflow'] = None", "tensorflow")
    assert "Keras is there, but not its backend (tensorflow): install it, or name another" in message
