"""Corrupted images: the same every time, in range, and worse with every strength."""

import numpy as np
import pytest
from scipy import ndimage

from experiments.data.corruptions import AMOUNTS, SHIFTS, STRENGTHS, UNITS, corrupted

SHAPES = {"mnist": (28, 28), "cifar10": (3, 32, 32)}


def made_images(shape, count=6, seed=0):
    """Clouds, of all shades from 0 to 1."""
    clouds = ndimage.gaussian_filter(np.random.default_rng(seed).normal(size=(count, *shape)), 2, axes=(-2, -1))
    return ((clouds - clouds.min()) / np.ptp(clouds)).astype(np.float32)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES.values())
def test_the_same_seed_gives_the_same_images_whatever_the_chunk(shift, shape):
    images = made_images(shape)
    before = images.copy()
    once = corrupted(images, shift, 0.5, seed=3)
    np.testing.assert_array_equal(once, corrupted(images, shift, 0.5, seed=3, chunk=4))
    np.testing.assert_array_equal(images, before)
    assert once.shape == images.shape
    assert once.dtype == np.float32


def test_another_seed_gives_other_noise_and_every_image_its_own():
    images = np.full((2, 28, 28), 0.5, dtype=np.float32)
    first, second = corrupted(images, "noise", 0.1, seed=0)
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, corrupted(images, "noise", 0.1, seed=1)[0])


@pytest.mark.parametrize("dataset", AMOUNTS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_every_strength_harms_more_than_the_one_before_and_stays_in_range(dataset, shift):
    images = made_images(SHAPES[dataset])
    harm = [0.0]
    for amount in AMOUNTS[dataset][shift]:
        found = corrupted(images, shift, amount)
        assert found.min() >= 0
        assert found.max() <= 1
        harm.append(float(np.abs(found - images).mean()))
    assert len(harm) == 1 + len(STRENGTHS)
    assert np.all(np.diff(harm) > 0)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("shape", SHAPES.values())
def test_an_amount_of_nothing_changes_nothing(shift, shape):
    images = made_images(shape)
    np.testing.assert_allclose(corrupted(images, shift, 0.0), images, atol=1e-6)


def test_each_shift_does_what_it_says():
    images = made_images((28, 28))
    np.testing.assert_allclose(np.std(corrupted(np.full_like(images, 0.5), "noise", 0.1)), 0.1, rtol=0.1)
    np.testing.assert_allclose(corrupted(images, "rotation", 90), np.rot90(images, axes=(1, 2)), atol=1e-5)
    grey = corrupted(images, "contrast", 1.0)
    np.testing.assert_allclose(grey, np.broadcast_to(images.mean(axis=(1, 2), keepdims=True), grey.shape), atol=1e-6)
    dot = np.zeros((1, 28, 28), dtype=np.float32)
    dot[0, 14, 14] = 1.0
    soft = corrupted(dot, "blur", 1.5)
    np.testing.assert_allclose(soft.sum(), 1.0, rtol=1e-3)
    assert soft.max() == soft[0, 14, 14] < 0.1


def test_pixels_become_blocks_of_their_mean():
    images = made_images((28, 28))
    blocks = images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4))
    np.testing.assert_allclose(corrupted(images, "pixelation", 4), blocks.repeat(4, 1).repeat(4, 2), atol=1e-6)
    odd = corrupted(images, "pixelation", 3)[0]
    assert len(np.unique(odd.round(5))) <= 81  # nine blocks of three or four to a side


def test_colours_are_not_mixed():
    images = made_images((3, 32, 32)).copy()
    images[:, 1] = 0.0
    for shift in ("blur", "rotation", "pixelation"):
        found = corrupted(images, shift, 3.0)
        np.testing.assert_array_equal(found[:, 1], 0.0)
        np.testing.assert_array_equal(found[:, 0], corrupted(images[:, 0], shift, 3.0))


def test_what_cannot_be_corrupted_says_why():
    images = made_images((28, 28))
    with pytest.raises(ValueError, match=r"no shift 'fog': choose from noise, blur"):
        corrupted(images, "fog", 1.0)
    with pytest.raises(ValueError, match=r"shape \(6, 784\): they must be N x height x width or"):
        corrupted(images.reshape(6, -1), "blur", 1.0)
    with pytest.raises(ValueError, match=r"outside \[0, 1\]: divide bytes by 255"):
        corrupted(255 * images, "blur", 1.0)
    images[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match=r"outside \[0, 1\]"):
        corrupted(images, "blur", 1.0)


def test_no_images_stay_none():
    assert corrupted(np.empty((0, 28, 28), dtype=np.float32), "noise", 0.5).shape == (0, 28, 28)


def test_every_shift_has_amounts_and_a_unit():
    for amounts in (UNITS, *AMOUNTS.values()):
        assert list(amounts) == list(SHIFTS)
