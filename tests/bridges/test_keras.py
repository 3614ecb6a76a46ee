"""Keras: heads as layers against the Python head, sample by sample, in models that are saved and loaded."""

import json
import os
import subprocess
import sys
import zipfile

import keras
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from aftermax import AutoHead, SPHClassifier
from aftermax.bridges import keras as bridge
from aftermax.bridges.keras import Head
from helpers.bridge_heads import CLASS_NAMES, KINDS, fitted, inputs_of, many_samples, scores

# Keras itself converts from torch to numpy in this way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

FEW = 2_000
ON_MANY_SAMPLES = ("vetoes", "power 1.5", "combination", "features")  # the kinds with steps of their own


def as_one(inputs):
    """Inputs as Keras takes them: one array, or a list of two."""
    return inputs[0] if len(inputs) == 1 else list(inputs)


def output(head, inputs):
    return keras.ops.convert_to_numpy(head(as_one(inputs)))


def model_of(head, inputs):
    """A model of the head alone."""
    entries = as_one([keras.Input((values.shape[1],)) for values in inputs])
    return keras.Model(entries, head(entries))


def log_probabilities(model, inputs):
    return model.predict(as_one(inputs), batch_size=2_000, verbose=0)


@pytest.fixture(autouse=True)
def _forget_models():
    yield
    keras.backend.clear_session()


# ---- predictions -----------------------------------------------------------------------------------------------------


