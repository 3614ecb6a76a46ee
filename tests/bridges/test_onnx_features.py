"""Which tensor of a network is taken for the features that a head was fitted on."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_dynamic, quantize_static

from aftermax import AutoHead
from aftermax.bridges.onnx import agreement, attach
from helpers.onnx_models import run, tensor_info

rng = np.random.default_rng(0)
WEIGHTS = [rng.normal(size=shape).astype(np.float32) for shape in ((12, 16), (16, 16), (16, 4))]
SAMPLES = (3 * rng.normal(size=(1_200, 12))).astype(np.float32)
ASSUMED = r"^The features are not named, so the head takes '{}', as the layer of the logits does\."


def network(layers, *more, outputs=("logits",), weights=WEIGHTS, width=12):
    """A network of nodes written as "output operator inputs", in this order."""
    nodes = [
        helper.make_node(operator, inputs, [output]) for output, operator, *inputs in (line.split() for line in layers)
    ]
    constants = [numpy_helper.from_array(values, f"w{number}") for number, values in enumerate(weights)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", None]) for name in outputs]
    graph = helper.make_graph(nodes, "network", [tensor_info("x", "n", width)], infos, [*constants, *more])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


@pytest.fixture(scope="module")
def mlp():
    return network(
        ["a Gemm x w0", "relu_0 Relu a", "b Gemm relu_0 w1", "relu_1 Relu b", "logits Gemm relu_1 w2"],
        outputs=["logits", "relu_1", "relu_0"],
    )


@pytest.fixture(scope="module")
def hidden(mlp):
    """Logits and features of all samples."""
    outputs = run(mlp, x=SAMPLES)
    return outputs["logits"], outputs["relu_1"], outputs["relu_0"]


@pytest.fixture(scope="module")
def head(hidden):
    logits, features, _ = hidden
    labels = features[:, :4].argmax(axis=1)
    head = AutoHead(cv=2).fit(logits[:400], labels[:400], features=features[:400])
    assert head.chosen_ == "linear"
    return head


def with_only_output(model, name="logits"):
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    kept = [value for value in changed.graph.output if value.name == name]
    del changed.graph.output[:]
    changed.graph.output.extend(kept)
    return changed


def differing(model, head, hidden, samples=SAMPLES):
    counted = agreement(model, head, hidden[0], hidden[1], inputs=samples)
    return counted.differing / counted.rows


def test_the_tensor_that_feeds_the_layer_of_the_logits_is_taken_and_said(mlp, head, hidden):
    with pytest.warns(UserWarning, match=ASSUMED.format("relu_1")) as caught:
        model = attach(with_only_output(mlp), head, precision="float64")
    assert caught[0].filename == __file__
    assert "agreement(model, head, logits, features, inputs=...)" in str(caught[0].message)
    assert differing(model, head, hidden) == 0
    with pytest.warns(UserWarning, match=ASSUMED.format("relu_1")):
        attach(mlp, head, logits="logits")
    assert differing(attach(mlp, head, logits="logits", features="relu_1"), head, hidden) == 0  # and no warning


def test_a_tensor_before_the_activation_is_warned_of(mlp, head, hidden):
    with pytest.warns(UserWarning, match=r"takes 'relu_1', which is made of 'b' and .* name 'relu_1' \(") as caught:
        model = attach(with_only_output(mlp), head, features="b")
    assert caught[0].filename == __file__
    assert differing(model, head, hidden) > 0.2  # which is why


def test_tensors_of_other_layers_may_be_named(mlp, hidden):
    logits, features, first = hidden
    labels = (first[:, :4] + 0.1 * logits).argmax(axis=1)
    other = AutoHead(cv=2).fit(logits[:400], labels[:400], features=first[:400])
    model = attach(with_only_output(mlp), other, features="relu_0")
    assert agreement(model, other, logits, first, inputs=SAMPLES).differing == 0
    both = AutoHead(cv=2).fit(logits[:400], labels[:400], features=[first[:400], features[:400]])
    attach(with_only_output(mlp), both, features=["relu_0", "relu_1"])
    with pytest.warns(UserWarning, match="takes 'relu_1', which is made of 'b'"):
        attach(with_only_output(mlp), both, features=["relu_0", "b"])
    with pytest.raises(
        ValueError, match=r"with features: pass the name .* the features \(32 columns\) \(--features-from on"
    ):
        attach(with_only_output(mlp), both)


class Calibration(CalibrationDataReader):
    def __init__(self):
        self.left = [{"x": SAMPLES[:400]}]

    def get_next(self):
        return self.left.pop() if self.left else None


@pytest.fixture
def quantized(mlp, tmp_path):
    def quantize(how):
        onnx.save(with_only_output(mlp), tmp_path / "network.onnx")
        files = tmp_path / "network.onnx", tmp_path / "quantized.onnx"
        if how == "dynamic":
            quantize_dynamic(*files)
        else:
            quantize_static(*files, Calibration(), quant_format=how)
        return onnx.load(files[1])

    return quantize


def test_after_static_quantization_the_tensor_behind_it_is_taken(quantized, head, hidden):
    """onnxruntime takes the Relu out: the tensor of its name has negative values, which only quantizing cuts."""
    model = quantized(QuantFormat.QDQ)
    assert "Relu" not in {node.op_type for node in model.graph.node}
    with pytest.warns(UserWarning, match=ASSUMED.format("relu_1_DequantizeLinear_Output")):
        right = attach(model, head)
    with pytest.warns(UserWarning, match="takes 'relu_1_DequantizeLinear_Output', which is made of 'relu_1'"):
        wrong = attach(model, head, features="relu_1")
    assert differing(right, head, hidden) < 0.12 < differing(wrong, head, hidden)


def test_after_dynamic_quantization_the_tensor_is_found_as_before(quantized, head):
    with pytest.warns(UserWarning, match=ASSUMED.format("relu_1")):
        attach(quantized("dynamic"), head)


def test_a_tensor_of_integers_is_not_taken(quantized, head):
    with pytest.raises(ValueError, match=r"^This head was fitted with features: pass the name"):
        attach(quantized(QuantFormat.QOperator), head)


def test_weights_are_never_listed(quantized, head):
    """Not even those that a quantized network computes; here of as many columns as the features."""
    model = quantized(QuantFormat.QDQ)
    model.graph.output.append(helper.make_tensor_value_info("relu_1", TensorProto.FLOAT, ["n", 16]))
    assert any(node.output[0].startswith("w1_Dequantize") for node in model.graph.node)
    with pytest.raises(ValueError, match=r"the features \(16 columns, such as 'relu_1_Deq") as error:
        attach(model, head)
    assert "w1" not in str(error.value)
    with pytest.raises(ValueError, match="no tensor named 'w1_DequantizeLinear_Output' for the features"):
        attach(model, head, logits="logits", features="w1_DequantizeLinear_Output")


@pytest.mark.parametrize(
    ("layers", "taken"),
    [
        (["h Tanh x", "logits MatMul h w"], "h"),
        (["h Tanh x", "p MatMul h w", "s Shape p", "logits Reshape p s"], "h"),
        (["h Tanh x", "p MatMul h w", "q Identity p", "logits Add q p"], "h"),
        (["h Tanh x", "d Dropout h", "t Identity w", "p MatMul d t", "logits Div p two"], "d"),
        (["h Tanh x", "g Sigmoid x", "m Mul h g", "logits MatMul m w"], "m"),
        (["h Tanh x", "g Sigmoid x", "p MatMul h w", "q MatMul g w", "logits Add p q"], "x"),
        (["logits MatMul x w"], "x"),
    ],
)
def test_the_layer_is_found_behind_what_follows_it(layers, taken):
    more = [numpy_helper.from_array(WEIGHTS[2][:10].repeat(3, axis=1)[:, :10].copy(), "w")]
    more.append(numpy_helper.from_array(np.array(2, dtype=np.float32), "two"))
    logits = 3 * np.random.default_rng(0).normal(size=(200, 10))
    head = AutoHead(cv=2).fit(logits, logits.argmax(axis=1), features=logits)
    with pytest.warns(UserWarning, match=ASSUMED.format(taken)):
        attach(network(layers, *more, weights=[], width=10), head)


@pytest.mark.parametrize("layers", [["h Tanh x", "r Relu h", "logits Sub r two"], ["s MatMul x x", "logits Relu s"]])
def test_a_network_without_a_layer_has_no_features_to_take(layers, head):
    two = numpy_helper.from_array(np.array(2, dtype=np.float32), "two")
    with pytest.raises(ValueError, match="pass the name of the tensor with the features"):
        attach(network(layers, two, weights=[], width=4), head)
