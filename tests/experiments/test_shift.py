"""The shift experiment's data: networks that meet corrupted images, what is kept of them, and the trials."""

import pickle
import sys

import numpy as np
import pytest

from experiments.benchmark import shifted_data as shift
from experiments.data.cifar10 import CIFAR10
from experiments.data.mnist import MNIST, load_mnist
from experiments.benchmark.shifted_data import (
    CASES,
    CLEAN,
    QUICK_CASES,
    Case,
    PhotoRecipe,
    cifar10_world,
    mnist_world,
    prepare,
    trials,
)
from experiments.benchmark.trials import load_rows


@pytest.fixture(scope="module")
def digits():
    """Something like MNIST, small and at hand everywhere: dim and noisy copies of ten images."""
    rng = np.random.default_rng(0)
    prototypes = 0.2 * rng.random((10, 7, 7)).repeat(4, 1).repeat(4, 2).reshape(10, 784)
    labels = rng.integers(10, size=8_600)
    images = np.clip(prototypes[labels] + 0.15 * rng.normal(size=(8_600, 784)), 0, 1).astype(np.float32)
    return MNIST(images[:600], labels[:600], images[600:], labels[600:])


@pytest.fixture(scope="module")
def photos():
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


def accuracy(rows):
    return np.mean(rows.logits.argmax(axis=1) == rows.labels)


# ---- worlds ----------------------------------------------------------------------------------------------------------


def test_validation_and_test_rows_divide_the_images_and_every_network_has_its_own(digits):
    world = mnist_world(digits)
    validation, test = world.draw_rows(0)
    assert (len(validation), len(test)) == (3_200, 4_800)
    np.testing.assert_array_equal(np.sort(np.concatenate([validation, test])), np.arange(8_000))
    assert not np.array_equal(test, world.draw_rows(1)[1])