def assert_predicts_as_in_python(kind, n_samples):
    python, inputs = fitted(kind), inputs_of(kind, n_samples)
    log_proba = log_probabilities(model_of(Head.from_fitted(python), inputs), inputs)
    assert log_proba.dtype == np.float64
    np.testing.assert_array_equal(python.classes_[log_proba.argmax(axis=1)], python.predict(*inputs))
    np.testing.assert_allclose(np.exp(log_proba), python.predict_proba(*inputs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_of_any_kind_predicts_as_in_python(kind):
    assert_predicts_as_in_python(kind, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ON_MANY_SAMPLES)
def test_many_samples_are_predicted_as_in_python(kind):
    assert_predicts_as_in_python(kind, 100_000)


@pytest.mark.parametrize("kind", KINDS)
def test_in_float32_few_predictions_change(kind):
    inputs = inputs_of(kind, FEW)
    head = Head.from_fitted(fitted(kind), dtype="float32")
    log_proba = output(head, inputs)
    assert log_proba.dtype == np.float32
    assert np.mean(head.classes[log_proba.argmax(axis=1)] != fitted(kind).predict(*inputs)) < 0.002


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_logits_of_any_precision_have_the_python_heads_predictions(dtype):
    logits = keras.ops.cast(many_samples()[0][:FEW], dtype)
    expected = fitted("vetoes").predict(keras.ops.convert_to_numpy(keras.ops.cast(logits, "float64")))
    np.testing.assert_array_equal(output(Head.from_fitted(fitted("vetoes")), [logits]).argmax(axis=1), expected)


def test_the_predicted_class_has_the_largest_output_on_a_backend_without_float64(monkeypatch):
    """Found on JAX without x64: the largest log-probability was shared, and argmax took the first."""
    cast = bridge.ops.cast
    monkeypatch.setattr(
        bridge.ops, "cast", lambda value, dtype: cast(value, "float32" if dtype == "float64" else dtype)
    )
    nearly_tied = 1e-20 * np.eye(10)
    log_proba = output(Head.from_fitted(fitted("softmax")), [nearly_tied])
    assert log_proba.dtype == np.float32
    np.testing.assert_array_equal(log_proba.argmax(axis=1), np.arange(10))


def test_logits_can_be_integers():
    logits = np.round(many_samples()[0][:FEW]).astype(int)
    columns = output(Head.from_fitted(fitted("vetoes")), [logits]).argmax(axis=1)
    np.testing.assert_array_equal(columns, fitted("vetoes").predict(logits))


def test_the_dtype_policy_of_the_model_has_no_effect():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        images = keras.Input((5,))
        model = keras.Model(images, Head.from_fitted(fitted("vetoes"))(keras.layers.Dense(10)(images)))
        assert model.predict(np.ones((3, 5)), verbose=0).dtype == np.float64
    finally:
        keras.config.set_dtype_policy(before)


# ---- as a layer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vetoes", "power 1.5", "class without samples", "combination", "softmax", "features"])
def test_a_saved_and_loaded_model_predicts_the_same(kind, tmp_path):
    inputs = inputs_of(kind, FEW)
    model = model_of(Head.from_fitted(fitted(kind), name="head"), inputs)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(log_probabilities(loaded, inputs), log_probabilities(model, inputs))
    np.testing.assert_array_equal(loaded.get_layer("head").classes, fitted(kind).classes_)


def test_a_model_is_loaded_in_another_process(tmp_path):
    inputs = inputs_of("combination", 50)
    model = model_of(Head.from_fitted(fitted("combination")), inputs)
    model.save(tmp_path / "model.keras")
    np.save(tmp_path / "logits.npy", inputs[0])
    code = (
        "import keras, numpy, aftermax.bridges.keras\n"
        "model = keras.models.load_model('model.keras')\n"
        "columns = model.predict(numpy.load('logits.npy'), verbose=0).argmax(axis=1)\n"
        "print(*model.layers[-1].classes[columns])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=os.environ
    )
    assert ran.stdout.split() == fitted("combination").predict(*inputs).tolist()


def test_a_network_and_its_head_are_saved_as_one_model(tmp_path):
    images = keras.Input((10,))
    hidden = keras.layers.Dense(10, activation="tanh", kernel_initializer="identity")(images)
    logits = keras.layers.Dense(10, kernel_initializer="identity")(hidden)
    values = scores().val_logits[:600]
    parts = keras.Model(images, [logits, hidden]).predict(values, verbose=0)
    python = AutoHead(cv=2).fit(parts[0], scores().val_labels[:600], features=parts[1])
    model = keras.Model(images, Head.from_fitted(python)([logits, hidden]))
    assert model.output.shape == (None, 10)
    assert model.output.dtype == "float64"
    columns = model.predict(values, verbose=0).argmax(axis=1)
    np.testing.assert_array_equal(columns, python.predict(*parts))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(values, verbose=0).argmax(axis=1), columns)


def test_features_of_several_layers_are_a_list(tmp_path):
    images = keras.Input((10,))
    hidden = keras.layers.Dense(10, activation="tanh", kernel_initializer="identity")(images)
    deeper = keras.layers.Dense(4, activation="tanh")(hidden)
    logits = keras.layers.Dense(10, kernel_initializer="identity")(hidden)
    values = scores().val_logits[:300]
    own, *features = keras.Model(images, [logits, hidden, deeper]).predict(values, verbose=0)
    python = AutoHead(cv=2).fit(own, scores().val_labels[:300], features=features)
    layer = Head.from_fitted(python)
    model = keras.Model(images, layer([logits, [hidden, deeper]]))
    model.save(tmp_path / "model.keras")
    columns = keras.models.load_model(tmp_path / "model.keras").predict(values, verbose=0).argmax(axis=1)
    np.testing.assert_array_equal(columns, python.predict(own, features))
    np.testing.assert_array_equal(output(layer, [own, features]).argmax(axis=1), columns)
    for several, message in (([], "empty list"), ([features[0], own[0]], r"features\[1\] is of shape \(10,\)")):
        with pytest.raises(ValueError, match=message):
            layer([own, several])


def test_there_is_nothing_to_train():
    head = Head.from_fitted(fitted("vetoes"))
    assert head.trainable_weights == []
    assert len(head.non_trainable_weights) == len(head.weights) > 0
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(10), head])
    before = [keras.ops.convert_to_numpy(values) for values in head.weights]
    model.compile("sgd", lambda labels, log_proba: -keras.ops.mean(labels * keras.ops.maximum(log_proba, -30.0)))
    model.fit(many_samples()[0][:64], np.eye(10)[np.arange(64) % 10], verbose=0)
    for values, kept in zip(head.weights, before, strict=True):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(values), kept)


def test_the_config_is_json_without_the_constants():
    head = Head.from_fitted(fitted("combination"), name="after")
    text = json.dumps(head.get_config())
    assert len(text) < 5_000
    again = Head.from_config(json.loads(text))
    assert again.name == "after"
    np.testing.assert_array_equal(again.classes, CLASS_NAMES)
    assert np.isnan(output(again, inputs_of("combination", 5))).all()  # until its weights are set
    again.set_weights(head.get_weights())
    inputs = inputs_of("combination", 5)
    np.testing.assert_array_equal(output(again, inputs), output(head, inputs))


