"""Training on images of CIFAR's size: augmentation, checkpoints, and a run that is interrupted and resumed."""

import numpy as np
import pytest
import torch

from experiments.networks.cifar_recipes import CifarRecipe
from experiments.networks.cifar_training import augmented, train

CONVOLUTIONAL = CifarRecipe("cifar10", (4, 4, 4), 2, batch=16, checkpoints=(0.5, 2))
DENSE = CifarRecipe("cifar20", (8, 8), 2, dense=True, augmented=False, constant_rate=True, rate=1e-2, batch=16)


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def images():
    return np.random.default_rng(0).random((64, 3, 32, 32), dtype=np.float32)


@pytest.fixture
def labels():
    return np.arange(64) % 10


def ignore(*_arguments):
    """For callbacks that are not of interest."""


class SwitchedOffError(Exception):
    """As if the machine had been switched off."""


def interrupt(done):
    raise SwitchedOffError(f"after epoch {done}")


@pytest.mark.parametrize("recipe", [CONVOLUTIONAL, DENSE])
def test_a_run_that_is_interrupted_and_resumed_gives_the_same_network(tmp_path, one_thread, images, labels, recipe):
    whole = train(recipe, images, labels, tmp_path / "whole.pt", ignore)
    with pytest.raises(SwitchedOffError, match="after epoch 1"):
        train(recipe, images, labels, tmp_path / "parts.pt", ignore, interrupt)
    resumed = train(recipe, images, labels, tmp_path / "parts.pt", ignore)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], value, rtol=0, atol=0)


def test_training_lowers_the_loss(tmp_path, one_thread, images, labels):
    recipe = CifarRecipe("cifar10", (32, 32), 30, dense=True, augmented=False, constant_rate=True, rate=3e-3, batch=16)
    network = train(recipe, images, labels, tmp_path / "network.pt", ignore).eval()
    loss = torch.nn.functional.cross_entropy(network(torch.from_numpy(images)), torch.from_numpy(labels))
    assert loss < 0.8 * np.log(10)


def test_checkpoints_come_after_so_many_epochs(tmp_path, one_thread, images, labels):
    reached = []
    train(CONVOLUTIONAL, images, labels, tmp_path / "network.pt", lambda network, epochs: reached.append(epochs))
    assert reached == [0.5, 2]


def test_augmented_images_are_shifted_or_flipped_copies(images):
    torch.manual_seed(0)
    moved = augmented(torch.from_numpy(images)).numpy()
    assert moved.shape == images.shape
    padded = np.pad(images, ((0, 0), (0, 0), (4, 4), (4, 4)))
    flipped = 0
    for image, original in zip(moved, padded, strict=True):
        places = [original[:, down : down + 32, across : across + 32] for down in range(9) for across in range(9)]
        straight = any(np.array_equal(image, place) for place in places)
        mirrored = any(np.array_equal(image, place[:, :, ::-1]) for place in places)
        assert straight or mirrored
        flipped += mirrored
    assert 16 <= flipped <= 48
