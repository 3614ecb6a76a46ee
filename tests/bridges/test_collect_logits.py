"""collect_logits: a real network's logits, features and labels in step, and the network as it was before."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from aftermax import AutoHead
from aftermax.bridges.torch import Collected, Head, collect_logits
from helpers.terminal import Terminal

TRAINED_ON = 300


class Network(nn.Module):
    """With dropout and batch normalisation, which answer otherwise in training; the last layer's name is fc."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten())
        self.hidden = nn.Linear(288, 32)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(32, 10)

    def forward(self, images):
        return self.fc(self.drop(torch.relu_(self.hidden(self.body(images)))))


@pytest.fixture(scope="module")
def digits():
    images, labels = load_digits(return_X_y=True)
    return torch.from_numpy(images.reshape(-1, 1, 8, 8) / 16).float(), torch.from_numpy(labels)


@pytest.fixture(scope="module")
def trained(digits):
    torch.manual_seed(0)
    network = Network()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    images, labels = (values[:TRAINED_ON] for values in digits)
    for _ in range(25):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        optimiser.step()
    return network


@pytest.fixture
def network(trained):
    return trained.train()


@pytest.fixture(scope="module")
def unseen(digits):
    return tuple(values[TRAINED_ON:] for values in digits)


@pytest.fixture(scope="module")
def expected(trained, unseen):
    """Logits and last hidden layer by hand."""
    trained.eval()
    with torch.no_grad():
        hidden = trained.hidden(trained.body(unseen[0])).relu()
        return trained.fc(hidden).numpy(), hidden.numpy()


def loader(*values, **options):
    return DataLoader(TensorDataset(*values), batch_size=128, **options)


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


# ---- what is collected -----------------------------------------------------------------------------------------------


def test_from_a_model_to_a_head_on_top_of_it(network, unseen, expected):
    rows = collect_logits(network, loader(*unseen))
    close(rows.logits, expected[0])
    assert rows.logits.dtype == np.float32
    np.testing.assert_array_equal(rows.labels, unseen[1])
    assert rows.features is None
    head = AutoHead(cv=2).fit(rows.logits[:500], rows.labels[:500])
    shipped = nn.Sequential(network.eval(), Head.from_fitted(head))
    with torch.inference_mode():
        answers = shipped(unseen[0]).argmax(dim=1).numpy()
    assert np.mean(answers == head.predict(rows.logits)) > 0.999  # batches of another size are rounded otherwise


def test_labels_stay_in_step_when_the_loader_shuffles(network, unseen):
    plain, shuffled = (collect_logits(network, loader(*unseen, shuffle=shuffle)) for shuffle in (False, True))
    assert not np.array_equal(plain.labels, shuffled.labels)
    for label in range(10):
        one, other = (np.sort(rows.logits[rows.labels == label], axis=0) for rows in (plain, shuffled))
        close(one, other)


def test_rows_without_labels_are_collected_too(network, unseen, expected):
    for batches in (loader(unseen[0]), unseen[0].split(500), [unseen[0].numpy()]):
        rows = collect_logits(network, batches)
        close(rows.logits, expected[0])
        assert rows.labels is None


def test_labels_may_be_words_and_a_column(network, unseen):
    words = np.array([f"digit {label}" for label in unseen[1]])
    batches = [(unseen[0][:700], tuple(words[:700])), (unseen[0][700:], list(words[700:]))]
    np.testing.assert_array_equal(collect_logits(network, batches).labels, words)
    np.testing.assert_array_equal(collect_logits(network, loader(unseen[0], unseen[1][:, None])).labels, unseen[1])


def test_features_are_what_a_layer_gives(network, unseen, expected):
    rows = collect_logits(network, loader(*unseen), layer="drop")
    close(rows.features, expected[1])
    assert collect_logits(network, loader(*unseen), layer="body.0").features.shape == (len(unseen[1]), 8 * 6 * 6)


def test_features_of_the_last_layer_are_what_it_takes(network, unseen, expected):
    close(collect_logits(network, loader(*unseen), layer="fc").features, expected[1])


def test_features_are_taken_before_the_next_layer_works_in_place(network, unseen):
    features = collect_logits(network, loader(*unseen), layer="hidden").features
    assert (features < 0).any()


