"""How agreement between an ONNX model and the Python head is counted."""

import subprocess
import sys

import numpy as np
import pytest
from onnx import numpy_helper

from aftermax import SPHClassifier
from aftermax.bridges.onnx import Agreement, agreement, attach, to_onnx
from helpers.onnx_models import small_network
from helpers.samples import make_samples


def halfway(head, one, other):
    """Samples between one and the other, as near to where the prediction changes as float64 allows."""
    for _ in range(60):
        middle = (one + other) / 2
        changed = head.predict(middle) != head.predict(one)
        one, other = np.where(changed[:, None], one, middle), np.where(changed[:, None], middle, other)
    return one


@pytest.mark.parametrize("kind", ["sph", "combination"])
def test_samples_within_rounding_of_another_class_are_counted(request, kind, logits):
    """For each of these samples, the Python head's own prediction changes with the next number that float64 has."""
    head = request.getfixturevalue(kind)
    one, other = logits[:400].astype(np.float64), logits[400:800].astype(np.float64)
    edge = halfway(head, one, other)[head.predict(one) != head.predict(other)]
    for precision in ("float32", "float64"):  # the inputs are float32
        counted = agreement(to_onnx(head, precision=precision), head, edge)
        assert counted.differing == 0
        assert len(edge) / 5 < counted.within_rounding < len(edge)
        assert counted.same == counted.rows - counted.within_rounding
        assert counted.largest_difference < 1e-3
        assert (counted.at_threshold > 0) == (kind == "sph")


def test_another_head_does_not_agree(sph, combination, logits):
    counted = agreement(to_onnx(combination), sph, logits)
    assert counted.differing > 20
    assert counted.differing + counted.within_rounding == np.sum(sph.predict(logits) != combination.predict(logits))
    assert counted.largest_difference > 0.1


def test_a_model_that_returns_nan_does_not_agree(sph, logits):
    model = to_onnx(sph)
    temperature = next(tensor for tensor in model.graph.initializer if tensor.name.endswith("temperature"))
    temperature.CopyFrom(numpy_helper.from_array(np.array(np.nan, dtype=np.float32), temperature.name))
    counted = agreement(model, sph, logits[:50])
    assert not counted.largest_difference <= 1e-3


def test_the_printed_summary():
    counts = Agreement(20_000, 19_997, 2, 1, 0, 1.23e-5)
    assert str(counts) == (
        "19,997 of 20,000 samples have the Python head's prediction; of the other 3, 2 are within rounding. "
        "Probabilities differ by at most 1e-05."
    )
    assert str(counts._replace(at_threshold=3)).endswith(
        "by at most 1e-05, except for 3 at a threshold such as SPH's gate."
    )
    assert str(Agreement(5, 5, 0, 0, 0, 0.0)).startswith("5 of 5 samples have the Python head's prediction. Prob")


def test_a_network_with_a_fixed_batch_size(sph, logits):
    model = attach(small_network(np.eye(10), n_samples=4), sph)
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_value == 4
    assert agreement(model, sph, logits[:400], inputs=logits[:400]).same == 400
    with pytest.raises(ValueError, match="fixed batch size of 4, and there are 7 samples: pass a multiple of 4"):
        agreement(model, sph, logits[:7], inputs=logits[:7])


def test_models_heads_and_samples_that_do_not_belong_together_are_refused(sph, logits):
    model = to_onnx(sph)
    with pytest.raises(ValueError, match="returns 10 probabilities and the head 5: pass the head that the model"):
        agreement(model, SPHClassifier().fit(*make_samples()), make_samples()[0][:, :5], inputs=logits[:400])
    with pytest.raises(ValueError, match="Input 'logits' has 3 samples and logits have 5: pass the same samples"):
        agreement(model, sph, logits[:5], inputs={"logits": logits[:3]})
    with pytest.raises(ValueError, match="inputs are 'logits', got 'x': for a head that is attached to a network"):
        agreement(model, sph, logits[:5], inputs={"x": logits[:5]})
    with pytest.raises(ValueError, match="logits contain NaN"):
        agreement(model, sph, np.full((2, 10), np.nan))
    del model.graph.output[0]
    with pytest.raises(ValueError, match="The model has no output 'label': pass a model from to_onnx or attach"):
        agreement(model, sph, logits[:5])


def test_without_onnxruntime_models_are_written_and_the_error_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['onnxruntime'] = None\n"
        "from aftermax import SPHClassifier\n"
        "from aftermax.bridges.onnx import agreement, to_onnx\n"
        "from aftermax.data import load_vmnist\n"
        "scores = load_vmnist(trained_on=500)\n"
        "head = SPHClassifier().fit(scores.val_logits, scores.val_labels)\n"
        "to_onnx(head, 'head.onnx')\n"
        "agreement('head.onnx', head, scores.test_logits)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    message = "ImportError: Running ONNX models needs onnxruntime: pip install 'aftermax[onnx]'"
    assert done.stderr.strip().endswith(message)
    assert (tmp_path / "head.onnx").exists()
