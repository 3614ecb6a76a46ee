"""Which tensors of a network can be a head's inputs, and how the others are refused."""

import numpy as np
import pytest
from onnx import helper

from aftermax import AutoHead
from aftermax.bridges.onnx import attach
from helpers.onnx_models import small_network, tensor_info
from helpers.samples import make_samples


def test_tensors_that_do_not_fit_are_refused(sph):
    network = small_network(np.eye(10), ends_in=["Relu"])
    with pytest.raises(
        ValueError, match=r"no tensor named 'y' for the logits. Its outputs are 'end0'.*'logits', 'x'\."
    ):
        attach(network, sph, logits="y")
    with pytest.raises(
        ValueError, match=r"'logits' is float of shape \(n, 7\): it has 7 columns, .* logits with 10 columns"
    ):
        attach(small_network(np.ones((10, 7))), sph)
    with pytest.raises(ValueError, match="fitted without features: pass only the name of the logits"):
        attach(network, sph, features="x")
    two = small_network(np.eye(10), ends_in=["Relu"])
    two.graph.output.append(tensor_info("logits", "n", 10))
    with pytest.raises(
        ValueError, match=r"has 2 outputs: pass the name of the tensor with the logits \('end0' is float of sha"
    ):
        attach(two, sph)
    others = small_network(np.eye(10))
    others.graph.node.append(helper.make_node("ArgMax", ["logits"], ["column"], axis=1))
    with pytest.raises(
        ValueError, match=r"'column' is int64 of shape \(n, 1\): logits must be a floating-point tensor"
    ):
        attach(others, sph, logits="column")
    others.graph.node.append(helper.make_node("SequenceConstruct", ["logits"], ["list"]))
    with pytest.raises(ValueError, match="'list' is a sequence: logits must be a floating-point tensor"):
        attach(others, sph, logits="list")


def test_features_that_do_not_fit_are_refused():
    logits, labels = make_samples(n_classes=10)
    head = AutoHead(alpha=0.0, cv=2).fit(logits, labels, features=logits[:, :4])
    with pytest.raises(
        ValueError,
        match=r"^This head was fitted with features: pass the name of .* features \(4 columns\) \(--features-from on",
    ):
        attach(small_network(np.eye(10)), head)
    with pytest.raises(
        ValueError, match=r"'x' is float of shape \(n, 10\): it has 10 columns, .* features with 4 columns"
    ):
        attach(small_network(np.eye(10)), head, features="x")
    with pytest.raises(ValueError, match="no tensor named 'pool' for the features"):
        attach(small_network(np.eye(10)), head, features="pool")


def test_names_of_logits_and_features_are_asked_for_at_once():
    logits, labels = make_samples(n_classes=10)
    head = AutoHead(alpha=0.0, cv=2).fit(logits, labels, features=logits)
    network = small_network(np.eye(10), ends_in=["Relu", "Neg"])
    network.graph.output.append(tensor_info("logits", "n", 10))
    with pytest.raises(ValueError, match=r"^The network has 2 outputs and this head was fitted with features") as error:
        attach(network, head)
    assert str(error.value).endswith(
        ": pass the name of the tensor with the logits ('end1' is float of shape (n, 10), 'logits' is float of shape "
        "(n, 10)) and the name of the tensor with the features (10 columns, such as 'end1', 'end0', 'logits', 'x') "
        "(--logits-from and --features-from on the command line)."
    )
    with pytest.warns(UserWarning, match="The features are not named, so the head takes 'x'"):
        attach(network, head, logits="logits")
    attach(network, head, logits="logits", features="end0")
