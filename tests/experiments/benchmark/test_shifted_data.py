"""The data of the shift experiment: outputs for corrupted images, what is kept of them, and the trials."""

import pickle
import sys

import numpy as np
import pytest

from experiments.benchmark import shifted_data
from experiments.benchmark.shift_examples import draw_examples
from experiments.benchmark.shifted_data import (
    CASES,
    CLEAN,
    QUICK_CASES,
    Case,
    ResNetRecipe,
    prepare,
    shifted_cifar10,
    shifted_mnist,
    trials,
)
from experiments.benchmark.trials import load_samples
from experiments.data.cifar10 import CIFAR10
from experiments.data.mnist import load_mnist
from helpers.made_digits import dim_digits


@pytest.fixture(scope="module")
def digits():
    return dim_digits()


@pytest.fixture(scope="module")
def colours():
    """Something like CIFAR-10, small: noisy copies of ten colours."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(300) % 10)
    images = np.clip(rng.random((10, 3, 1, 1))[labels] + 0.1 * rng.normal(size=(300, 3, 32, 32)), 0, 1)
    images = images.astype(np.float32)
    return CIFAR10(images[:200], labels[:200], images[200:], labels[200:])


@pytest.fixture(scope="module")
def kept(digits, tmp_path_factory):
    """Where scores are after the first trial of a quick run was loaded."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("shift")
    trials(digits, None, folder, quick=True)[0].split()
    return folder


def accuracy(samples):
    return np.mean(samples.logits.argmax(axis=1) == samples.labels)


# ---- data sets-------------------------------------------------------------------------------------------------------


def test_validation_and_test_samples_divide_the_images_and_every_network_has_its_own(digits):
    data = shifted_mnist(digits)
    validation, test = data.draw_samples(0)
    assert (len(validation), len(test)) == (3_200, 4_800)
    np.testing.assert_array_equal(np.sort(np.concatenate([validation, test])), np.arange(8_000))
    assert not np.array_equal(test, data.draw_samples(1)[1])


