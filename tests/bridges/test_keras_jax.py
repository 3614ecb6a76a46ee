"""Keras on JAX, which has no float64 unless it is told to, in a process of its own."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("jax", reason="pip install jax: it is no part of the extra dev, as it warns of every fork")

PREDICT = """
import warnings
import numpy as np, keras
from aftermax import SPHClassifier
from aftermax.bridges.keras import Head
from aftermax.data import load_vmnist
scores = load_vmnist(trained_on=500)
fitted = SPHClassifier().fit(scores.val_logits[:600], scores.val_labels[:600])
logits = scores.test_logits[:500]
layer = Head.from_fitted(fitted)
out = np.asarray(layer(logits))
print(out.dtype, (layer.classes[out.argmax(axis=1)] == fitted.predict(logits)).sum())
entry = keras.Input((10,))
model = keras.Model(entry, layer(entry))
model.save("model.keras")
loaded = keras.models.load_model("model.keras")
same = np.asarray(loaded(logits)) == np.asarray(model(logits))
dtypes = [one.get_config()["dtype"]["config"]["name"] for one in (layer, loaded.layers[-1])]
print(same.all(), *dtypes)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("x64", "dtype", "least"), [("0", "float32", 498), ("1", "float64", 500)])
def test_predictions_without_float64_are_in_float32_and_nothing_warns(x64, dtype, least, tmp_path):
    environment = os.environ | {"KERAS_BACKEND": "jax", "JAX_ENABLE_X64": x64}
    command = [sys.executable, "-W", "error::UserWarning", "-c", PREDICT]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.split()[0] == dtype
    assert int(first.split()[1]) >= least
    assert second == "True float64 float64"