def test_double_precision_is_kept_and_half_becomes_float32(unseen):
    images = unseen[0].flatten(1)
    for given, kept in ((torch.float64, np.float64), (torch.bfloat16, np.float32), (torch.float16, np.float32)):
        network = nn.Sequential(nn.Linear(64, 5), nn.Linear(5, 10)).to(given)
        rows = collect_logits(network, loader(images.to(given)), layer="1")
        assert rows.logits.dtype == rows.features.dtype == kept


# ---- models and batches as they come ---------------------------------------------------------------------------------


@dataclass
class Output:
    logits: torch.Tensor


class Wrapped(nn.Module):
    """Takes and gives as Hugging Face's models do."""

    def __init__(self, network, output=Output):
        super().__init__()
        self.network, self.output = network, output

    def forward(self, pixel_values, scale=1.0):
        return self.output(self.network(pixel_values * scale))


def test_models_and_batches_in_the_manner_of_hugging_face(network, unseen, expected):
    images, labels = unseen
    for name in ("labels", "label"):
        batches = [{"pixel_values": images / 2, "scale": torch.tensor(2.0), name: labels}]
        for output in (Output, lambda logits: {"logits": logits}):
            rows = collect_logits(Wrapped(network, output), batches)
            close(rows.logits, expected[0])
            np.testing.assert_array_equal(rows.labels, labels)
    close(collect_logits(network, [{"image": images, "label": labels}]).logits, expected[0])  # whatever its name


def test_several_inputs_are_several_arguments(network, unseen, expected):
    rows = collect_logits(Wrapped(network), [((unseen[0] / 2, torch.tensor(2.0)), unseen[1])])
    close(rows.logits, expected[0])


def test_inputs_go_where_the_model_is(network):
    """The meta device computes nothing, but it knows what is there and what is not."""
    moved = []

    class Spy(nn.Module):
        def __init__(self, *values):
            super().__init__()
            self.values = nn.ParameterList(values)

        def forward(self, images):
            moved.append(images.device.type)
            return torch.zeros(len(images), 3)

    collect_logits(Spy(nn.Parameter(torch.zeros(1, device="meta"))), [torch.zeros(4, 2)])
    collect_logits(Spy(), [torch.zeros(4, 2)], device="meta")
    collect_logits(Spy(), [torch.zeros(4, 2)])
    assert moved == ["meta", "meta", "cpu"]