def test_samples_hold_the_networks_outputs_for_the_corrupted_images(digits, kept):
    torch = pytest.importorskip("torch")
    data, case = shifted_mnist(digits), QUICK_CASES[1]
    network = data.train(0).eval()
    for samples, indices in zip(data.load(0, case, kept), data.draw_samples(0), strict=True):
        images = torch.from_numpy(data.corrupted(case)[indices])
        with torch.no_grad():
            np.testing.assert_allclose(samples.logits, network(images), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(samples.features, network[:-1](images), rtol=2e-3, atol=1e-3)
        np.testing.assert_array_equal(samples.labels, digits.test_labels[indices])
        assert [part.dtype for part in samples] == [np.float32, np.int64, np.float32]
        assert samples.features.shape == (len(indices), 512)


def test_the_last_layer_takes_the_features_to_the_logits(digits, kept):
    pytest.importorskip("torch")
    data = shifted_mnist(digits)
    last = data.train(0)[-1]
    _, test = data.load(0, CLEAN, kept)
    weight, bias = last.weight.detach().numpy(), last.bias.detach().numpy()
    np.testing.assert_allclose(test.features @ weight.T + bias, test.logits, atol=0.02)


def test_the_clean_images_are_kept_for_reference_and_are_easier(digits, kept):
    data = shifted_mnist(digits)
    clean = accuracy(load_samples(data.path(0, CLEAN, kept))[1])
    assert clean > 0.9
    for case in QUICK_CASES:
        assert accuracy(load_samples(data.path(0, case, kept))[1]) < clean


def test_what_is_kept_is_not_trained_again_and_what_is_missing_is(digits, kept, tmp_path, monkeypatch):
    data = shifted_mnist(digits)
    monkeypatch.setitem(sys.modules, "torch", None)
    data.load(0, QUICK_CASES[0], kept)
    prepare(digits, None, kept, quick=True)
    with pytest.raises(ImportError, match=r"pip install --editable '\.\[experiments\]'"):
        data.load(0, CASES[0], tmp_path / "new")
    with pytest.raises(ImportError, match=r"pip install --editable '\.\[experiments\]'"):
        prepare(digits, None, tmp_path / "new", quick=True)
    assert not (tmp_path / "new").exists()


def test_other_recipes_and_amounts_have_other_files(digits, colours, kept, monkeypatch):
    data = shifted_mnist(digits)
    paths = [data.path(number, case, kept) for number in range(3) for case in (CLEAN, *CASES)]
    paths += [shifted_cifar10(colours).path(0, case, kept) for case in (CLEAN, *CASES)]
    assert len(set(paths)) == 4 * 16
    old = data.path(0, Case("noise", 2), kept)
    monkeypatch.setitem(shifted_data.AMOUNTS["mnist"], "noise", (0.1, 0.2, 0.3))
    assert data.path(0, Case("noise", 2), kept) != old
    monkeypatch.undo()
    monkeypatch.setattr(shifted_data, "MNIST_TRAINED_ON", 10_000)
    assert shifted_mnist(digits).path(0, Case("noise", 2), kept) != old


def test_a_damaged_file_is_named(digits, kept, tmp_path):
    content = shifted_mnist(digits).path(0, CLEAN, kept).read_bytes()
    for damage in (b"", content[: len(content) // 2], content[:5_000] + b"xxxx" + content[5_004:]):
        (tmp_path / "file.npz").write_bytes(damage)
        with pytest.raises(ValueError, match=r"file.npz is damaged or no score file .*: remove it"):
            load_samples(tmp_path / "file.npz")


def test_colour_images_have_a_network_of_their_own_the_same_every_time(colours, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    data, case = shifted_cifar10(colours, ResNetRecipe(widths=(8, 16), batch=10, threads=1)), Case("blur", 1)
    validation, test = data.load(0, case, tmp_path / "a", [case])
    again = data.load(0, case, tmp_path / "b", [case])
    np.testing.assert_array_equal(test.logits, again[1].logits)
    assert (validation.features.shape, test.features.shape) == ((40, 16), (60, 16))
    assert accuracy(load_samples(data.path(0, CLEAN, tmp_path / "a"))[1]) > 0.8
    assert torch.get_num_threads() == threads
    assert "Training the network on CIFAR-10" in capsys.readouterr().err


# ---- trials ----------------------------------------------------------------------------------------------------------


def test_there_is_a_trial_for_every_network_shift_strength_and_number_of_samples(digits, colours, tmp_path):
    everything = trials(digits, colours, tmp_path)
    assert len(everything) == (shifted_data.MNIST_NETWORKS + 1) * 15 * 3
    assert len({trial.key for trial in everything}) == len(everything)
    assert {trial.family for trial in everything} == {"shift-mnist", "shift-cifar10"}
    assert {trial.samples for trial in everything} == {100, 500, 2_000}
    assert {trial.name for trial in everything} == {f"{name} {n}" for name in shifted_data.SHIFTS for n in (1, 2, 3)}
    assert {trial.family for trial in trials(digits, None, tmp_path)} == {"shift-mnist"}
    assert not list(tmp_path.iterdir())


def test_a_quick_run_has_two_shifts_of_one_network(digits, colours, kept):
    few = trials(digits, colours, kept, quick=True)
    assert [trial.key for trial in few] == [
        ("shift-mnist", case.name, 0, count) for case in QUICK_CASES for count in (100, 500, 2_000)
    ]
    fit, test = few[1].split()
    assert (len(fit.labels), len(fit.logits), len(fit.features), len(test.labels)) == (500, 500, 500, 4_800)
    np.testing.assert_array_equal(fit.logits, few[2].split()[0].logits[:500])


def test_trials_that_are_kept_do_not_carry_the_images(digits, kept):
    assert all(len(pickle.dumps(trial)) < 2_000 for trial in trials(digits, None, kept, quick=True))


def test_loading_one_trial_keeps_what_all_trials_of_its_network_need(digits, kept):
    needed = {shifted_mnist(digits).path(0, case, kept) for case in (CLEAN, *QUICK_CASES)}
    assert set(kept.iterdir()) == needed


# ---- the figure of examples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_colours", [False, True])
def test_the_figure_of_examples_is_written_with_or_without_cifar10(digits, colours, tmp_path, with_colours):
    draw_examples(digits, colours if with_colours else None, tmp_path / "examples")
    assert (tmp_path / "examples.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "examples.pdf").read_bytes().startswith(b"%PDF")


# ---- on MNIST itself -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_network_on_mnist_suffers_from_every_shift(shared, tmp_path, monkeypatch):
    """With a network that was trained on fewer images, to save time."""
    pytest.importorskip("torch")
    monkeypatch.setattr(shifted_data, "MNIST_TRAINED_ON", 1_000)
    mnist = load_mnist(shared / "data")
    few = trials(mnist, None, tmp_path, quick=True)
    fit, test = few[0].split()
    assert (len(fit.labels), len(test.labels)) == (100, 6_000)
    clean = accuracy(load_samples(shifted_mnist(mnist).path(0, CLEAN, tmp_path))[1])
    assert clean > 0.85
    for trial in few[::3]:
        assert 0.2 < accuracy(trial.split()[1]) < clean - 0.02
