"""Whether a layer returns the logits: the same for collect_logits and Head.onto, whatever the first batch.

The networks have hidden layers as wide as there are classes, so that no width tells a layer's input from its output.
"""

import numpy as np
import pytest
import torch
from torch import nn

from aftermax import AutoHead
from aftermax.bridges.torch import Head, collect_logits
from helpers.samples import make_samples

WIDTH = 6


class Square(nn.Module):
    """Two linear layers of the same width, and what becomes of the logits."""

    def __init__(self, returned=lambda logits: logits, bias=True):
        super().__init__()
        torch.manual_seed(0)
        self.hidden, self.fc = nn.Linear(WIDTH, WIDTH, bias=bias), nn.Linear(WIDTH, WIDTH, bias=bias)
        self.relu = nn.ReLU()
        self.returned = returned

    def forward(self, values):
        return self.returned(self.fc(self.relu(self.hidden(values))))


def add_in_place(logits):
    logits += 1
    return logits


def clamp(logits):
    return logits.clamp(-0.5, 0.5)


SAME = {
    "itself": lambda logits: logits,
    "dictionary": lambda logits: {"logits": logits},
    "view": lambda logits: logits.view(-1, WIDTH),
    "reshaped": lambda logits: logits.reshape(-1, 2, WIDTH // 2).flatten(1),
    "slice": lambda logits: logits[:, :],
    "in place": add_in_place,
    "clamped in place": lambda logits: logits.clamp_(-0.5, 0.5),
}
COPIES = {"clone": torch.clone, "times 1": lambda logits: logits * 1, "double": lambda logits: logits.double()}
OTHERS = {"clamp": clamp, "relu": torch.relu, "plus 1": lambda logits: logits + 1}


@pytest.fixture(scope="module")
def head():
    """A head for as many features as logits; what it was fitted on does not matter here."""
    logits, labels = make_samples(n_classes=WIDTH)
    fitted = AutoHead(cv=2).fit(logits, labels, features=make_samples(seed=5, n_classes=WIDTH, labels=labels)[0])
    assert fitted.chosen_ in ("linear", "combination")
    return fitted


@pytest.fixture
def values():
    return torch.randn(200, WIDTH, generator=torch.Generator().manual_seed(1))


def expected_of(head, network, values, layer):
    found = collect_logits(network, [values], layer=layer)
    return head.predict_proba(found.logits, features=found.features)


def assert_predicts(shipped, head, network, values, layer):
    expected = expected_of(head, network, values, layer)
    np.testing.assert_allclose(shipped(values).exp().detach(), expected, atol=1e-5)


def unclamped(network, values):
    """The samples whose logits a clamp does not change."""
    logits = network.fc(network.relu(network.hidden(values)))
    return values[(logits == clamp(logits)).all(dim=1)]


def with_nan(values):
    changed = values.clone()
    changed[3, 2] = torch.nan
    return changed


# ---- what is decided -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("returned", (SAME | COPIES).values(), ids=SAME | COPIES)
def test_the_features_of_the_layer_whose_output_is_returned_are_its_input(returned, values):
    network = Square(returned)
    hidden = network.relu(network.hidden(values)).detach()
    np.testing.assert_allclose(collect_logits(network, [values], layer="fc").features, hidden, atol=1e-6)


@pytest.mark.parametrize("returned", OTHERS.values(), ids=OTHERS)
def test_a_layer_whose_output_is_changed_to_new_values_is_not_the_one_that_returns_the_logits(returned, values):
    network = Square(returned)
    output = network.fc(network.relu(network.hidden(values))).detach()
    np.testing.assert_allclose(collect_logits(network, [values], layer="fc").features, output, atol=1e-6)


def test_a_convolution_whose_output_is_flattened_returns_the_logits():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 4, 1), nn.Flatten())
    images = torch.randn(5, 3, 6, 6)
    for model in (network, nn.Sequential(*network, Copy())):
        found = collect_logits(model, [images], layer="2").features
        np.testing.assert_allclose(found, network[:2](images).flatten(1).detach(), atol=1e-6)


class Copy(nn.Module):
    def forward(self, logits):
        return logits.clone()


@pytest.mark.parametrize("first", ["nan", "zeros", "one"])
@pytest.mark.parametrize("layer", ["hidden", "relu", "fc"])
@pytest.mark.parametrize("returned", (SAME | COPIES | OTHERS).values(), ids=SAME | COPIES | OTHERS)
def test_predictions_do_not_depend_on_the_first_batch(returned, layer, first, head, values):
    network = Square(returned, bias=first != "zeros")  # without biases, all is zero
    shipped = Head.onto(network, head, layer=layer)
    batches = {"nan": with_nan(values[:10]), "zeros": torch.zeros(1, WIDTH), "one": values[:1]}
    shipped(batches[first])
    assert_predicts(shipped, head, network, values, layer)


