"""The state_dict of a head as a PyTorch module: saved, loaded, and refused."""

import copy
import io
import json

import numpy as np
import pytest
import torch
from torch import nn

from aftermax import SPHClassifier
from aftermax.bridges.torch import Head
from helpers.bridge_heads import CLASS_NAMES, fitted, inputs_of, scores


def test_a_state_dict_holds_the_whole_head_as_tensors_only():
    kinds = (("vetoes", "power 1.5"), ("power 0", "power 4"), ("combination", "combination"), ("softmax", "softmax"))
    for source, target in ((fitted(one), fitted(other)) for one, other in kinds):
        file = io.BytesIO()
        state = Head.from_fitted(source).state_dict()
        assert all(isinstance(value, torch.Tensor) for value in state.values())  # as safetensors needs them
        torch.save(state, file)
        file.seek(0)
        head = Head.from_fitted(target)
        head.load_state_dict(torch.load(file, weights_only=True))
        (logits,) = inputs_of("vetoes", 2_000)
        columns = head(torch.from_numpy(logits)).argmax(dim=1)
        np.testing.assert_array_equal(head.classes[columns], source.predict(logits))


@pytest.mark.parametrize(
    "classes",
    [
        CLASS_NAMES,
        CLASS_NAMES.astype(object),
        np.array([1, 2, 3, "four", "five", 6, 7, 8, 9, 10], dtype=object),
        np.arange(10, dtype=np.uint8),
        np.arange(10) / 4,
    ],
)
def test_the_classes_are_loaded_with_their_dtype(classes):
    source, head = (Head.from_fitted(fitted("vetoes")) for _ in range(2))
    source.classes = classes
    head.load_state_dict(source.state_dict())
    assert head.classes.dtype == classes.dtype
    assert head.classes.tolist() == classes.tolist()


def test_classes_in_a_state_dict_can_be_booleans_but_not_bytes():
    logits = scores().val_logits[:600, :2]
    labels = logits[:, 1] > logits[:, 0] + np.cos(np.arange(600))
    source, head = (Head.from_fitted(SPHClassifier().fit(logits, values)) for values in (labels, 1 * labels))
    head.load_state_dict(source.state_dict())
    assert head.classes.dtype == bool
    head.classes = np.array([b"no", b"yes"])
    with pytest.raises(TypeError, match="Classes such as b'no' cannot be in a state_dict: fit the head on strings"):
        head.state_dict()


def test_a_state_dict_of_another_head_is_refused_as_a_whole():
    head = nn.Sequential(nn.Identity(), Head.from_fitted(fitted("combination")))
    other = nn.Sequential(nn.Identity(), Head.from_fitted(fitted("vetoes")))
    before = copy.deepcopy(head.state_dict())
    message = (
        r"of another head \('biases' is in only one of the two\): build the module with Head.from_fitted\(aftermax.lo"
    )
    for strict in (True, False):
        with pytest.raises(RuntimeError, match=message):
            head.load_state_dict(other.state_dict(), strict=strict)
    narrow = {name: value[:, :7] if value.ndim == 2 else value for name, value in before.items()}
    with pytest.raises(RuntimeError, match=r"has shape \(10, 7\) in the state_dict and \(10, 10\) in the module"):
        head.load_state_dict(narrow)
    assert all(torch.equal(value, before[name]) for name, value in head.state_dict().items())
    head.load_state_dict({}, strict=False)  # a network's own, without the head
    with pytest.raises(RuntimeError, match="Missing key"):
        head.load_state_dict({})


def test_a_damaged_state_dict_is_refused_before_anything_is_loaded():
    head = Head.from_fitted(fitted("vetoes"))
    state = Head.from_fitted(fitted("power 1.5")).state_dict()
    content = json.loads(bytes(state["_extra_state"].numpy()))
    center = head.center.clone()

    def as_bytes(value):
        return torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)

    wrong = {
        "it is not a tensor of bytes": [content, torch.zeros(3), None],
        "Expecting value": [torch.zeros(0, dtype=torch.uint8)],
        "it is missing": [as_bytes(3)],
        "it has missing or unknown fields: 'width'": [as_bytes({k: v for k, v in content.items() if k != "width"})],
        "its plan is for other constants": [as_bytes(content | {"plan": content["plan"] | {"kind": "softmax"}})],
        "its power is 'x'": [as_bytes(content | {"plan": content["plan"] | {"power": "x"}})],
        "its classes is not a list of 10": [as_bytes(content | {"classes": [1, 2]})],
        "its classes are not of the stated dtype": [
            as_bytes(content | {"dtype": dtype}) for dtype in ("?", "<M8[s]", "S1", "i4,i4", 3)
        ],
        "the number of features is 0": [as_bytes(content | {"width": 0})],
    }
    for reason, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=rf"_extra_state does not fit this head \({reason}.*: build the mod"):
                head.load_state_dict(state | {"_extra_state": value})
    assert torch.equal(head.center, center)
