"""Corruptions of images: noise, blur, low contrast, rotation, pixelation, each at three strengths.

Every function takes a batch of images with values in [0, 1], N x height x width or N x channels x height x width, and
an amount of which 0 changes nothing. Amounts were chosen so that softmax's accuracy falls a little at strength 1 and to
about a half at strength 3, on held-out training images; nothing else was considered.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Images = NDArray[np.float32]
STRENGTHS = (1, 2, 3)
AMOUNTS: dict[str, dict[str, tuple[float, float, float]]] = {
    "mnist": {
        "noise": (0.15, 0.25, 0.4),
        "blur": (1.5, 2.0, 2.5),
        "contrast": (0.4, 0.6, 0.7),
        "rotation": (15, 30, 45),
        "pixelation": (3, 5, 7),
    },
    "cifar10": {
        "noise": (0.05, 0.08, 0.12),
        "blur": (0.6, 0.9, 1.2),
        "contrast": (0.5, 0.6, 0.7),
        "rotation": (15, 25, 35),
        "pixelation": (1.5, 2.0, 2.5),
    },
}
UNITS = {
    "noise": "standard deviation",
    "blur": "standard deviation in pixels",
    "contrast": "share lost",
    "rotation": "degrees",
    "pixelation": "pixels to a side",
}


def corrupted(images: Images, shift: str, amount: float, seed: int = 0, chunk: int = 1_000) -> Images:
    """The images after a shift of that amount, and the same ones for the same seed, whatever the size of a chunk."""
    if shift not in SHIFTS:
        raise ValueError(f"There is no shift {shift!r}: choose from {', '.join(SHIFTS)}.")
    if images.ndim not in (3, 4):
        raise ValueError(
            f"images have shape {images.shape}: they must be N x height x width or N x channels x height x width."
        )
    if len(images) and not (images.min() >= 0 and images.max() <= 1):
        raise ValueError("images have values outside [0, 1]: divide bytes by 255.")
    rng = np.random.default_rng(seed)
    result = np.empty(images.shape, dtype=np.float32)
    for begin in range(0, len(images), chunk):
        part = images[begin : begin + chunk].astype(np.float32, copy=False)
        result[begin : begin + chunk] = np.clip(SHIFTS[shift](part, amount, rng), 0, 1)
    return result


def noise(images: Images, amount: float, rng: np.random.Generator) -> Images:
    """Normal noise of standard deviation ``amount`` in every pixel."""
    return images + np.float32(amount) * rng.standard_normal(images.shape, dtype=np.float32)


def blur(images: Images, amount: float, _rng: np.random.Generator) -> Images:
    """A Gaussian blur of standard deviation ``amount``, in pixels."""
    return np.asarray(ndimage.gaussian_filter(images, amount, axes=(-2, -1), mode="nearest"), dtype=np.float32)


def contrast(images: Images, amount: float, _rng: np.random.Generator) -> Images:
    """Every pixel nearer to the mean of its image by the share ``amount``."""
    mean = images.mean(axis=tuple(range(1, images.ndim)), keepdims=True)
    return np.asarray(images + np.float32(amount) * (mean - images), dtype=np.float32)


def rotation(images: Images, amount: float, _rng: np.random.Generator) -> Images:
    """All rotated anticlockwise by ``amount`` degrees."""
    rotated = ndimage.rotate(images, amount, axes=(-1, -2), reshape=False, order=1, mode="nearest")
    return np.asarray(rotated, dtype=np.float32)


def pixelation(images: Images, amount: float, _rng: np.random.Generator) -> Images:
    """Squares of ``amount`` pixels to a side, each of its mean shade; as many as fit, rounded."""
    down, across = (_averaging(length, amount) for length in images.shape[-2:])
    return np.asarray(down @ images @ across.T, dtype=np.float32)


def _averaging(length: int, amount: float) -> NDArray[np.float32]:
    """Takes a line of pixels to the means of its blocks, each as often as it has pixels."""
    blocks = max(1, round(length / max(amount, 1)))
    block_of = np.arange(length) * blocks // length
    same = block_of[:, None] == block_of[None, :]
    return np.asarray(same / same.sum(axis=1, keepdims=True), dtype=np.float32)


SHIFTS: dict[str, Callable[[Images, float, np.random.Generator], Images]] = {
    "noise": noise,
    "blur": blur,
    "contrast": contrast,
    "rotation": rotation,
    "pixelation": pixelation,
}
