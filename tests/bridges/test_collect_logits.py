"""collect_logits: logits, features and labels of a real network, which is left as it was."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

from aftermax import AutoHead, SoftmaxClassifier
from aftermax.bridges.torch import Collected, Head, collect_logits
from helpers.terminal import Terminal

TRAINED_ON = 300


class Network(nn.Module):
    """With dropout and batch normalization, which behave differently in training. The last layer is fc."""

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
    """Logits and last hidden layer, computed by hand."""
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
    collected = collect_logits(network, loader(*unseen))
    close(collected.logits, expected[0])
    assert collected.logits.dtype == np.float32
    np.testing.assert_array_equal(collected.labels, unseen[1])
    assert collected.features is None
    head = AutoHead(cv=2).fit(collected.logits[:500], collected.labels[:500])
    model = nn.Sequential(network.eval(), Head.from_fitted(head))
    with torch.inference_mode():
        columns = model(unseen[0]).argmax(dim=1).numpy()
    assert np.mean(columns == head.predict(collected.logits)) > 0.999  # batches of another size round differently


def test_labels_belong_to_the_logits_when_the_loader_shuffles(network, unseen):
    ordered, shuffled = (collect_logits(network, loader(*unseen, shuffle=shuffle)) for shuffle in (False, True))
    assert not np.array_equal(ordered.labels, shuffled.labels)
    for label in range(10):
        one, other = (np.sort(some.logits[some.labels == label], axis=0) for some in (ordered, shuffled))
        close(one, other)


def test_samples_without_labels_are_collected(network, unseen, expected):
    for batches in (loader(unseen[0]), unseen[0].split(500), [unseen[0].numpy()]):
        collected = collect_logits(network, batches)
        close(collected.logits, expected[0])
        assert collected.labels is None


def test_labels_may_be_strings_or_a_column(network, unseen):
    names = np.array([f"digit {label}" for label in unseen[1]])
    batches = [(unseen[0][:700], tuple(names[:700])), (unseen[0][700:], list(names[700:]))]
    np.testing.assert_array_equal(collect_logits(network, batches).labels, names)
    np.testing.assert_array_equal(collect_logits(network, loader(unseen[0], unseen[1][:, None])).labels, unseen[1])


def test_features_are_the_output_of_a_layer(network, unseen, expected):
    collected = collect_logits(network, loader(*unseen), layer="drop")
    close(collected.features, expected[1])
    assert collect_logits(network, loader(*unseen), layer="body.0").features.shape == (len(unseen[1]), 8 * 6 * 6)


def test_features_of_the_last_layer_are_its_input(network, unseen, expected):
    close(collect_logits(network, loader(*unseen), layer="fc").features, expected[1])


def test_features_of_several_layers_are_side_by_side_in_the_order_given(network, unseen):
    one, two = (collect_logits(network, loader(*unseen), layer=name).features for name in ("body.0", "fc"))
    for names, expected in ((["body.0", "fc"], [one, two]), (("fc", "body.0"), [two, one]), (["fc"], [two])):
        collected = collect_logits(network, loader(*unseen), layer=names)
        np.testing.assert_array_equal(collected.features, np.hstack(expected))
        assert collected.features.dtype == np.float32
    assert not any(module._forward_hooks for module in network.modules())
    head = AutoHead(cv=2).fit(collected.logits[:300], collected.labels[:300], features=[one[:300], two[:300]])
    both = torch.from_numpy(one[300:]), torch.from_numpy(two[300:])
    columns = Head.from_fitted(head)(torch.from_numpy(collected.logits[300:]), both).argmax(dim=1)
    np.testing.assert_array_equal(columns, head.predict(collected.logits[300:], [one[300:], two[300:]]))


def test_layers_with_the_same_features_give_a_warning(network, unseen):
    with pytest.warns(UserWarning, match="The layers 'drop' and 'fc' have the same features: name one of") as caught:
        collect_logits(network, loader(*unseen), layer=["drop", "body.0", "fc"])
    assert len(caught) == 1  # not one for each batch
    assert caught[0].filename == __file__


def test_features_are_recorded_before_the_next_layer_works_in_place(network, unseen):
    features = collect_logits(network, loader(*unseen), layer="hidden").features
    assert (features < 0).any()


def test_float64_is_kept_and_half_precision_becomes_float32(unseen):
    images = unseen[0].flatten(1)
    for dtype, kept in ((torch.float64, np.float64), (torch.bfloat16, np.float32), (torch.float16, np.float32)):
        network = nn.Sequential(nn.Linear(64, 5), nn.Linear(5, 10)).to(dtype)
        collected = collect_logits(network, loader(images.to(dtype)), layer="1")
        assert collected.logits.dtype == collected.features.dtype == kept


# ---- kinds of models and batches -------------------------------------------------------------------------------------


@dataclass
class Output:
    logits: torch.Tensor


class Wrapped(nn.Module):
    """With inputs and outputs as models of Hugging Face have them."""

    def __init__(self, network, output=Output):
        super().__init__()
        self.network, self.output = network, output

    def forward(self, pixel_values, scale=1.0):
        return self.output(self.network(pixel_values * scale))


def test_models_and_batches_of_hugging_face(network, unseen, expected):
    images, labels = unseen
    for name in ("labels", "label"):
        batches = [{"pixel_values": images / 2, "scale": torch.tensor(2.0), name: labels}]
        for output in (Output, lambda logits: {"logits": logits}):
            collected = collect_logits(Wrapped(network, output), batches)
            close(collected.logits, expected[0])
            np.testing.assert_array_equal(collected.labels, labels)
    close(
        collect_logits(network, [{"image": images, "label": labels}]).logits, expected[0]
    )  # a single input may have any name


def test_several_inputs_are_several_arguments(network, unseen, expected):
    collected = collect_logits(Wrapped(network), [((unseen[0] / 2, torch.tensor(2.0)), unseen[1])])
    close(collected.logits, expected[0])


def test_inputs_are_moved_to_the_device_of_the_model(network):
    """On the meta device, which computes nothing."""
    devices = []

    class Spy(nn.Module):
        def __init__(self, *values):
            super().__init__()
            self.values = nn.ParameterList(values)

        def forward(self, images):
            devices.append(images.device.type)
            return torch.zeros(len(images), 3)

    collect_logits(Spy(nn.Parameter(torch.zeros(1, device="meta"))), [torch.zeros(4, 2)])
    collect_logits(Spy(), [torch.zeros(4, 2)], device="meta")
    collect_logits(Spy(), [torch.zeros(4, 2)])
    assert devices == ["meta", "meta", "cpu"]


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


def test_a_progress_bar_is_shown_on_request(network, unseen, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    collect_logits(network, loader(*unseen), progress=False)
    assert not sys.stderr.getvalue()
    collect_logits(network, loader(*unseen), progress=True)
    assert "Running the model ━" in sys.stderr.getvalue()


# ---- the model as it was before --------------------------------------------------------------------------------------


def state_of(network):
    return {name: values.clone() for name, values in network.state_dict().items()}


@pytest.mark.parametrize(
    ("last_batches", "outcome"), [([], nullcontext()), ([torch.zeros(3, 4)], pytest.raises(RuntimeError))]
)
def test_the_model_is_as_it_was_also_after_an_error(network, unseen, last_batches, outcome):
    network.body[1].eval()  # a frozen normalization layer in a model in training mode
    modes = [module.training for module in network.modules()]
    assert True in modes
    assert False in modes
    before = state_of(network)
    with outcome:
        collect_logits(network, [*loader(*unseen), *last_batches], layer="fc")
    assert [module.training for module in network.modules()] == modes
    assert all(torch.equal(values, before[name]) for name, values in network.state_dict().items())
    assert not vars(network.fc)["_forward_hooks"]
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


# ---- what is refused -------------------------------------------------------------------------------------------------


def model_returning(output):
    """A model with this output for any two samples."""

    class Constant(nn.Module):
        def __init__(self):
            super().__init__()
            self.twice, self.never, self.pair = nn.Identity(), nn.Identity(), nn.LSTM(4, 3)

        def forward(self, values):
            self.twice(self.twice(values))
            self.pair(values)
            return output

    return Constant()


def test_a_model_that_ends_in_softmax_gives_a_warning(network, unseen):
    with pytest.warns(UserWarning, match="logits look like probabilities") as caught:
        collect_logits(nn.Sequential(network, nn.Softmax(dim=1)), loader(*unseen))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("output", "error", "message"),
    [
        (
            torch.zeros(2, 7, 3),
            ValueError,
            r"logits of shape \(2, 7, 3\).* one row for each label: logits\.flatten\(0, -2\) if .* with groups=, the",
        ),
        (torch.zeros(3), ValueError, r"If the loader yields single samples, pass batches: a DataLoader, or \[inputs\]"),
        ((torch.zeros(2, 3), None), TypeError, "returned a tuple: wrap it in a module that returns its logits"),
        (
            torch.zeros(3, 3),
            ValueError,
            r"Batch 0 has labels of shape \(2,\), but logits of 3 samples: pass one label per",
        ),
    ],
)
def test_outputs_that_are_not_logits_are_refused(output, error, message):
    with pytest.raises(error, match=message):
        collect_logits(model_returning(output), [(torch.zeros(2, 4), torch.zeros(2))])


def test_the_recipe_for_pixels_gives_a_row_for_each_pixel():
    torch.manual_seed(0)
    images, network = torch.randn(4, 3, 5, 6), nn.Conv2d(3, 7, 1)
    rows = collect_logits(nn.Sequential(network, Pixels()), [images]).logits
    np.testing.assert_allclose(rows[6 + 2], network(images)[0, :, 1, 2].detach(), rtol=1e-6)
    with pytest.raises(ValueError, match=r"For several labels an input: .*logits\.movedim\(1, -1\)\.flatten\(0, -2\)"):
        Head.from_fitted(SoftmaxClassifier().fit(rows, rows.argmax(axis=1)))(network(images))


class Pixels(nn.Module):
    def forward(self, logits):
        return logits.movedim(1, -1).flatten(0, -2)


@pytest.mark.parametrize(
    ("batches", "error", "message"),
    [
        ([], ValueError, "The loader has no batches"),
        ([torch.zeros(0, 4)], ValueError, "logits have no "),
        ([(torch.zeros(2, 4), [1, 2], "more")], TypeError, "Batch 0 is a tuple of length 3: .*for x, y, _ in loader"),
        (["text"], TypeError, "Batch 0 is a str"),
        ([(torch.zeros(2, 4), torch.eye(2))], ValueError, r"labels of shape \(2, 2\).*labels.argmax\(dim=1\)"),
        ([(torch.zeros(2, 4), [1, 0]), (torch.zeros(2, 4), [1])], ValueError, r"Batch 1 has labels of shape \(1,\)"),
        (
            [(torch.zeros(2, 4), [1, 0]), torch.zeros(2, 4)],
            ValueError,
            "batch 1, some batches have labels and some do not",
        ),
        (
            [torch.zeros(2, 4), (torch.zeros(2, 4), [1, 0])],
            ValueError,
            "batch 1, some batches have labels and some do not",
        ),
    ],
)
def test_batches_of_unknown_form_are_refused(batches, error, message):
    with pytest.raises(error, match=message):
        collect_logits(nn.Linear(4, 3), batches)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("twise", "no layer 'twise'; it has, for example, 'twice'. Choose a name from model.named_modules"),
        ("", "no layer ''; it has, for example, 'twice', 'never', 'pair'"),
        ("twice", "called layer 'twice' 2 times for one batch: choose a layer that it calls once"),
        ("never", "called layer 'never' 0 times"),
        ("pair", "Layer 'pair' returned features of type tuple for 2 samples"),
        (["never", "twise"], "no layer 'twise'"),
        (["never", "pair", "never"], "layer names 'never' twice: name each layer once"),
        ([], "layer is an empty list: name at least one layer, or leave it out"),
    ],
)
def test_layers_without_features_are_refused(layer, message):
    with pytest.raises(ValueError, match=message):
        collect_logits(model_returning(torch.zeros(2, 3)), [torch.zeros(2, 4)], layer=layer)


def test_a_layer_must_be_given_by_name(network):
    for layer, message in (
        (network.fc, "got Linear: pass the layer's name, layer='fc'"),
        (nn.ReLU(), "got ReLU: pass the layer's name, as in model.named_modules"),
    ):
        with pytest.raises(TypeError, match=f"layer must be a string or a list of strings, {message}"):
            collect_logits(network, [], layer=layer)
    with pytest.raises(TypeError, match="list of strings, got int: pass the layer's name, layer='0'"):
        collect_logits(nn.Sequential(nn.Linear(4, 3)), [], layer=0)


def test_a_dataset_in_place_of_a_loader_is_refused(network, unseen):
    with pytest.raises(
        TypeError,
        match=r"loader is a TensorDataset, which yields single samples: pass torch.utils.data.DataLoader\(dataset",
    ):
        collect_logits(network, TensorDataset(*unseen))
    batches = Stream([unseen[0][:5]], [unseen[1][:5]])
    assert collect_logits(network, batches).logits.shape == (5, 10)  # an iterable dataset may yield batches


def test_one_batch_in_place_of_a_loader_is_refused(network, unseen):
    with pytest.raises(
        TypeError, match=r"loader is \(inputs, labels\), which is a batch: pass .* \[\(inputs, labels\)\]"
    ):
        collect_logits(network, unseen)
    for inputs in (unseen[0], unseen[0].numpy()):
        with pytest.raises(TypeError, match=r"loader is an array, whose items are single samples: pass .* \[inputs\]"):
            collect_logits(network, inputs)
    assert collect_logits(network, (unseen[0][:5], unseen[0][5:10])).logits.shape == (10, 10)  # two batches of inputs


def test_batches_of_different_widths_are_refused():
    batches = [torch.zeros(2, 4), torch.zeros(2, 5)]
    with pytest.raises(ValueError, match="Batch 1 has 5 columns of logits and batch 0 has 4: make the inputs of all"):
        collect_logits(nn.Identity(), batches)

    model = nn.Sequential(nn.Identity(), nn.AdaptiveAvgPool1d(3))
    with pytest.raises(ValueError, match="Batch 1 has 5 columns of features and batch 0 has 4"):
        collect_logits(model, batches, layer="0")


def test_a_model_that_is_not_a_module_is_refused():
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"):
        collect_logits(lambda values: values, [torch.zeros(2, 4)])


def test_the_result_can_be_unpacked():
    logits, labels, features = collect_logits(nn.Linear(4, 3), [(torch.zeros(2, 4), [0, 1])])
    assert logits.shape == (2, 3)
    assert labels.tolist() == [0, 1]
    assert features is None
    assert Collected._fields == ("logits", "labels", "features")
