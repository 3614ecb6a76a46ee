"""Data sets: MNIST, CIFAR-10, and corruptions of their images."""
