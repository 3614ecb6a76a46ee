"""The main experiment of the paper, on MNIST: methods, claims, figures and report."""
