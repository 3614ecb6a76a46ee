"""A Keras model with a head after it, which predicts as the head does in Python, also from a .keras file."""

import os

os.environ["KERAS_BACKEND"] = "jax"  # the smallest backend; tests/bridges uses PyTorch

import keras
import numpy as np

import aftermax
from aftermax.bridges.keras import Head
from aftermax.data import load_vmnist

scores = load_vmnist(trained_on=100)
head = aftermax.fit(scores.val_logits[:500], scores.val_labels[:500])
shipped = keras.Sequential([keras.Input((10,)), Head.from_fitted(head, dtype="float32")])
shipped.save("shipped.keras")
for model in (shipped, keras.saving.load_model("shipped.keras")):
    predicted = head.classes_[np.argmax(model.predict(scores.test_logits, verbose=0), axis=1)]
    assert (predicted == head.predict(scores.test_logits)).mean() > 0.999  # in single precision
