"""The paper's second experiment, on CIFAR with 10, 20 and 100 classes, and why there is so little to gain there."""