def test_rows_hold_what_the_network_says_of_the_corrupted_images(digits, kept):
    torch = pytest.importorskip("torch")
    world, case = mnist_world(digits), QUICK_CASES[1]
    network = world.train(0).eval()
    for rows, numbers in zip(world.load(0, case, kept), world.draw_rows(0), strict=True):
        images = torch.from_numpy(world.corrupted(case)[numbers])
        with torch.no_grad():
            np.testing.assert_allclose(rows.logits, network(images), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(rows.features, network[:-1](images), rtol=2e-3, atol=1e-3)
        np.testing.assert_array_equal(rows.labels, digits.test_labels[numbers])
        assert [part.dtype for part in rows] == [np.float32, np.int64, np.float32]
        assert rows.features.shape == (len(numbers), 512)


def test_the_last_layer_takes_the_features_to_the_logits(digits, kept):
    pytest.importorskip("torch")
    world = mnist_world(digits)
    last = world.train(0)[-1]
    _, test = world.load(0, CLEAN, kept)
    weight, bias = last.weight.detach().numpy(), last.bias.detach().numpy()
    np.testing.assert_allclose(test.features @ weight.T + bias, test.logits, atol=0.02)


def test_the_clean_images_are_kept_for_reference_and_are_easier(digits, kept):
    world = mnist_world(digits)
    clean = accuracy(load_rows(world.path(0, CLEAN, kept))[1])
    assert clean > 0.9
    for case in QUICK_CASES:
        assert accuracy(load_rows(world.path(0, case, kept))[1]) < clean


def test_what_is_kept_is_not_trained_again_and_what_is_missing_is(digits, kept, tmp_path, monkeypatch):
    world = mnist_world(digits)
    monkeypatch.setitem(sys.modules, "torch", None)
    world.load(0, QUICK_CASES[0], kept)
    prepare(digits, None, kept, quick=True)
    with pytest.raises(ImportError, match=r"pip install 'aftermax\[experiments\]'"):
        world.load(0, CASES[0], tmp_path / "new")
    with pytest.raises(ImportError, match=r"pip install 'aftermax\[experiments\]'"):
        prepare(digits, None, tmp_path / "new", quick=True)
    assert not (tmp_path / "new").exists()


def test_other_recipes_and_amounts_have_other_files(digits, photos, kept, monkeypatch):
    world = mnist_world(digits)
    paths = [world.path(number, case, kept) for number in range(3) for case in (CLEAN, *CASES)]
    paths += [cifar10_world(photos).path(0, case, kept) for case in (CLEAN, *CASES)]
    assert len(set(paths)) == 4 * 16
    old = world.path(0, Case("noise", 2), kept)
    monkeypatch.setitem(shift.AMOUNTS["mnist"], "noise", (0.1, 0.2, 0.3))
    assert world.path(0, Case("noise", 2), kept) != old
    monkeypatch.undo()
    monkeypatch.setattr(shift, "MNIST_TRAINED_ON", 10_000)
    assert mnist_world(digits).path(0, Case("noise", 2), kept) != old


def test_a_damaged_file_is_named(digits, kept, tmp_path):
    content = mnist_world(digits).path(0, CLEAN, kept).read_bytes()
    for damage in (b"", content[: len(content) // 2], content[:5_000] + b"xxxx" + content[5_004:]):
        (tmp_path / "file.npz").write_bytes(damage)
        with pytest.raises(ValueError, match=r"file.npz is damaged or no score file .*: remove it"):
            load_rows(tmp_path / "file.npz")


def test_colour_images_have_a_network_of_their_own_the_same_every_time(photos, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    world, case = cifar10_world(photos, PhotoRecipe(widths=(8, 16), batch=10, threads=1)), Case("blur", 1)
    validation, test = world.load(0, case, tmp_path / "a", [case])
    again = world.load(0, case, tmp_path / "b", [case])
    np.testing.assert_array_equal(test.logits, again[1].logits)
    assert (validation.features.shape, test.features.shape) == ((40, 16), (60, 16))
    assert accuracy(load_rows(world.path(0, CLEAN, tmp_path / "a"))[1]) > 0.8
    assert torch.get_num_threads() == threads
    assert "Training the network on CIFAR-10" in capsys.readouterr().err


def test_training_images_are_moved_and_mirrored_but_not_changed_otherwise():
    torch = pytest.importorskip("torch")
    from experiments.networks.models import moved_and_mirrored

    torch.manual_seed(0)
    images = torch.zeros(200, 3, 32, 32)
    images[:, 1, 12:20, 5:9] = torch.arange(1.0, 5.0)
    moved = moved_and_mirrored(images)
    assert moved.shape == images.shape
    assert moved[:, [0, 2]].abs().max() == 0
    torch.testing.assert_close(moved.sum(dim=(1, 2, 3)), images.sum(dim=(1, 2, 3)))
    lines = moved[:, 1].amax(dim=1)
    rising = [line[line > 0].tolist() == [1.0, 2.0, 3.0, 4.0] for line in lines]
    falling = [line[line > 0].tolist() == [4.0, 3.0, 2.0, 1.0] for line in lines]
    assert 60 < sum(rising) < 140
    assert sum(rising) + sum(falling) == 200


# ---- trials ----------------------------------------------------------------------------------------------------------


def test_there_is_a_trial_for_every_network_shift_strength_and_number_of_rows(digits, photos, tmp_path):
    everything = trials(digits, photos, tmp_path)
    assert len(everything) == (shift.MNIST_NETWORKS + 1) * 15 * 3
    assert len({trial.key for trial in everything}) == len(everything)
    assert {trial.family for trial in everything} == {"shift-mnist", "shift-cifar10"}
    assert {trial.rows for trial in everything} == {100, 500, 2_000}
    assert {trial.name for trial in everything} == {f"{name} {n}" for name in shift.SHIFTS for n in (1, 2, 3)}
    assert {trial.family for trial in trials(digits, None, tmp_path)} == {"shift-mnist"}
    assert not list(tmp_path.iterdir())


def test_a_taste_is_two_shifts_of_one_network(digits, photos, kept):
    few = trials(digits, photos, kept, quick=True)
    assert [trial.key for trial in few] == [
        ("shift-mnist", case.name, 0, rows) for case in QUICK_CASES for rows in (100, 500, 2_000)
    ]
    fit, test = few[1].split()
    assert (len(fit.labels), len(fit.logits), len(fit.features), len(test.labels)) == (500, 500, 500, 4_800)
    np.testing.assert_array_equal(fit.logits, few[2].split()[0].logits[:500])


def test_trials_that_are_kept_do_not_carry_the_images(digits, kept):
    assert all(len(pickle.dumps(trial)) < 2_000 for trial in trials(digits, None, kept, quick=True))


def test_loading_one_trial_keeps_what_all_trials_of_its_network_need(digits, kept):
    needed = {mnist_world(digits).path(0, case, kept) for case in (CLEAN, *QUICK_CASES)}
    assert set(kept.iterdir()) == needed


# ---- the picture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("with_photos", [False, True])
def test_the_picture_is_written_with_or_without_photos(digits, photos, tmp_path, with_photos):
    shift.draw_examples(digits, photos if with_photos else None, tmp_path / "examples")
    assert (tmp_path / "examples.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "examples.pdf").read_bytes().startswith(b"%PDF")


# ---- on MNIST itself -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_network_on_mnist_suffers_from_every_shift(shared, tmp_path, monkeypatch):
    """With a network that was trained on fewer images, to save time."""
    pytest.importorskip("torch")
    monkeypatch.setattr(shift, "MNIST_TRAINED_ON", 1_000)
    mnist = load_mnist(shared / "data")
    few = trials(mnist, None, tmp_path, quick=True)
    fit, test = few[0].split()
    assert (len(fit.labels), len(test.labels)) == (100, 6_000)
    clean = accuracy(load_rows(mnist_world(mnist).path(0, CLEAN, tmp_path))[1])
    assert clean > 0.85
    for trial in few[::3]:
        assert 0.2 < accuracy(trial.split()[1]) < clean - 0.02