class Stream(IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return zip(*self.values, strict=True)


def test_a_loader_needs_no_length(network, unseen, expected, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    for batches in (DataLoader(Stream(*unseen), batch_size=256), iter(loader(*unseen))):
        close(collect_logits(network, batches, progress=True).logits, expected[0])
    assert "Running the model: 1 done" in sys.stderr.getvalue()


def test_a_progress_bar_is_shown_when_asked_for(network, unseen, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    collect_logits(network, loader(*unseen))
    assert not sys.stderr.getvalue()
    collect_logits(network, loader(*unseen), progress=True)
    assert "Running the model ━" in sys.stderr.getvalue()


# ---- the model as it was before --------------------------------------------------------------------------------------


def state_of(network):
    return {name: values.clone() for name, values in network.state_dict().items()}


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_is_as_it_was_also_after_an_error(network, unseen, fails):
    network.body[1].eval()  # a frozen normalisation in a model that is trained
    modes = [module.training for module in network.modules()]
    assert True in modes
    assert False in modes
    before = state_of(network)
    batches = [*loader(*unseen), *([torch.zeros(3, 4)] if fails else [])]
    if fails:
        with pytest.raises(RuntimeError):
            collect_logits(network, batches, layer="fc")
    else:
        collect_logits(network, batches, layer="fc")
    assert [module.training for module in network.modules()] == modes
    assert all(torch.equal(values, before[name]) for name, values in network.state_dict().items())
    assert not network.fc._forward_hooks
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


# ---- what is refused -------------------------------------------------------------------------------------------------


def gives(output):
    """A model that says this of any two rows."""

    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.twice, self.never, self.pair = nn.Identity(), nn.Identity(), nn.LSTM(4, 3)

        def forward(self, values):
            self.twice(self.twice(values))
            self.pair(values)
            return output

    return Constant()


def test_a_model_that_ends_in_softmax_is_warned_about(network, unseen):
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        collect_logits(nn.Sequential(network, nn.Softmax(dim=1)), loader(*unseen))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        (torch.zeros(2, 7, 3), ValueError, r"logits of shape \(2, 7, 3\).*one row for each labelled thing"),
        (torch.zeros(2), ValueError, r"logits of shape \(2,\).*torch.stack\(\[-z / 2, z / 2\], dim=1\)"),
        (torch.zeros(2, 1), ValueError, "logits have 1 column"),
        ((torch.zeros(2, 3), None), TypeError, "returned a tuple: wrap it in a module that returns its logits"),
        (torch.zeros(3, 3), ValueError, r"Batch 0 has labels of shape \(2,\) but 3 rows of logits: pass one for each"),
    ],
)
def test_outputs_that_are_no_logits_are_refused(output, error, message):
    with pytest.raises(error, match=message):
        collect_logits(gives(output), [(torch.zeros(2, 4), torch.zeros(2))])


@pytest.mark.parametrize(
    ("batches", "error", "message"),
    [
        ([], ValueError, "The loader gave no batches"),
        ([torch.zeros(0, 4)], ValueError, "logits have no rows"),
        ([(torch.zeros(2, 4), [1, 2], "more")], TypeError, "Batch 0 is a tuple of 3: .*for x, y, _ in loader"),
        (["text"], TypeError, "Batch 0 is a str"),
        ([(torch.zeros(2, 4), torch.eye(2))], ValueError, r"labels of shape \(2, 2\).*labels.argmax\(dim=1\)"),
        ([(torch.zeros(2, 4), [1, 0]), (torch.zeros(2, 4), [1])], ValueError, r"Batch 1 has labels of shape \(1,\)"),
        ([(torch.zeros(2, 4), [1, 0]), torch.zeros(2, 4)], ValueError, "batch 1 some batches have labels and some"),
        ([torch.zeros(2, 4), (torch.zeros(2, 4), [1, 0])], ValueError, "batch 1 some batches have labels and some"),
    ],
)
def test_batches_that_cannot_be_understood_are_refused(batches, error, message):
    with pytest.raises(error, match=message):
        collect_logits(nn.Linear(4, 3), batches)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("twise", "no layer 'twise'; it has 'twice', for instance. Choose among the names of model.named_modules"),
        ("", "no layer ''; it has 'twice', 'never', 'pair', for instance"),
        ("twice", "called layer 'twice' 2 times for one batch: name one that it calls once"),
        ("never", "called layer 'never' 0 times"),
        ("pair", "Layer 'pair' gives tuple for 2 rows"),
    ],
)
def test_layers_that_give_no_features_are_refused(layer, message):
    with pytest.raises(ValueError, match=message):
        collect_logits(gives(torch.zeros(2, 3)), [torch.zeros(2, 4)], layer=layer)


def test_a_layer_that_is_not_named_is_refused(network):
    for layer, named in (
        (network.fc, "a Linear: pass its name, layer='fc'"),
        (nn.ReLU(), "name, as in model.named_mod"),
    ):
        with pytest.raises(TypeError, match=f"layer is .*{named}"):
            collect_logits(network, [], layer=layer)
    with pytest.raises(TypeError, match="layer is a int: pass its name, layer='0'"):
        collect_logits(nn.Sequential(nn.Linear(4, 3)), [], layer=0)


def test_a_dataset_in_place_of_a_loader_is_refused(network, unseen):
    with pytest.raises(
        TypeError,
        match=r"loader is a TensorDataset, which gives single rows: pass torch.utils.data.DataLoader\(dataset",
    ):
        collect_logits(network, TensorDataset(*unseen))
    batches = Stream([unseen[0][:5]], [unseen[1][:5]])
    assert collect_logits(network, batches).logits.shape == (5, 10)  # one that gives batches will do


def test_batches_of_different_widths_are_refused():
    batches = [torch.zeros(2, 4), torch.zeros(2, 5)]
    with pytest.raises(ValueError, match="Batch 1 has 5 columns of logits and batch 0 has 4: make the inputs of all"):
        collect_logits(nn.Identity(), batches)

    model = nn.Sequential(nn.Identity(), nn.AdaptiveAvgPool1d(3))
    with pytest.raises(ValueError, match="Batch 1 has 5 columns of features and batch 0 has 4"):
        collect_logits(model, batches, layer="0")


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match=r"model is a function: pass a torch\.nn\.Module"):
        collect_logits(lambda values: values, [torch.zeros(2, 4)])


def test_it_can_be_unpacked():
    logits, labels, features = collect_logits(nn.Linear(4, 3), [(torch.zeros(2, 4), [0, 1])])
    assert logits.shape == (2, 3)
    assert labels.tolist() == [0, 1]
    assert features is None
    assert Collected._fields == ("logits", "labels", "features")