@pytest.mark.parametrize("returned", [SAME["itself"], torch.clone], ids=["itself", "clone"])
def test_a_sample_with_nan_leaves_the_others_of_its_batch_as_they_are(returned, head, values):
    network = Square(returned)
    found = Head.onto(network, head, layer="fc")(with_nan(values)).exp().detach().numpy()
    assert np.isnan(found[3]).all()
    np.testing.assert_allclose(np.delete(found, 3, 0), np.delete(expected_of(head, network, values, "fc"), 3, 0))


def test_a_network_under_autocast_that_returns_single_precision_is_understood(head, values):
    network = Square(lambda logits: logits.float())
    shipped = Head.onto(network, head, layer="fc")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        shipped(values[:5])
    assert_predicts(shipped, head, network, values, "fc")


@pytest.mark.parametrize("bias", [True, False])
def test_compiled_and_called_a_layer_is_understood_alike(bias, head, values):
    network = Square(add_in_place, bias)
    shipped = Head.onto(network, head, layer="fc")
    torch.compiler.reset()
    compiled = torch.compile(shipped, fullgraph=True, backend="eager")
    shipped(values[:1])
    torch.testing.assert_close(compiled(values), shipped(values))


def test_zeros_do_not_decide_whether_a_copy_is_of_the_layer(head, values):
    shipped = Head.onto(Square(torch.clone, bias=False), head, layer="fc")
    shipped(torch.zeros(1, WIDTH))
    with pytest.raises(ValueError, match=r"decided on the first batch: call the model on one .*A batch of zeros, or"):
        torch.export.export(shipped, (values,))
    shipped(values)
    torch.testing.assert_close(torch.export.export(shipped, (values,)).module()(values), shipped(values))


def test_the_width_of_the_head_decides_where_a_batch_does_not(values):
    """The clamp leaves the first batch alone, and the head was fitted on what the layer returns."""
    network = Square(clamp)
    network.hidden, network.fc = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
    found = collect_logits(network, [values], layer="fc")
    head = AutoHead(cv=2).fit(found.logits, make_samples(n_samples=200, n_classes=WIDTH)[1], features=found.features)
    shipped = Head.onto(network, head, layer="fc")
    shipped(unclamped(network, values)[:1])
    assert_predicts(shipped, head, network, values, "fc")


# ---- batches that contradict each other ------------------------------------------------------------------------------


def test_a_batch_that_shows_a_difference_is_refused_once_and_then_decides(head, values):
    network = Square(clamp)
    shipped = Head.onto(network, head, layer="fc")
    shipped(unclamped(network, values)[:1])
    with pytest.raises(
        ValueError, match=r"Layer 'fc' does not return the logits, as this batch shows, .* Run these ba"
    ):
        shipped(values)
    assert_predicts(shipped, head, network, values, "fc")


def test_a_difference_decides_for_later_batches_without_one(head, values):
    network = Square(clamp)
    shipped = Head.onto(network, head, layer="fc")
    shipped(values)
    few = unclamped(network, values)
    output = network.fc(network.relu(network.hidden(few))).detach().numpy()
    assert len(few) > 1
    expected = head.predict_proba(output, features=output)
    np.testing.assert_allclose(shipped(few).exp().detach(), expected, atol=1e-5)


def test_collecting_stops_at_a_batch_that_contradicts_those_before(values):
    network = Square(clamp)
    few = unclamped(network, values)
    with pytest.raises(ValueError, match=r"Layer 'fc' does not return the logits, .* with this one first, or with all"):
        collect_logits(network, [few, values], layer="fc")
    assert collect_logits(network, [values, few], layer="fc").features.shape == (200 + len(few), WIDTH)


# ---- names -----------------------------------------------------------------------------------------------------------


class Shared(Square):
    """Its hidden layer has two names."""

    def __init__(self):
        super().__init__()
        self.alias = self.hidden

    def forward(self, values):
        return self.fc(self.relu(self.alias(values)))


@pytest.mark.parametrize("layer", ["hidden", "alias"])
def test_a_layer_with_two_names_is_known_by_both(layer, head, values):
    network = Shared()
    expected = network.hidden(values).detach()
    np.testing.assert_allclose(collect_logits(network, [values], layer=layer).features, expected, atol=1e-6)
    assert_predicts(Head.onto(network, head, layer=layer), head, network, values, layer)
