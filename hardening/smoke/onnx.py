"""An ONNX graph of a head, which onnxruntime runs, with the predictions of Python."""

import onnx

import aftermax
from aftermax.bridges.onnx import agreement, to_onnx
from aftermax.data import load_vmnist

scores = load_vmnist(trained_on=100)
for head in (
    aftermax.fit(scores.val_logits[:500], scores.val_labels[:500]),
    aftermax.SPHClassifier().fit(scores.val_logits, scores.val_labels),
):
    onnx.save(to_onnx(head), "head.onnx")
    found = agreement("head.onnx", head, scores.test_logits)
    assert found.same + found.within_rounding == found.rows == 4_000, found
