"""Something like MNIST, small and available everywhere."""

import numpy as np

from experiments.data.mnist import MNIST


def noisy_digits():
    """Noisy copies of ten images: 1,000 to train on, 8,000 to test on."""
    rng = np.random.default_rng(0)
    prototypes = rng.random((10, 784))
    labels = rng.integers(10, size=9_000)
    images = (prototypes[labels] + 1.1 * rng.normal(size=(9_000, 784))).astype(np.float32)
    return MNIST(images[:1_000], labels[:1_000], images[1_000:], labels[1_000:])


def dim_digits():
    """Dim and noisy copies of ten images with large pixels, in [0, 1]: 600 to train on, 8,000 to test on."""
    rng = np.random.default_rng(0)
    prototypes = 0.2 * rng.random((10, 7, 7)).repeat(4, 1).repeat(4, 2).reshape(10, 784)
    labels = rng.integers(10, size=8_600)
    images = np.clip(prototypes[labels] + 0.15 * rng.normal(size=(8_600, 784)), 0, 1).astype(np.float32)
    return MNIST(images[:600], labels[:600], images[600:], labels[600:])