def test_the_file_holds_the_constants_only_once(tmp_path):
    head = Head.from_fitted(fitted("combination"))
    model_of(head, inputs_of("combination")).save(tmp_path / "model.keras")
    with zipfile.ZipFile(tmp_path / "model.keras") as file:
        assert file.getinfo("model.weights.h5").file_size < 1.5 * sum(8 * values.size for values in head.get_weights())


def test_the_output_shape_is_known_without_data():
    head = Head.from_fitted(fitted("features"))
    assert head.compute_output_shape([(None, 10), (None, 6)]) == (None, 10)
    spec = head.compute_output_spec([keras.KerasTensor((7, 10)), keras.KerasTensor((7, 6))])
    assert (spec.shape, spec.dtype) == ((7, 10), "float64")
    assert Head.from_fitted(fitted("vetoes")).compute_output_shape((None, 10)) == (None, 10)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_inputs_of_another_shape_are_refused():
    head, with_features = Head.from_fitted(fitted("vetoes")), Head.from_fitted(fitted("features"))
    logits, features = inputs_of("features", 20)
    for layer, wrong in ((head, logits[:, :9]), (head, logits[0]), (with_features, [logits, features[:, :3]])):
        with pytest.raises(ValueError, match="expected"):
            layer(wrong)
    for wrong in ([logits], [logits, features], [[logits, features]]):
        with pytest.raises(ValueError, match=r"fitted without features: pass only logits, head\(logits\)"):
            head(*wrong, *wrong[:1])
    for wrong in ([logits], [logits, features], [[logits]]):
        with pytest.raises(
            ValueError, match=r"with 6 features: pass logits and features, head\(\[logits, features\]\), as one list"
        ):
            with_features(*wrong)
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 10"):
        head(keras.Input((9,)))


@pytest.mark.parametrize(
    "ends_in_softmax",
    [
        lambda inputs: keras.layers.Dense(10, activation="softmax")(inputs),
        lambda inputs: keras.layers.Activation("softmax")(inputs),
        lambda inputs: keras.layers.Softmax()(inputs),
        lambda inputs: keras.ops.softmax(inputs),
        lambda inputs: keras.Sequential([keras.Input((10,)), keras.layers.Dense(10, activation="softmax")])(inputs),
    ],
)
def test_a_model_that_ends_in_softmax_gives_a_warning(ends_in_softmax):
    inputs = keras.Input((10,))
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        Head.from_fitted(fitted("vetoes"))(ends_in_softmax(inputs))
    assert caught[0].filename == __file__


def test_probabilities_give_one_warning():
    logits, head = many_samples()[0][:50], Head.from_fitted(fitted("vetoes"))
    probabilities = keras.ops.softmax(logits)
    with pytest.warns(UserWarning, match="logits look like probabilities"):
        head(probabilities)
    head(probabilities)  # a second warning would be an error
    used = Head.from_fitted(fitted("vetoes"))
    used(logits)
    used(probabilities)  # only the first batch is checked
    images = keras.Input((10,))
    linear = keras.Sequential([keras.Input((10,)), keras.layers.Dense(10)])
    for layer in (linear, keras.layers.Dense(10), keras.ops.log_softmax):
        Head.from_fitted(fitted("vetoes"))(layer(images))


def test_low_precision_is_refused():
    for dtype in ("float16", "bfloat16", "mixed_float16"):
        with pytest.raises(ValueError, match=f"dtype='{dtype}' is too low for a head: use one of float32, float64"):
            Head.from_fitted(fitted("vetoes"), dtype=dtype)


def test_objects_that_are_not_fitted_heads_are_refused():
    with pytest.raises(NotFittedError):
        Head.from_fitted(SPHClassifier())
    with pytest.raises(TypeError, match="dict cannot be exported: pass a fitted AutoHead"):
        Head.from_fitted({})
    with pytest.raises(TypeError, match="head is a path: load it first"):
        Head.from_fitted("head.npz")


def test_bytes_as_classes_are_refused():
    """Found in review: a loaded model had other classes in their place."""
    head = SPHClassifier().fit(scores().val_logits[:300], scores().val_labels[:300].astype("S"))
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
    assert "Keras is installed, but its backend (tensorflow) is not: install it, or choose another" in message
