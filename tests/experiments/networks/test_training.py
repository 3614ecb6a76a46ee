"""How the networks are trained."""

import pytest


def test_training_images_are_shifted_and_flipped_but_not_changed_otherwise():
    torch = pytest.importorskip("torch")
    from experiments.networks.training import augmented

    torch.manual_seed(0)
    images = torch.zeros(200, 3, 32, 32)
    images[:, 1, 12:20, 5:9] = torch.arange(1.0, 5.0)
    moved = augmented(images)
    assert moved.shape == images.shape
    assert moved[:, [0, 2]].abs().max() == 0
    torch.testing.assert_close(moved.sum(dim=(1, 2, 3)), images.sum(dim=(1, 2, 3)))
    lines = moved[:, 1].amax(dim=1)
    rising = [line[line > 0].tolist() == [1.0, 2.0, 3.0, 4.0] for line in lines]
    falling = [line[line > 0].tolist() == [4.0, 3.0, 2.0, 1.0] for line in lines]
    assert 60 < sum(rising) < 140
    assert sum(rising) + sum(falling) == 200
